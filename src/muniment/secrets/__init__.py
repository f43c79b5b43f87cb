"""Secrets in text: where they are, and the same text without them.

    find(text)                    where
    redact(text, key)             the text with a placeholder for each, and where they were
    redact_value(value, key)      the same for anything made of JSON
    Numbered().text(text)         the same with numbers in place of tags: equal content, equal bytes

The text is what a person would read: a string of a message, not the JSON line it came in, where escapes hide secrets.
"""

from muniment.secrets.numbered import Numbered as Numbered
from muniment.secrets.redact import new_key as new_key
from muniment.secrets.redact import placeholder as placeholder
from muniment.secrets.redact import preview as preview
from muniment.secrets.redact import redact as redact
from muniment.secrets.rule import Rule as Rule
from muniment.secrets.rules import RULES as RULES
from muniment.secrets.scan import Finding as Finding
from muniment.secrets.scan import find as find
from muniment.secrets.values import find_value as find_value
from muniment.secrets.values import redact_value as redact_value

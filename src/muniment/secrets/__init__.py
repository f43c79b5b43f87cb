"""Secrets in text: where they are, and the same text without them.

    find(text)                    where
    Redactor(key)                 what every exit passes its blocks, records, values and texts through
    redact(text, key)             one text with a placeholder for each, and where they were

The text is what a person would read: a string of a message, not the JSON line it came in, where escapes hide secrets.
"""

from muniment.secrets.redact import new_key as new_key
from muniment.secrets.redact import preview as preview
from muniment.secrets.redact import redact as redact
from muniment.secrets.redactor import Redactor as Redactor
from muniment.secrets.rule import Rule as Rule
from muniment.secrets.rules import RULES as RULES
from muniment.secrets.scan import Finding as Finding
from muniment.secrets.values import find_text
from muniment.secrets.values import find_value as find_value

find = find_text
"""Where the secrets of a text are."""

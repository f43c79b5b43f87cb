r"""The ways in which text writes a name and then a value, as patterns that RE2 and `re` both read.

X=v   export X=v   "x": "v"   x: v   x => v   x := v   let x: &str = "v"   environ["X"] = "v"   define('X', 'v')
--x v   --x=v   ENV X v   <x>v</x>   <add key="X" value="v"/>   {"name": "X", "value": "v"}   | X | v |   **X:** `v`
x PASSWORD 'v'   setX("v")   X || 'v'   x: |\n  v   x = (\n  "v"   <key>X</key><string>v</string>   "x": {"value": "v"
"""

from muniment.secrets.rule import Pass
from muniment.secrets.rules import RULES

NAMED = tuple(rule for rule in RULES if rule.search is Pass.NAMES)
"""The rules that know a secret by its name."""
NAMES = "(?i:" + "|".join(f"(?:{rule.begins})" for rule in NAMED) + ")"

_CLOSE = r"[\w.-]*(?:\[[0-9]{0,4}\])?[\"'`*)\]\\%]{0,6}(?:</\w{1,12}>)?"
_TYPE = r"(?:[ \t]{0,2}:[ \t]{0,2}&?(?:'\w{1,8} )?[A-Za-z][A-Za-z:<>\[\]?| ]{0,24}|[ \t][Ss]tring)?"
_NEUTRAL = r"(?i:value|val|default(?:_?value)?|current|new|old)"
_MEMBER = r"(?:[\"']\w{1,20}[\"']\s{0,2}:\s{0,2}(?:true|false|null|[\"']\w{0,20}[\"']),\s{0,24}){0,3}"
_PAIR = rf"[ \t]{{0,4}}[:=]?[\s,{{]{{1,40}}{_MEMBER}[\"']?{_NEUTRAL}[\"']?[ \t]{{0,8}}[=:]"
_SIGN = (
    r"[ \t]{0,40}(?:=>|:=|:-|==?|\|\|?=?|\?\?=?|[?+]=|:|,|->"
    r"|\xe2\x86\x92|\xe2\x80\x94|\xef\xbc\x9a|\xe2\x94\x82)"  # → — ： │
)
_OPTION = r"[ \t]{1,4}--?(?:body|b|value|secret-string|data)[ =]{1,2}"
_LINK = (
    rf"(?:{_PAIR}|{_SIGN}|>|[ \t]{{1,2}}(?:is|was):?[ \t]|{_OPTION}|:?\s{{0,20}}<(?:td|string|code|dd|value|b)>"
    r"|\)?\.to(?:Be|Equal|StrictEqual)\(| {3,40}|\t{1,3})"
)
_CALL = (
    r"(?:String::from|Some|Ok|new \w{1,20}|Secret(?:Str)?|Field|str|bytes|(?:base64\.)?b64decode|bytes\.fromhex"
    r"|Buffer\.from)"
)
_OPEN = (
    r"[*_]{0,3}(?:[ \t]?[|>][+-]?[ \t]?\r?\n)?\s{0,24}[*_\\]{0,6}"
    rf"(?:ConvertTo-SecureString |{_CALL}?[(\[]\s{{0,24}})?(?:default=)?"
    r"(?:<(?:code|b|em|strong)>)?(?:[rbfuL@]{0,2}#?[\"'`]{1,3})?"
)
_QUOTED_NEXT = r"(?:[ \t]{1,8}|\()[\"'`]{1,3}"
"""Where only quotes tell the value from the next word: `PASSWORD 'v'`, `#define X "v"`, `setPassword("v")`."""
_LEAD = rf"(?:{NAMES}{_CLOSE}(?:{_TYPE}{_LINK}{_OPEN}|{_QUOTED_NEXT}))+"
_COMMAND = (
    rf"(?:--[\w-]*|-[\w]*|(?:ENV|ARG|setx|setenv|set -\w{{1,3}}) {{1,2}}\w*){NAMES}[\w-]*[\"']?(?: {{1,2}}|=)[\"'`]?"
)
LEAD = rf"{_LEAD}|{_COMMAND}"
"""A name, and all that stands between it and its value. Names that follow each other directly are one lead."""

_BARE = r"[^\s\"'`<>\\,;{}\[\]|]{8}"
_WORDS = r"[A-Za-z0-9]{2,14}(?:,? [A-Za-z0-9]{2,14}){2}"
WHOLE = rf"(?:{LEAD})(?:{_BARE}|{_WORDS})"
"""A lead and the beginning of something that could be the value. It ends there, so that a search goes through the lead
alone, however long the value is."""

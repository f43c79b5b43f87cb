"""All rules, the specific before the general: where two find the same, the first gives its name.

Each is written from the public documentation of the token it describes. A new one needs a generator in
`tests/secrets/vectors.py`.
"""

from muniment.secrets.rule import Rule
from muniment.secrets.rules.cloud import CLOUD
from muniment.secrets.rules.code import CODE
from muniment.secrets.rules.commands import COMMANDS
from muniment.secrets.rules.general import GENERAL
from muniment.secrets.rules.keys import KEYS
from muniment.secrets.rules.models import MODELS
from muniment.secrets.rules.services import SERVICES
from muniment.secrets.rules.shapes import SHAPES

RULES: tuple[Rule, ...] = (*KEYS, *SHAPES, *MODELS, *CODE, *CLOUD, *SERVICES, *COMMANDS, *GENERAL)

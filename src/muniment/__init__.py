"""muniment: the durable record of what AI agents do."""

__version__ = "0.1.0"

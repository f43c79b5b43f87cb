"""The kit's suite against our own engine."""

from muniment.record.conformance.suite import *  # noqa: F403

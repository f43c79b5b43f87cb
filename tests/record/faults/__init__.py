"""Faults of the recorder: the conformance kit points at our own engine, and bugs are planted to see it find them."""

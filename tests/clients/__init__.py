"""Sessions of real agent clients, recorded, archived, given back and resumed, without a network.

`make clients` runs this folder. It needs the client (see `conftest.py`) and nothing beyond loopback.
"""

"""The contract of a source: what holds for every agent's format that comes through the door `sources.base.Source`.

Whoever writes a source runs this suite on it, as muniment does on its own. It needs the source, installed under the
entry point `muniment.sources`, and a folder of sample sessions that is laid out as the agent's home is:

    pytest -p muniment.contract --pyargs muniment.contract.suite --contract-source acme --contract-samples samples

A law that does not apply (a source that writes nothing need not write well) is skipped with a word. The suite is not
registered as an entry point of pytest, so it costs nothing to those who do not name it.
"""

pytest_plugins = ("muniment.contract.plugin",)

"""The archive for agents, by the Model Context Protocol: few tools, the answer first, references after.

finding, reading    what is asked of the archive, as an answer; nothing here writes
telling             the one tool that writes: an agent's own engagements, in its project
fence               past words go out as data, without secrets
server              these as tools of a server that speaks on standard input and output
"""

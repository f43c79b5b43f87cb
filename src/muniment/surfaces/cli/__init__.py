"""The command line: one file per command, each options → one library call → one printer."""

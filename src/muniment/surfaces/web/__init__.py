"""The viewer's server: the archive as a page on this machine, for the person who started it and nobody else."""

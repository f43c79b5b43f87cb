"""Session losses that happened to users of other tools, each as a test by the number of its report.

The situation is made anew with small files of our own. With muniment nothing that was inscribed or acknowledged is
lost, damage is told with its place, and the session is still listed and read.
"""

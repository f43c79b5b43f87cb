"""What a person who looks at the archive is shown: everything at once in columns, one session, its items, the numbers.

Nothing here writes. The viewer's server sends these values as they are.
"""

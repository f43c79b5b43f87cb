"""Engagements that agents keep while they work: `engagement.md` files in the project, and what ingestion makes of them.

    steps       what may be said of an engagement, and when: pure
    sheet       one file: frontmatter that is edited line by line, and a log that only grows
    folder      where the files of a project lie, and how several agents write them at once
    kept        the copies in the store, found by where sessions ran
    merge       what agents told, over what extraction found

An agent knows its phase, its obligations and who took part; an extractor reconstructs. So what was told wins for the
sessions and turns it names, and where the two disagree it is said.
"""

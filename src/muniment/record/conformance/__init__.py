"""A crash-conformance kit for programs that append events to a file: does it keep what it acknowledged?

Say how your writer is opened and how its file is read (`subject.Subject`), and let the kit kill it, cut the power under
it, fill its disk and fail its fsyncs. A history of every call, kept outside, tells what had been acknowledged.

    # mine.py
    from muniment.record.conformance.subject import Subject

    class Mine(Subject):
        def open(self, path): ...   # a writer with append(session, uuid, payload), flush() and close()
        def read(self, path): ...   # [(uuid, payload), ...] in the order of the file

    pytest -p muniment.record.conformance --pyargs muniment.record.conformance.suite --conformance-subject mine:Mine

`--conformance-scale` is `quick` (seconds), `full` (minutes) or `soak` (hours). What a machine does not allow is skipped
with a word. The kit is not registered as an entry point, so it costs nothing to those who do not name it.
"""

pytest_plugins = ("muniment.record.conformance.plugin",)

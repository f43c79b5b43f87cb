"""The canonical archive on disk: evidence, documents, rounds, indexes. One directory, one implementation."""

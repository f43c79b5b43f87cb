"""Side-by-side measurement of muniment and its nearest rivals; run with `python -m bench`."""

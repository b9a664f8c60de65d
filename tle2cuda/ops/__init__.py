"""The language: one op family a file, with signature, type rule and NumPy meaning."""

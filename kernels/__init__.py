"""Kernels in the tile language, each with a host wrapper and a NumPy reference."""

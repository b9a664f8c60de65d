"""Benchmarks of the kernels against their rivals, on a GPU."""

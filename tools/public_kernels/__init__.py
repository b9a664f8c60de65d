"""Public Triton kernels as a development set: fetched, cut out of their packages, compiled, and tabulated."""

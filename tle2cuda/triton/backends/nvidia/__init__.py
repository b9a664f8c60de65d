"""`triton.backends.nvidia`."""

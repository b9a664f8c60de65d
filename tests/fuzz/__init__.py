"""A program fuzzer: random valid kernels, which eager mode, the interpreter and the emulator must agree on.

``python -m tests.fuzz --seeds 1000`` runs many; a failure is shrunk and printed with its seed.
"""

"""Inline PTX without a GPU: a subset of the instruction set, for the interpreter and the emulator.

`parser` reads the text of an asm statement; `steps` turns instructions into steps on the bits of registers, of which there
are few kinds; `evaluate` does the steps on NumPy arrays, `cpp` writes them as C++. What is outside of the subset raises
`NotSupported`, naming the instruction; on a GPU it runs all the same.
"""

"""Tests of the lowering from tile IR to CUDA text."""

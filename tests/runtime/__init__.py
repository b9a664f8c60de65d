"""Tests of the runtime; most need no GPU."""

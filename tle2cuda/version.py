"""The version of the compiler: part of every cache key, and what `setup.cfg` reads."""

__version__ = "0.1.0"

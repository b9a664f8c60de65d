"""Choosing constants by measurement (`autotune`) or by rule (`heuristics`)."""

from tle2cuda.tuning.autotuner import Autotuner, autotune
from tle2cuda.tuning.computed import Heuristics, heuristics
from tle2cuda.tuning.config import Config

__all__ = ["Autotuner", "Config", "Heuristics", "autotune", "heuristics"]

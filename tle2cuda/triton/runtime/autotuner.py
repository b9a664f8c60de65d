"""`triton.runtime.autotuner`: configurations and what chooses among them."""

from tle2cuda.errors import DeviceCodeError as PTXASError
from tle2cuda.errors import OutOfResources
from tle2cuda.jit_function import JitFunction as JITFunction
from tle2cuda.triton import knobs
from tle2cuda.triton.runtime import driver
from tle2cuda.triton.runtime.cache import get_cache_manager, triton_key
from tle2cuda.triton.runtime.jit import KernelInterface
from tle2cuda.tuning import Autotuner, Config, Heuristics, autotune, heuristics
from tle2cuda.tuning.autotuner import AutotunerError

__all__ = [
    "Autotuner",
    "AutotunerError",
    "Config",
    "Heuristics",
    "JITFunction",
    "KernelInterface",
    "OutOfResources",
    "PTXASError",
    "autotune",
    "driver",
    "get_cache_manager",
    "heuristics",
    "knobs",
    "triton_key",
]

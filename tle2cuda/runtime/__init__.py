"""Running emitted kernels: launch contract, NVRTC, cache, arguments, launcher.

Importing this needs no CUDA and no CuPy; each is looked for when first used.
"""

from tle2cuda.runtime.build import build, build_artifact, check_resources
from tle2cuda.runtime.cache import KernelCache
from tle2cuda.runtime.contract import ArgSpec, LaunchContract, ScratchSpec
from tle2cuda.runtime.nvrtc import CompileOptions
from tle2cuda.runtime.parameters import Parameter, parameters_of
from tle2cuda.runtime.scratch import get_allocator, set_allocator
from tle2cuda.runtime.signature import Specialization, parse_signature

__all__ = [
    "ArgSpec",
    "CompileOptions",
    "KernelCache",
    "LaunchContract",
    "Parameter",
    "ScratchSpec",
    "Specialization",
    "build",
    "build_artifact",
    "check_resources",
    "get_allocator",
    "parameters_of",
    "parse_signature",
    "set_allocator",
]

"""The emulator: the very same emitted `.cu` text, compiled by the host's C++ compiler and run on the CPU.

`emulate` is all that callers need. `include/` holds headers that stand in for CUDA's, `runtime/` the C++ of the runner, a
process that executes one launch with a fiber for each thread; `translate` makes the compiled text of the emitted one,
`toolchain` compiles, `launch` passes arguments, `locate` finds the lines that places in the machine code belong to.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tle2cuda.emulator.api import emulate as emulate
    from tle2cuda.emulator.api import emulate_in_place as emulate_in_place
    from tle2cuda.emulator.counters import Counters as Counters
    from tle2cuda.emulator.results import Emulation as Emulation
    from tle2cuda.emulator.results import EmulationRun as EmulationRun
    from tle2cuda.emulator.results import Finding as Finding
    from tle2cuda.emulator.tensor_maps import TensorMap as TensorMap
    from tle2cuda.emulator.tensor_maps import encode_tiled as encode_tiled
    from tle2cuda.emulator.tensor_maps import tensor_map as tensor_map

_LAZY = {
    "Counters": "counters",
    "Emulation": "results",
    "EmulationRun": "results",
    "Finding": "results",
    "TensorMap": "tensor_maps",
    "emulate": "api",
    "emulate_in_place": "api",
    "encode_tiled": "tensor_maps",
    "tensor_map": "tensor_maps",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"tle2cuda.emulator.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Counters",
    "Emulation",
    "EmulationRun",
    "Finding",
    "TensorMap",
    "emulate",
    "emulate_in_place",
    "encode_tiled",
    "tensor_map",
]

"""Small CUDA files written by hand, run as if they had been emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import Emulation, emulate
from tle2cuda.runtime.contract import ArgSpec, Dim3, LaunchContract

_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "bool": "i1"}


def handwritten(
    body: str,
    args: Mapping[str, Any],
    *,
    threads: int = 32,
    cluster: Dim3 = (1, 1, 1),
    cooperative: bool = False,
    shared: int = 0,
    dynamic_shared: int = 0,
    includes: str = "",
) -> EmittedKernel:
    """A kernel `k` with this body; its parameters follow from the arguments' dtypes."""
    specs, parameters = [], []
    for name, value in args.items():
        dtype, pointer = dtype_of(value), isinstance(value, np.ndarray)
        specs.append(ArgSpec(name, "pointer" if pointer else "scalar", dtype))
        parameters.append(f"{CUDA_TYPES[dtype]}{'*' if pointer else ''} {name}")
    header = "".join(f"#include <{name}>\n" for name in includes.split())
    source = f'{header}\nextern "C" __global__ void\nk({", ".join(parameters)})\n{{\n{body}\n}}\n'
    contract = LaunchContract(
        "k",
        "handwritten.py",
        1,
        "sm_90a",
        tuple(specs),
        cta_threads=threads,
        cluster=cluster,
        cooperative=cooperative,
        shared_static_bytes=shared,
        dynamic_shared_bytes=dynamic_shared,
    )
    return EmittedKernel(source, contract, ())


def dtype_of(value: Any) -> str:
    """Name of the type of an array's elements, or of a number."""
    if not isinstance(value, np.ndarray):
        return "fp32" if isinstance(value, float) else "i32"
    name = value.dtype.name
    return _SHORT.get(name, name.replace("uint", "u").replace("int", "i"))


CUDA_TYPES = {
    "i1": "bool",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned",
    "u64": "unsigned long long",
    "fp16": "__half",
    "bf16": "__nv_bfloat16",
    "fp32": "float",
    "fp64": "double",
}


def run(body: str, args: Mapping[str, Any], grid: int | Dim3 = 1, **options: Any) -> Mapping[str, Any]:
    """Outputs of a faultless run, the same under three schedules."""
    emulation_options = {key: options.pop(key) for key in ("detect", "seeds") if key in options}
    kernel = handwritten(body, args, **options)
    outputs = [
        emulate(kernel, grid, args, schedule=schedule, **{"detect": "all", **emulation_options}).check().outputs
        for schedule in ("forward", "reverse", "random")
    ]
    for other in outputs[1:]:
        for name, array in outputs[0].items():
            assert array.tobytes() == other[name].tobytes(), f"{name} depends on the schedule"
    return outputs[0]


def fault(body: str, args: Mapping[str, Any], grid: int | Dim3 = 1, **options: Any) -> Emulation:
    """The emulation of a kernel that is at fault."""
    emulation_options = {
        key: options.pop(key) for key in ("detect", "schedule", "seed", "stall_s", "limit_s") if key in options
    }
    return emulate(handwritten(body, args, **options), grid, args, **emulation_options)

"""CUDA files with asynchronous copies, written by hand, and bodies of small kernels that use our device helpers."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.emulator.handwritten import CUDA_TYPES, dtype_of
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import TensorMap
from tle2cuda.lowering.helpers import helper_texts
from tle2cuda.runtime.contract import ArgSpec, Dim3, LaunchContract

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
_HELPERS = re.compile(r"^// helpers: (.*)\n", re.MULTILINE)


def with_helpers(text: str) -> str:
    """A text with our device helpers in the place of the line that names them."""
    return _HELPERS.sub(lambda match: "\n" + "\n\n".join(helper_texts(match[1].split())) + "\n", text)


def specs_of(args: Mapping[str, Any]) -> tuple[ArgSpec, ...]:
    """Specifications that follow from the arguments."""
    specs = []
    for name, value in args.items():
        if isinstance(value, TensorMap):
            specs.append(ArgSpec(name, "tensor_map", dtype_of(value.array)))
        else:
            specs.append(ArgSpec(name, "pointer" if isinstance(value, np.ndarray) else "scalar", dtype_of(value)))
    return tuple(specs)


def fixture(name: str, args: Mapping[str, Any], *, threads: int, dynamic_shared: int = 0, shared: int = 0) -> EmittedKernel:
    """A file of `fixtures/`, as if it had been emitted."""
    source = with_helpers((FIXTURES / f"{name}.cu").read_text(encoding="utf-8"))
    contract = LaunchContract(
        name,
        f"{name}.cu",
        1,
        "sm_90a",
        specs_of(args),
        cta_threads=threads,
        shared_static_bytes=shared,
        dynamic_shared_bytes=dynamic_shared,
    )
    return EmittedKernel(source, contract, ())


def kernel(
    body: str,
    args: Mapping[str, Any],
    helpers: str = "",
    *,
    threads: int = 32,
    cluster: Dim3 = (1, 1, 1),
    shared: int = 0,
    dynamic_shared: int = 0,
    includes: str = "",
) -> EmittedKernel:
    """A kernel `k` with this body and these device helpers."""
    parameters = []
    for name, value in args.items():
        if isinstance(value, TensorMap):
            parameters.append(f"const __grid_constant__ TensorMap {name}")
        else:
            parameters.append(f"{CUDA_TYPES[dtype_of(value)]}{'*' if isinstance(value, np.ndarray) else ''} {name}")
    text = "".join(f"#include <{name}>\n" for name in includes.split())
    if any(isinstance(value, TensorMap) for value in args.values()) and "TensorMap" not in helpers:
        helpers += " TensorMap"
    text += f"// helpers: {helpers}\n" if helpers else ""
    dims = f"__cluster_dims__({', '.join(map(str, cluster))}) " if cluster != (1, 1, 1) else ""
    text += f'extern "C" __global__ void {dims}__launch_bounds__({threads})\nk({", ".join(parameters)})\n{{\n{body}\n}}\n'
    contract = LaunchContract(
        "k",
        "handwritten.py",
        1,
        "sm_90a",
        specs_of(args),
        cta_threads=threads,
        cluster=cluster,
        shared_static_bytes=shared,
        dynamic_shared_bytes=dynamic_shared,
    )
    return EmittedKernel(with_helpers(text), contract, ())

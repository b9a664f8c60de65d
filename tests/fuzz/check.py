"""Runs a program on several devices, and says how they disagree."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import os
import pathlib
import sys
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np

from tests.fuzz.generate import ACCUMULATORS, EIGHT_BITS, GRID, HEADER, INPUT_SIZE, INPUTS, SLOTS, Program
from tests.opcases.case import EXACT, Array, Tolerance, difference
from tle2cuda.emulator.detectors import DETECT_VARIABLE
from tle2cuda.errors import EmulationError
from tle2cuda.runtime.device import DEVICE_VARIABLE

DEVICES = ("interpreter", "eager", "emulator")
POISON = -77
_NEAR = Tolerance(64, scale=1.0)
_numbers = itertools.count()


@dataclass(frozen=True)
class Failure:
    """What went wrong with a program.

    Attributes:
        kind: The same for programs that fail alike, so that shrinking keeps to one fault.
        text: What to read.
    """

    kind: str
    text: str


def inputs(program: Program) -> dict[str, Any]:
    """Arguments: inputs of every dtype, outputs full of a value that is recognised."""
    rng = np.random.default_rng(program.seed)
    arguments: dict[str, Any] = {}
    for name in INPUTS:
        dtype = np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            values = rng.integers(info.min, info.max, INPUT_SIZE, dtype, endpoint=True)
            small = rng.integers(0, 50, INPUT_SIZE).astype(dtype)
            arguments[f"p_{name}"] = np.where(rng.random(INPUT_SIZE) < 0.5, values, small)
        else:
            values = (rng.integers(-400, 400, INPUT_SIZE) / 8).astype(np.float32)
            special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)[rng.integers(0, 5, INPUT_SIZE)]
            arguments[f"p_{name}"] = np.where(rng.random(INPUT_SIZE) < 0.05, special, values).astype(dtype)
    for name in EIGHT_BITS:
        dtype = np.dtype(getattr(ml_dtypes, name))
        arguments[f"p_{name}"] = rng.integers(0, 256, INPUT_SIZE).astype(np.uint8).view(dtype)
    count = SLOTS * GRID * program.M * program.N
    arguments["out_int"] = np.full(count, POISON, np.int64)
    arguments["out_float"] = np.full(count, POISON, np.float64)
    arguments["out_near"] = np.full(count, POISON, np.float32)
    arguments["acc"] = rng.integers(-9, 9, ACCUMULATORS).astype(np.int32)
    arguments["scratch"] = rng.integers(-9, 9, GRID * program.N).astype(np.int32)
    # Not 1: that would be compiled in as a constant, which has no methods.
    arguments["n"] = int(rng.choice([0, *range(2, 40)]))
    arguments["s"] = int(rng.choice([*range(-20, 1), *range(2, 100)]))
    arguments["alpha"] = float(rng.integers(-40, 40)) / 4
    return arguments


def load(text: str, folder: pathlib.Path) -> ModuleType:
    """The module of a program."""
    number = next(_numbers)
    path = folder / f"fuzz_{os.getpid()}_{number}.py"
    path.write_text(HEADER + text, encoding="utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(program: Program, module: ModuleType, device: str) -> dict[str, Array]:
    """Arrays after a launch on a device."""
    arguments = inputs(program)
    # In the emulator barriers that are missing are found whether or not they change a result.
    with mock.patch.dict(os.environ, {DEVICE_VARIABLE: device, DETECT_VARIABLE: "all"}):
        module.k[(GRID // program.cluster,)](**arguments, M=program.M, N=program.N, num_warps=program.num_warps)
    return {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}


def check(program: Program, folder: pathlib.Path, devices: tuple[str, ...] = DEVICES) -> Failure | None:
    """How the devices disagree; None when they agree."""
    module = load(program.text, folder)
    results = {}
    for device in devices:
        try:
            results[device] = run(program, module, device)
        except Exception as error:
            name = type(error).__name__
            if isinstance(error, EmulationError):
                name += f" ({error.kind})"
            last = "".join(traceback.format_exception_only(error)).strip()
            return Failure(f"{device} raises {name}", f"{device} raises {last}")
    pathlib.Path(str(module.__file__)).unlink()
    sys.modules.pop(module.__name__, None)
    first = devices[0]
    for device in devices[1:]:
        for name, want in results[first].items():
            tolerance = _NEAR if name == "out_near" else EXACT
            text = difference(results[device][name], want, tolerance)
            if text:
                return Failure(f"{device} differs from {first} in {name}", f"{device} against {first}, {name}: {text}")
    return None

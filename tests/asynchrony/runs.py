"""Runs a kernel in the interpreter: as traced and after passes, partitions in several orders."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tle2cuda import interpreter
from tle2cuda.compiler import trace_specialized
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel
from tle2cuda.passes import pipeline
from tle2cuda.runtime.args import specialize


def traced(kernel: Any, args: Sequence[Any], num_warps: int = 4, **constants: Any) -> Kernel:
    """The IR of a kernel for these arguments."""
    names = [p.name for p in kernel.parameters]
    given = iter(args)
    values = [constants[name] if name in constants else next(given) for name in names]
    bound = specialize(kernel.parameters, values, kernel.fn.__name__)
    made = trace_specialized(kernel, bound.specialization, num_warps=num_warps, arch="sm_90a")
    verify(made)
    return made


def run(
    kernel: Any,
    args: Sequence[Any],
    grid: int | tuple[int, ...] = 1,
    num_warps: int = 4,
    after: Sequence[str] = ("partitions", "barriers"),
    eager: bool = True,
    **constants: Any,
) -> list[list[Any]]:
    """The arguments after each of several runs: as traced, in two orders, after some passes, and in eager mode."""
    made = traced(kernel, args, num_warps, **constants)
    names = [argument.name for argument in made.args]
    passed = {p.name: value for p, value in zip(_run_time(kernel, constants), args, strict=True)}
    results = []
    for version, seed in _versions(made, after):
        values = {name: copy.copy(value) for name, value in passed.items()}
        interpreter.run(version, grid, [_value(values, name) for name in names], seed=seed)
        results.append(list(values.values()))
    if eager:
        values = {name: copy.copy(value) for name, value in passed.items()}
        kernel.eager[grid if isinstance(grid, tuple) else (grid,)](**values, **constants, num_warps=num_warps)
        results.append(list(values.values()))
    return results


def _versions(made: Kernel, after: Sequence[str]) -> Iterator[tuple[Kernel, int | None]]:
    yield made, None
    yield made, 1
    for seed, each in enumerate(pipeline.PASSES if after else ()):
        made = importlib.import_module(f"tle2cuda.passes.{each.name}").run(made)
        verify(made)
        if each.name in after:
            yield made, seed


def _run_time(kernel: Any, constants: dict[str, Any]) -> list[Any]:
    return [p for p in kernel.parameters if p.name not in constants]


def _value(values: dict[str, Any], name: str) -> Any:
    """A run-time argument, also one that is part of a tensor descriptor."""
    if name in values:
        return values[name]
    base, _, part = name.rpartition("_")
    descriptor = values[base]
    if part == "base":
        return descriptor.base
    kind, axis = part.rstrip("0123456789"), int(part[len(part.rstrip("0123456789")) :])
    return descriptor.shape[axis] if kind == "extent" else descriptor.strides[axis]


def check(kernel: Any, args: Sequence[Any], want: dict[int, np.ndarray], **options: Any) -> None:
    """Runs and compares the arguments at some positions."""
    for got in run(kernel, args, **options):
        for position, expected in want.items():
            np.testing.assert_array_equal(got[position], expected)

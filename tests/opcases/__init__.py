"""Small kernels that together use every operation of the language, with what each must write.

`cases()` imports the families and gives all cases by name. `tests/test_opcases.py` runs them in the interpreter and
compiles them; `python -m tests.opcases.run_gpu` runs them on the GPU.
"""

from __future__ import annotations

import functools
import importlib

from tests.opcases.case import OpCase, Tolerance, registered_cases

FAMILIES = (
    "elementwise",
    "collectives",
    "shapes",
    "sorting",
    "memory",
    "control",
    "mapping",
    "atomics",
    "shared",
    "distributed",
    "device_functions",
    "inline_asm",
    "dot",
    "dot_warpgroups",
    "tle_wgmma",
    "pipelined",
    "ring_boxes",
    "chained",
    "block_pointers",
    "descriptors",
    "async_pipes",
    "async_partitions",
    "inner_partitions",
    "divided_partitions",
    "tensor_copies",
    "tensor_order",
    "bulk_stores",
    "made_maps",
    "multicast",
    "async_loads",
    "bulk_pipes",
    "asynchrony",
    "newer",
    "wrapping",
    "debug_builds",
)


@functools.cache
def cases() -> dict[str, OpCase]:
    """Every case by name, sorted."""
    for family in FAMILIES:
        importlib.import_module(f"tests.opcases.{family}")
    return registered_cases()


def spread(per_family: int) -> list[OpCase]:
    """So many cases of each family, from all over it, in the order of their names."""
    families: dict[str, list[OpCase]] = {}
    for case in cases().values():
        families.setdefault(case.family, []).append(case)
    chosen = []
    for members in families.values():
        count = min(per_family, len(members))
        chosen += [members[index * len(members) // count] for index in range(count)]
    return chosen


__all__ = ["OpCase", "Tolerance", "cases", "spread"]

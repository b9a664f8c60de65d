"""Nodes of the tile IR: values, operations, regions, kernels.

SSA with structured control flow. Everything is immutable; passes build new nodes (`Rewriter` in
`tle2cuda.ir.rewrite`). Values and operations compare by identity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tle2cuda.ir.span import UNKNOWN, Span
from tle2cuda.ir.types import Type
from tle2cuda.targets import DEFAULT_STAGES, WARP_THREADS, parse_target

WARPGROUP_WARPS = 4
REGISTER_FILE = 65536  # 32-bit registers of a multiprocessor
MOST_USED_REGISTERS = 240  # of a thread: more are hardly ever of use

DIVIDES = "divides"
"""Attribute of a `warp_specialize` whose partitions, region 0 too, are groups of the warps that run the code around it."""

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A result of an operation, a region parameter or a kernel argument.

    Attributes:
        type: What it is.
        name: The user's name for it, a hint only; empty when the user gave none.
        span: Where it came into being.
    """

    type: Type
    name: str = ""
    span: Span = UNKNOWN

    def __repr__(self) -> str:
        return f"<{self.name or 'value'}: {self.type}>"


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A list of operations with parameters; its last operation is `yield` or `condition`."""

    params: tuple[Value, ...] = ()
    ops: tuple[Op, ...] = ()

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    @property
    def body(self) -> tuple[Op, ...]:
        """The operations before the terminator."""
        return self.ops[:-1]


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation. Its rules stand in the legality table (`tle2cuda.ir.legality`)."""

    name: str
    operands: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    regions: tuple[Region, ...] = ()
    span: Span = UNKNOWN

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def __repr__(self) -> str:
        return f"<{self.name} at {self.span.short()}>"


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """A run-time kernel argument.

    Attributes:
        value: Its value in the body.
        divisibility: Known divisor of the integer, or alignment in bytes of the pointer.
    """

    value: Value
    divisibility: int = 1

    @property
    def name(self) -> str:
        return self.value.name


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A traced kernel: arguments, body and what tracing found out about its launch.

    Attributes:
        name: Name of the Python function, and of the CUDA kernel.
        args: Run-time arguments in signature order.
        body: Region without parameters, ended by an empty `yield`.
        constants: Constexpr parameters, name to Python object, in signature order.
        num_warps: Warps of one CTA.
        num_stages: Iterations of loads that loops with matrix products have in flight, unless they say so themselves.
        most_stages: Stages that any ring of a pipelined loop may have, where more did not fit; None for no limit.
        cluster_dims: CTAs of one cluster along x, y, z.
        cooperative: True when a grid barrier needs every CTA resident.
        target: Architecture such as ``sm_90a``.
        span: The function's definition.
    """

    name: str
    args: tuple[Argument, ...]
    body: Region
    constants: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    num_warps: int = 4
    num_stages: int = DEFAULT_STAGES
    most_stages: int | None = None
    cluster_dims: tuple[int, int, int] = (1, 1, 1)
    cooperative: bool = False
    target: str = "sm_90a"
    span: Span = UNKNOWN

    @property
    def cluster_size(self) -> int:
        x, y, z = self.cluster_dims
        return x * y * z

    @property
    def default_threads(self) -> int:
        """Threads that run what stands outside of worker partitions."""
        return WARP_THREADS * self.num_warps

    @property
    def num_threads(self) -> int:
        """Threads of a CTA, those of worker partitions included."""
        return WARP_THREADS * (self.num_warps + max((self._workers(op) for op in self.specialisations), default=0))

    @property
    def specialisations(self) -> tuple[Op, ...]:
        """The `warp_specialize` operations with workers of their own, which stand at the top level of the body."""
        return tuple(op for op in self.body.ops if op.name == "warp_specialize" and not op.attrs.get(DIVIDES))

    @property
    def divisions(self) -> tuple[Op, ...]:
        """Those that divide the kernel's warps among their partitions, wherever they stand."""
        return tuple(op for op in walk(self.body) if op.name == "warp_specialize" and op.attrs.get(DIVIDES))

    def moves_registers(self, specialisation: Op) -> bool:
        """Whether the partitions of a specialisation hand registers over.

        `setmaxnreg` acts on whole warpgroups. It is left out where every thread may have as many registers as it can use
        anyway. Of several specialisations the first one hands over for all, if they want the same.
        """
        wants = {(site.attrs["warps"][1:], site.attrs["registers"]) for site in self.specialisations}
        if not any(specialisation.attrs["registers"]) or len(wants) > 1:
            return False
        if self.num_warps % WARPGROUP_WARPS or not parse_target(self.target).has("setmaxnreg"):
            return False
        workers = sum(specialisation.attrs["warps"][1:])
        warps = self.num_warps + workers + -workers % WARPGROUP_WARPS
        return bool(REGISTER_FILE // (WARP_THREADS * warps) < MOST_USED_REGISTERS)

    def _workers(self, specialisation: Op) -> int:
        """Warps of the workers, idle ones included that fill the last warpgroup."""
        warps: int = sum(specialisation.attrs["warps"][1:])
        return warps + -warps % WARPGROUP_WARPS if self.moves_registers(specialisation) else warps


def make_op(
    name: str,
    operands: tuple[Value, ...] = (),
    result_types: tuple[Type, ...] = (),
    attrs: Mapping[str, Any] | None = None,
    regions: tuple[Region, ...] = (),
    span: Span = UNKNOWN,
    names: tuple[str, ...] = (),
) -> Op:
    """Build an operation together with its result values."""
    padded = itertools.chain(names, itertools.repeat(""))
    results = tuple(Value(type_, name_, span) for type_, name_ in zip(result_types, padded, strict=False))
    frozen = MappingProxyType(dict(attrs)) if attrs else _EMPTY
    return Op(name, tuple(operands), results, frozen, tuple(regions), span)


def walk(region: Region) -> Iterator[Op]:
    """Every operation of a region and of the regions inside it, in program order, outer before inner."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from walk(inner)

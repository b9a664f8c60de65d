"""Which IR is legal: one row per operation, and `verify`, which checks a kernel against the rows.

A row says what kinds of operands an operation takes, which result types follow from them, its attributes and
their types, its regions, and whether it is pure. Attributes that no row names may be present (passes leave
notes in them) as long as they are plain data, which the printer can show.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tle2cuda.errors import IRError
from tle2cuda.ir.kinds import Broken, is_plain_data
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, Value
from tle2cuda.ir.row import Row
from tle2cuda.ir.rows import ROWS
from tle2cuda.ir.rules import scratch_operands, value_operands
from tle2cuda.ir.types import GLOBAL, BarrierType, BufferType, DType, PointerType

__all__ = ["ROWS", "Row", "has_side_effects", "is_pure", "reads_memory", "row_of", "scratch_operands"]
__all__ += ["value_operands", "verify"]

TERMINATORS = ("yield", "condition")
MAX_CLUSTER_SIZE = 16
MAX_NUM_WARPS = 32


def row_of(op: Op) -> Row:
    """The row of the table for an operation.

    Raises:
        IRError: There is none.
    """
    row = ROWS.get(op.name)
    if row is None:
        raise IRError(f"no operation is called {op.name!r}", op.span)
    return row


def is_pure(op: Op) -> bool:
    """Whether the results depend on the operands alone: it may be removed, merged, moved or run again."""
    row = row_of(op)
    if op.attrs.get("num_scratch"):
        return False
    return row.is_pure and all(is_pure(inner) for region in op.regions for inner in region.ops)


def reads_memory(op: Op) -> bool:
    """Whether its results depend on memory, regions included."""
    return row_of(op).reads_memory or any(reads_memory(inner) for r in op.regions for inner in r.ops)


def has_side_effects(op: Op) -> bool:
    """Whether it matters when nobody uses the results: writes, barriers, output, checks, waiting.

    A `while` that reads memory may be waiting for another CTA, so it counts.
    """
    if row_of(op).has_side_effects or op.attrs.get("volatile"):
        return True
    if op.name == "while" and reads_memory(op):
        return True
    return any(has_side_effects(inner) for region in op.regions for inner in region.ops)


def verify(kernel: Kernel, legal: set[Op] | None = None) -> None:
    """Check a kernel: every operation against its row, dominance, terminators, and the rules of the launch.

    Args:
        kernel: The kernel.
        legal: Operations that met their rows in earlier calls, to which this call adds. Operations do not change, and
            most passes leave most of them alone, so what asks after every pass looks at new ones only.

    Raises:
        IRError: The first rule that is broken, with the row it belongs to.
    """
    _verify_launch(kernel)
    _Verifier(kernel, set() if legal is None else legal).run()


def _verify_launch(kernel: Kernel) -> None:
    def need(condition: bool, problem: str) -> None:
        if not condition:
            raise IRError(f"kernel {kernel.name}: {problem}", kernel.span)

    need(kernel.name.isidentifier(), "its name is no identifier")
    warps = kernel.num_warps
    need(
        1 <= warps <= MAX_NUM_WARPS and warps & (warps - 1) == 0,
        f"num_warps is {warps}, not a power of two up to {MAX_NUM_WARPS}",
    )
    dims = kernel.cluster_dims
    need(len(dims) == 3 and all(extent >= 1 for extent in dims), f"cluster_dims is {dims}")
    need(
        kernel.cluster_size <= MAX_CLUSTER_SIZE,
        f"a cluster of {kernel.cluster_size} CTAs exceeds the limit of {MAX_CLUSTER_SIZE}",
    )
    architecture = re.fullmatch(r"sm_(\d+)[af]?", kernel.target)
    need(architecture is not None, f"target {kernel.target!r} is no architecture such as sm_90a")
    assert architecture is not None
    need(
        kernel.cluster_size == 1 or int(architecture[1]) >= 90,
        f"clusters need sm_90 or later, the target is {kernel.target}",
    )
    names = [argument.name for argument in kernel.args]
    need(len(set(names)) == len(names), "two arguments have one name")
    for argument in kernel.args:
        type_ = argument.value.type
        need(argument.name.isidentifier(), f"argument name {argument.name!r} is no identifier")
        need(
            isinstance(type_, (DType, PointerType)),
            f"argument {argument.name} is {type_}, not a scalar or pointer",
        )
        if isinstance(type_, PointerType):
            need(type_.space == GLOBAL, f"argument {argument.name} points to {type_.space} memory")
        need(argument.divisibility >= 1, f"argument {argument.name} has divisibility {argument.divisibility}")
    need(not kernel.body.params, "its body has parameters")


class _Verifier:
    """Walks the regions with the set of values visible at each point."""

    def __init__(self, kernel: Kernel, legal: set[Op]) -> None:
        self.kernel = kernel
        self.legal = legal
        self.visible: set[Value] = {argument.value for argument in kernel.args}
        self.defined: set[Value] = set(self.visible)

    def run(self) -> None:
        self.region(self.kernel.body, ("yield",), None)
        terminator = self.kernel.body.terminator
        if terminator.operands:
            raise IRError(f"kernel {self.kernel.name}: its body yields values", terminator.span)

    def define(self, values: Iterable[Value], op: Op | None) -> None:
        for value in values:
            if value in self.defined:
                span = op.span if op is not None else self.kernel.span
                raise IRError(f"value {value!r} is defined twice", span)
            self.defined.add(value)
            self.visible.add(value)

    def region(self, region: Region, terminators: tuple[str, ...], parent: Op | None) -> None:
        where = f"a region of {parent.name}" if parent is not None else "the kernel's body"
        span = parent.span if parent is not None else self.kernel.span
        if not region.ops or region.ops[-1].name not in terminators:
            raise IRError(f"{where} does not end in {' or '.join(terminators)}", span)
        outside = set(self.visible)
        self.define(region.params, parent)
        for position, op in enumerate(region.ops):
            if op.name in TERMINATORS and position != len(region.ops) - 1:
                raise IRError(f"{op.name} stands in the middle of {where}", op.span)
            self.op(op)
        self.visible = outside

    def op(self, op: Op) -> None:
        for number, operand in enumerate(op.operands):
            if operand not in self.visible:
                raise IRError(f"{op.name}: operand {number} ({operand!r}) is not defined where it is used", op.span)
        row = row_of(op)
        try:
            if op not in self.legal:
                _check_row(row, op)
                self.legal.add(op)
            self._check_members(op)
        except Broken as broken:
            operands = ", ".join(str(v.type) for v in op.operands) or "none"
            raise IRError(
                f"row `{row.name}` is broken: {broken}",
                op.span,
                facts=(f"row: {row.text}", f"operands: {operands}"),
            ) from None
        for number, region in enumerate(op.regions):
            ends = ("condition",) if op.name == "while" and number == 0 else ("yield",)
            self.region(region, ends, op)
        self.define(op.results, op)

    def _check_members(self, op: Op) -> None:
        """Rules that need the kernel: who takes part in barriers and partitions."""
        if op.name == "grid_barrier":
            if not self.kernel.cooperative:
                raise Broken("the kernel is not cooperative")
            if self.kernel.cluster_size != 1:
                raise Broken(f"a grid barrier requires cluster_dims=(1, 1, 1), not {self.kernel.cluster_dims}")
        if op.name == "warp_specialize":
            warps = sum(op.attrs["warps"]) if op.attrs.get(DIVIDES) else op.attrs["warps"][0]
            if warps != self.kernel.num_warps:
                who = "its partitions have" if op.attrs.get(DIVIDES) else "partition 0 has"
                raise Broken(f"{who} {warps} warps, the kernel {self.kernel.num_warps}")
        if op.name == "cluster_barrier" and op.attrs.get("members") is not None:
            members = op.attrs["members"]
            size = self.kernel.cluster_size
            if len(set(members)) != len(members) or not all(0 <= rank < size for rank in members):
                raise Broken(f"members {members} are no ranks of a cluster of {size} CTAs")


def _check_row(row: Row, op: Op) -> None:
    """What the table says of the operation by itself."""
    _check_attributes(row, op)
    if len(op.regions) != row.num_regions(op):
        raise Broken(f"it has {len(op.regions)} regions instead of {row.num_regions(op)}")
    _check_operands(row, op)
    row.check(op)


def _check_attributes(row: Row, op: Op) -> None:
    for name, rule in row.attrs.items():
        if name not in op.attrs:
            if not rule.optional:
                raise Broken(f"attribute {name} is missing")
        elif not rule.accepts(op.attrs[name]):
            raise Broken(f"attribute {name} is {op.attrs[name]!r}, not {rule.text}")
    for name, value in op.attrs.items():
        if not name.isidentifier() or not is_plain_data(value):
            raise Broken(f"attribute {name} holds {value!r}, which is no plain data")


def _check_operands(row: Row, op: Op) -> None:
    operands = value_operands(op)
    for value in scratch_operands(op):
        if not isinstance(value.type, (BufferType, BarrierType)):
            raise Broken(f"a scratch operand is {value.type}, not a buffer or barrier")
    fixed, rest = row.operands, row.variadic
    if len(operands) < len(fixed) or (rest is None and len(operands) > len(fixed)):
        least = "at least " if rest is not None else ""
        raise Broken(f"it has {len(operands)} operands instead of {least}{len(fixed)}")
    for number, value in enumerate(operands):
        kind = fixed[number] if number < len(fixed) else rest
        assert kind is not None
        if not kind.accepts(value.type):
            raise Broken(f"operand {number} is {value.type}, not {kind.text}")

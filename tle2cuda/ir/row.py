"""What a row of the legality table holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tle2cuda.ir.kinds import Attr, Kind
from tle2cuda.ir.nodes import Op

Check = Callable[[Op], None]


@dataclass(frozen=True, slots=True)
class Row:
    """The rules of one operation.

    Attributes:
        name: The operation.
        text: The row in words, shown in errors.
        operands: Kinds of the leading operands.
        check: The result rule and whatever relates operands, attributes and regions; raises `Broken`.
        variadic: Kind of all further operands; None when there are none.
        attrs: Attribute rules.
        regions: How many regions.
        is_pure: Results depend on operands alone and nothing else happens.
        reads_memory: Results depend on memory.
        has_side_effects: Something happens beside the results.
    """

    name: str
    text: str
    operands: tuple[Kind, ...]
    check: Check
    variadic: Kind | None = None
    attrs: Mapping[str, Attr] = field(default_factory=dict)
    regions: int = 0
    is_pure: bool = True
    reads_memory: bool = False
    has_side_effects: bool = False

    def num_regions(self, op: Op) -> int:
        """How many regions this very operation has: a custom reduce or scan has one more."""
        if op.name == "warp_specialize":  # one per partition
            return len(op.attrs["warps"])
        return self.regions + (op.name in ("reduce", "scan") and op.attrs.get("kind") == "custom")

"""Copies that CTAs of a cluster share: each of them must make the same ones, in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tle2cuda.ir.multicast import Sharing
from tle2cuda.ir.nodes import Op

if TYPE_CHECKING:
    from tle2cuda.interpreter.context import Context

Box = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""First element, extents and strides of a tensor, and where in it a box begins."""


@dataclass(slots=True)
class _Made:
    """What a group of CTAs has made of one operation.

    Attributes:
        counts: How many copies, by rank.
        boxes: Of those that some CTAs have not made yet: who was first, and the box.
    """

    counts: dict[int, int]
    boxes: dict[int, tuple[int, Box]] = field(default_factory=dict)


class SharedCopies:
    """The shared copies of a cluster."""

    def __init__(self) -> None:
        self._made: dict[tuple[Op, tuple[int, ...]], _Made] = {}

    def note(self, context: Context, op: Op, shared: Sharing, box: Box) -> None:
        """A CTA makes its part of a copy.

        Raises:
            InterpreterError: Another one gave the same copy another box.
        """
        rank, group = context.cluster_rank, shared.group(context.cluster_rank)
        made = self._made.setdefault((op, group), _Made(dict.fromkeys(group, 0)))
        made.counts[rank] += 1
        number = made.counts[rank]
        first, other = made.boxes.setdefault(number, (rank, box))
        if other != box:
            raise context.fail(
                op,
                f"CTAs that share a copy give it different {'offsets' if other[:3] == box[:3] else 'tensors'}",
                facts=(f"copy {number}: CTA {first} of the cluster at {list(other[3])}, CTA {rank} at {list(box[3])}",),
                help="what is shared may not depend on the rank along the axes that multicast= names",
            )
        if min(made.counts.values()) >= number:
            del made.boxes[number]

    def check(self, contexts: Iterable[Context]) -> None:
        """Behind a cluster: on a GPU some CTAs would wait for ever when others have made fewer copies.

        Raises:
            InterpreterError: They have.
        """
        by_rank = {context.cluster_rank: context for context in contexts}
        for (op, group), made in self._made.items():
            if len(set(made.counts.values())) > 1:
                listed = ", ".join(f"CTA {rank} makes {count}" for rank, count in made.counts.items())
                raise by_rank[group[0]].fail(
                    op,
                    "CTAs that share copies make different numbers of them",
                    facts=(listed,),
                    help="let the loops around them run equally often in all CTAs of a cluster",
                )

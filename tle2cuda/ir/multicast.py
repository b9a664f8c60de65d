"""CTAs of a cluster that share copies: each brings a part, which the copy engine writes to all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from tle2cuda.ir.nodes import Op


@dataclass(frozen=True, slots=True)
class Sharing:
    """Groups of CTAs: those of a cluster that differ along some of its axes only.

    Attributes:
        shape: Extents of the cluster's axes; ranks are row-major.
        along: The axes along which CTAs of a group differ.
    """

    shape: tuple[int, ...]
    along: tuple[int, ...]

    @property
    def count(self) -> int:
        """CTAs of a group."""
        return math.prod(self.shape[axis] for axis in self.along)

    @property
    def is_whole(self) -> bool:
        """Whether a group is the cluster."""
        return self.count == math.prod(self.shape)

    def stride(self, axis: int) -> int:
        """From one rank to the next along an axis."""
        return math.prod(self.shape[axis + 1 :])

    @property
    def offsets(self) -> tuple[int, ...]:
        """Ranks of a group less its first one, in order."""
        steps = [range(self.shape[axis]) for axis in self.along]
        strides = [self.stride(axis) for axis in self.along]
        return tuple(sum(i * stride for i, stride in zip(at, strides, strict=True)) for at in product(*steps))

    def group(self, rank: int) -> tuple[int, ...]:
        """The ranks of a CTA's group."""
        first = rank - sum(rank // self.stride(axis) % self.shape[axis] * self.stride(axis) for axis in self.along)
        return tuple(first + offset for offset in self.offsets)


def sharing(op: Op) -> Sharing | None:
    """Among which CTAs a `tma_load` is shared; None for those that a CTA makes for itself."""
    shape, along = op.attrs.get("multicast"), op.attrs.get("along")
    return Sharing(tuple(shape), tuple(along)) if shape and along else None


def pipe_sharings(pipe: Op) -> tuple[Sharing, ...]:
    """Among which CTAs stages of a pipe are filled, each in another way."""
    shape = pipe.attrs.get("multicast")
    return tuple(Sharing(tuple(shape), tuple(map(int, text.split()))) for text in pipe.attrs["peers"]) if shape else ()


def num_peers(sharings: Iterable[Sharing]) -> int:
    """How many CTAs fill stages of each other, the own one included."""
    return len({rank for each in sharings for rank in each.group(0)}) or 1

"""Rows of the legality table for asynchronous copies, barriers of several kinds, pipes and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.ir import async_rules, rules
from tle2cuda.ir.kinds import (
    ANY,
    BARRIERS,
    BOOLEAN,
    BUFFER,
    FLAG,
    I32_SCALAR,
    INTS,
    NATURAL,
    PIPE,
    POINTER,
    POSITIVE,
    TENSOR,
    TEXT,
    TEXTS,
    Kind,
    choice,
    choice_of,
    maybe,
)
from tle2cuda.ir.row import Check, Row

MOST_PENDING_GROUPS = 7
TENSOR_RANKS = (1, 2, 3, 4, 5)
STORE_KINDS = ("store", "add", "min", "max", "and", "or", "xor")

ASYNC_ROWS: dict[str, Row] = {}

_EFFECT: dict[str, Any] = {"is_pure": False, "has_side_effects": True}
_STAGE = (PIPE, I32_SCALAR, I32_SCALAR)
_READER = {"reader": maybe(TEXT)}
_BOX = {"rank": choice_of(*TENSOR_RANKS), "block": INTS}


def _row(names: str, text: str, operands: Sequence[Kind], check: Check, **options: Any) -> None:
    for name in names.split():
        ASYNC_ROWS[name] = Row(name, text, tuple(operands), check, **options)


_row(
    "alloc_barriers",
    "-> barriers, set up before anything uses them",
    (),
    async_rules.check_alloc_barriers,
    is_pure=False,
    attrs={
        "name": maybe(TEXT),
        "arrivals": POSITIVE,
        "init": choice("pending", "ready"),
        "expect_bytes": maybe(POSITIVE),
    },
)
_row(
    "mbarrier_wait",
    "barriers, i32 index, i32 phase ->",
    (BARRIERS, I32_SCALAR, I32_SCALAR),
    rules.check_no_results,
    reads_memory=True,
    **_EFFECT,
)
_row(
    "mbarrier_arrive",
    "barriers, i32 index ->",
    (BARRIERS, I32_SCALAR),
    rules.check_no_results,
    attrs={"arrivals": POSITIVE},
    **_EFFECT,
)
_row(
    "count_fills",
    "barriers ->",
    (BARRIERS,),
    rules.check_no_results,
    attrs={"takes_turns": maybe(FLAG)},
    **_EFFECT,
)
_row("await_fills", "barriers ... ->", (BARRIERS,), rules.check_no_results, variadic=BARRIERS, **_EFFECT)
_row(
    "named_barrier",
    "->",
    (),
    async_rules.check_named_barrier,
    attrs={"number": NATURAL, "threads": POSITIVE, "kind": choice("sync", "arrive")},
    reads_memory=True,
    **_EFFECT,
)
_row("proxy_fence", "->", (), rules.check_no_results, attrs={"space": choice("shared", "global")}, **_EFFECT)
_row(
    "tma_store_wait",
    "->",
    (),
    rules.check_no_results,
    attrs={"kind": choice("read", "all"), "pending": maybe(NATURAL)},
    **_EFFECT,
)
_row(
    "cp_async",
    "tile of global pointers, buffer of its shape [, mask] ->",
    (POINTER, BUFFER),
    async_rules.check_cp_async,
    variadic=BOOLEAN,
    attrs={
        "has_mask": maybe(FLAG),
        "eviction": maybe(TEXT),
        "chunk_bytes": maybe(NATURAL),
        "keeps_pointers": maybe(FLAG),
    },
    reads_memory=True,
    **_EFFECT,
)
_row("cp_async_commit", "->", (), rules.check_no_results, **_EFFECT)
_row(
    "cp_async_wait",
    "->",
    (),
    rules.check_no_results,
    attrs={"pending": choice_of(*range(MOST_PENDING_GROUPS + 1))},
    reads_memory=True,
    **_EFFECT,
)
_row(
    "tensor_map",
    "pointer argument -> tensor map, encoded by the launcher",
    (POINTER,),
    async_rules.check_tensor_map,
    attrs={
        "name": TEXT,
        "offset": TEXT,
        "shape": TEXTS,
        "strides": TEXTS,
        "swizzle_bytes": choice_of(0, 32, 64, 128),
        "padding": choice("zero", "nan"),
    },
)
_row(
    "changed_tensor_map",
    "base, extents, strides but the last [, i32 stage] [, pipes] -> tensor map, made by one thread in memory of its CTA",
    (POINTER,),
    async_rules.check_changed_tensor_map,
    variadic=ANY,
    is_pure=False,
    attrs={
        "name": TEXT,
        "form": TEXT,
        "form_base": TEXT,
        "swizzle_bytes": choice_of(0, 32, 64, 128),
        "padding": choice("zero", "nan"),
        "slots": maybe(POSITIVE),
        "after_stores": maybe(FLAG),
    },
)
_row(
    "tma_load",
    "base, `rank` each of extents, strides, i32 offsets, buffer [, barriers, i32 index] ->",
    (TENSOR,),
    async_rules.check_tensor_copy,
    variadic=ANY,
    attrs={
        **_BOX,
        "padding": choice("zero", "nan"),
        "eviction": maybe(TEXT),
        "multicast": maybe(INTS),
        "along": maybe(INTS),
        "completion": choice("blocking", "barrier", "pipe"),
        "stage_bytes": maybe(NATURAL),
        "adds_bytes": maybe(FLAG),
        "is_promised": maybe(FLAG),
    },
    reads_memory=True,
    **_EFFECT,
)
_row(
    "tma_store",
    "buffer, base, `rank` each of extents, strides, i32 offsets ->",
    (BUFFER, TENSOR),
    async_rules.check_tensor_copy,
    variadic=ANY,
    attrs={**_BOX, "kind": choice(*STORE_KINDS), "is_bulk": maybe(FLAG)},
    reads_memory=True,
    **_EFFECT,
)
_row(
    "pipe",
    "a buffer per field, its leading extent `capacity` -> pipe",
    (BUFFER,),
    async_rules.check_pipe,
    variadic=BUFFER,
    is_pure=False,
    attrs={
        "name": maybe(TEXT),
        "capacity": POSITIVE,
        "fields": TEXTS,
        "readers": TEXTS,
        "one_shot": FLAG,
        "transports": maybe(TEXTS),
        "is_closed": maybe(FLAG),
        "restarts": maybe(FLAG),
        "multicast": maybe(INTS),
        "peers": maybe(TEXTS),
        "is_ring": maybe(FLAG),
        "overlaps": maybe(FLAG),
        "asked": maybe(NATURAL),
        "in_groups": maybe(FLAG),
    },
)
_row(
    "pipe_acquire",
    "pipe, i32 stage, i32 lap -> a slot per field",
    _STAGE,
    async_rules.check_pipe_acquire,
    reads_memory=True,
    **_EFFECT,
)
_row(
    "pipe_commit pipe_close",
    "pipe, i32 stage, i32 lap ->",
    _STAGE,
    rules.check_no_results,
    attrs={"arrivals": maybe(TEXTS)},
    **_EFFECT,
)
_row(
    "pipe_wait",
    "pipe, i32 stage, i32 lap -> bool, a slot per field",
    _STAGE,
    async_rules.check_pipe_wait,
    attrs={**_READER, "pending": maybe(NATURAL)},
    reads_memory=True,
    **_EFFECT,
)
_row(
    "pipe_release",
    "pipe, i32 stage, i32 lap ->",
    _STAGE,
    rules.check_no_results,
    attrs={**_READER, "arrivals": maybe(TEXTS)},
    **_EFFECT,
)
_row(
    "warp_specialize",
    "-> what region 0 yields; a region per partition",
    (),
    async_rules.check_warp_specialize,
    attrs={"warps": INTS, "registers": INTS, "names": TEXTS, "is_automatic": maybe(FLAG)},
    reads_memory=True,
    **_EFFECT,
)

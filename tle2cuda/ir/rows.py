"""The rows of the legality table: kinds, result rules, attributes, regions and purity of every operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.ir import product_rules, rules, tile_rules
from tle2cuda.ir.async_rows import ASYNC_ROWS
from tle2cuda.ir.kinds import (
    ANY,
    ARITHMETIC,
    BARRIERS,
    BITS,
    BOOL_SCALAR,
    BOOLEAN,
    BUFFER,
    BUFFER_OR_POINTER,
    FLAG,
    FLOAT,
    I32_SCALAR,
    INPUT_PRECISIONS,
    INT,
    INT_SCALAR,
    INTEGER,
    INTS,
    NAN,
    NATURAL,
    NUMBER,
    NUMBER_VALUE,
    POINTER,
    POSITIVE,
    PROGRAM_AXIS,
    REDUCE_KINDS,
    ROUNDING,
    SCALAR,
    SCAN_KINDS,
    SCOPE,
    SEM,
    TEXT,
    TILE,
    TILE_OR_BUFFER,
    VALUE,
    Kind,
    choice,
    choice_of,
    maybe,
)
from tle2cuda.ir.row import Check, Row
from tle2cuda.layout import SCALES_OF_STEP

ROWS: dict[str, Row] = {}


def _row(names: str, text: str, operands: Sequence[Kind], check: Check, **options: Any) -> None:
    for name in names.split():
        ROWS[name] = Row(name, text, tuple(operands), check, **options)


_EFFECT: dict[str, Any] = {"is_pure": False, "has_side_effects": True}
_MASK = {"has_mask": maybe(FLAG)}

_row("constant", "value -> scalar or tile", (), rules.check_constant, attrs={"value": NUMBER_VALUE})
_row("arange", "start, end -> i32 tile of rank 1", (), rules.check_arange, attrs={"start": INT, "end": INT})
_row("program_id num_programs", "axis -> i32", (), rules.check_i32, attrs={"axis": PROGRAM_AXIS})
_row("cluster_rank", "-> i32", (), rules.check_i32)
_row(
    "add sub",
    "a, b of one type -> the same",
    (ARITHMETIC,) * 2,
    rules.check_elementwise,
    attrs={"rounding": maybe(ROUNDING)},
)
_row(
    "mul",
    "a, b of one type -> the same",
    (ARITHMETIC,) * 2,
    rules.check_elementwise,
    attrs={"rounding": maybe(ROUNDING), "skips_ones": maybe(FLAG)},
)
_row(
    "div",
    "floats a, b of one type -> the same",
    (FLOAT,) * 2,
    rules.check_elementwise,
    attrs={"rounding": maybe(ROUNDING)},
)
_row("idiv rem mulhi", "integers a, b of one type -> the same", (INTEGER,) * 2, rules.check_elementwise)
_row("and or xor", "integers or bools a, b of one type -> the same", (BITS,) * 2, rules.check_elementwise)
_row("shl shr", "integers a, b of one type -> the same", (INTEGER,) * 2, rules.check_elementwise)
_row("min max", "a, b of one type -> the same", (ARITHMETIC,) * 2, rules.check_elementwise, attrs={"nan": NAN})
_row("fma", "floats a, b, c of one type -> the same", (FLOAT,) * 3, rules.check_elementwise)
_row(
    "cmp",
    "a, b of one type -> bool of their shape",
    (VALUE,) * 2,
    rules.check_compare,
    attrs={"predicate": choice("eq", "ne", "lt", "le", "gt", "ge")},
)
_row(
    "fits",
    "integers a, b of one type of at most 32 bits -> bool of their shape: whether their sum, ... fits in it",
    (INTEGER,) * 2,
    rules.check_fits,
    attrs={"fn": choice("add", "sub", "mul")},
)
_row("select", "bool, a, b -> type of a and b; one shape", (BOOLEAN, VALUE, VALUE), rules.check_select)
_row("math", "float (abs: any number) -> the same", (ARITHMETIC,), rules.check_math, attrs={"fn": TEXT})
_row(
    "libdevice",
    "numbers, one per argument of `fn` -> number; one shape",
    (NUMBER,),
    rules.check_libdevice,
    variadic=NUMBER,
    attrs={"fn": TEXT},
)
_row(
    "philox",
    "four words of a counter, two of a key, all u32 or u64 -> word `word` of four random ones",
    (INTEGER,) * 6,
    rules.check_philox,
    attrs={"rounds": NATURAL, "word": choice_of(0, 1, 2, 3)},
)
_row(
    "asm",
    "values of one shape -> value of that shape",
    (VALUE,),
    rules.check_asm,
    variadic=VALUE,
    attrs={"asm": TEXT, "constraints": TEXT},
)
_row(
    "map",
    "values of one shape -> values of that shape; region on one element of each",
    (VALUE,),
    rules.check_map,
    variadic=VALUE,
    regions=1,
    attrs={"fn": TEXT},
)
_row(
    "asm_block",
    "values of one shape -> values of that shape",
    (),
    rules.check_asm,
    variadic=VALUE,
    attrs={"asm": TEXT, "constraints": TEXT, "pack": POSITIVE, "pure": FLAG},
    reads_memory=True,
    **_EFFECT,
)
_row(
    "cast",
    "number -> number of the same shape",
    (NUMBER,),
    rules.check_cast,
    attrs={"rounding": maybe(choice("rtne", "rtz"))},
)
_row("bitcast", "value -> value of the same shape and width", (VALUE,), rules.check_bitcast)
_row(
    "ptr_add",
    "pointer, integer offset of the same shape -> the same pointer type",
    (POINTER, INTEGER),
    rules.check_ptr_add,
)
_row("splat", "scalar -> tile of it", (SCALAR,), rules.check_splat)
_row("broadcast", "tile -> tile of equal rank, 1-extents stretched", (TILE,), rules.check_broadcast)
_row(
    "expand_dims",
    "tile -> tile with an extent 1 at axis",
    (TILE,),
    rules.check_expand_dims,
    attrs={"axis": INT},
)
_row("reshape", "tile -> tile of equal size", (TILE,), rules.check_reshape)
_row("tile_to_scalar", "tile of one element -> its scalar", (TILE,), rules.check_tile_to_scalar)
_row("trans", "tile -> tile with permuted axes", (TILE,), rules.check_trans, attrs={"perm": INTS})
_row(
    "concat",
    "tiles a, b of one type -> the same with twice the extent at axis, a in front",
    (TILE, TILE),
    tile_rules.check_concat,
    attrs={"axis": INT},
)
_row(
    "extract",
    "tile -> its part from start on",
    (TILE,),
    tile_rules.check_extract,
    attrs={"start": INTS},
)
_row("extract_at", "tile, i32 number -> the part of that number", (TILE, I32_SCALAR), tile_rules.check_extract_at)
_row(
    "insert",
    "tile, part, i32 number -> tile with that part replaced",
    (TILE, TILE, I32_SCALAR),
    tile_rules.check_insert,
)
_row("flip", "tile -> the same, axis reversed", (TILE,), tile_rules.check_flip, attrs={"axis": INT})
_row("gather", "tile, integer tile -> tile of its shape", (TILE, TILE), tile_rules.check_gather, attrs={"axis": INT})
_row(
    "sort",
    "tile of numbers -> its elements along axis in order, or the first of them",
    (TILE,),
    tile_rules.check_sort,
    attrs={"axis": INT, "descending": FLAG, "merge": maybe(FLAG)},
)
_row(
    "reduce",
    "tiles of one shape -> the same without axis",
    (TILE,),
    rules.check_reduce,
    variadic=TILE,
    attrs={"axis": INT, "kind": choice(*REDUCE_KINDS), "nan": NAN, "tie_left": maybe(FLAG), "own": maybe(FLAG)},
)
_row(
    "scan",
    "tiles of one shape -> the same types",
    (TILE,),
    rules.check_scan,
    variadic=TILE,
    attrs={"axis": INT, "reverse": maybe(FLAG), "kind": choice(*SCAN_KINDS), "nan": NAN},
)
_row(
    "exclusive_sum",
    "tile of rank 1 -> the same, scalar",
    (TILE,),
    rules.check_exclusive_sum,
    attrs={"reverse": maybe(FLAG)},
)
_row(
    "dot",
    "a [..., M, K], b [..., K, N], accumulator [..., M, N] [, scales [M, groups], [N, groups]] -> type of the accumulator; "
    "all but this may be buffers",
    (TILE_OR_BUFFER, TILE_OR_BUFFER, TILE),
    product_rules.check_dot,
    variadic=TILE_OR_BUFFER,
    attrs={
        "formats": maybe(choice(*SCALES_OF_STEP)),
        "is_fast": maybe(FLAG),
        "input_precision": choice(*INPUT_PRECISIONS),
        "max_num_imprecise_acc": maybe(INT),
        "instruction": maybe(TEXT),
        "may_overlap": maybe(FLAG),
        "holds_copies": maybe(FLAG),
        "pending": maybe(NATURAL),
    },
)
_row(
    "tensor_alloc",
    "-> buffer in tensor memory",
    (),
    product_rules.check_tensor_alloc,
    is_pure=False,
    attrs={"name": maybe(TEXT), "column": NATURAL, "columns": POSITIVE, "scratch": maybe(FLAG)},
)
_row(
    "tensor_product",
    "a [..., M, K], b [..., K, N], sums [..., M, N] in tensor memory, whether to add, a barrier "
    "[, scales of a, of b, columns for them] ->",
    (BUFFER, BUFFER, BUFFER, BOOL_SCALAR, BARRIERS),
    product_rules.check_tensor_product,
    variadic=BUFFER,
    attrs={
        "input_precision": choice(*INPUT_PRECISIONS),
        "instruction": TEXT,
        "pending": maybe(NATURAL),
        "formats": maybe(choice(*SCALES_OF_STEP)),
    },
    **_EFFECT,
)
_row(
    "tensor_wait",
    "barriers of a product ->",
    (BARRIERS,),
    product_rules.check_tensor_wait,
    **_EFFECT,
)
_row(
    "tensor_load",
    "sums [..., M, N] in tensor memory [, whether there are any] -> tile",
    (BUFFER,),
    product_rules.check_tensor_load,
    variadic=BOOL_SCALAR,
    is_pure=False,
    reads_memory=True,
)
_row(
    "wgmma",
    "a [M, K], b [K, N], accumulator [M, N] -> type of the accumulator, in flight; b a buffer, a maybe",
    (TILE_OR_BUFFER, BUFFER, TILE),
    product_rules.check_wgmma,
    attrs={
        "trans_a": FLAG,
        "trans_b": FLAG,
        "input_precision": choice(*INPUT_PRECISIONS),
        "max_num_imprecise_acc": maybe(INT),
        "instruction": maybe(TEXT),
    },
    reads_memory=True,
    **_EFFECT,
)
_row(
    "wgmma_wait",
    "product -> the same; at most `pending` groups of products are in flight behind it",
    (TILE,),
    product_rules.check_wgmma_wait,
    attrs={"pending": NATURAL},
    reads_memory=True,
    **_EFFECT,
)
_row("to_shared", "tile, buffer of its shape -> ; fills the buffer", (TILE, BUFFER), rules.check_to_shared, **_EFFECT)
_row(
    "histogram",
    "integer tile of rank 1 [, mask] -> i32 tile of `bins`",
    (TILE,),
    rules.check_histogram,
    variadic=TILE,
    attrs={"bins": POSITIVE, **_MASK},
)
_row(
    "load",
    "pointer [, mask [, other]] -> pointee of the same shape",
    (POINTER,),
    rules.check_load,
    variadic=VALUE,
    attrs={
        **_MASK,
        "has_other": maybe(FLAG),
        "cache": maybe(TEXT),
        "eviction": maybe(TEXT),
        "volatile": maybe(FLAG),
        "is_async": maybe(FLAG),
    },
    is_pure=False,
    reads_memory=True,
)
_row(
    "store",
    "pointer, pointee of the same shape [, mask] ->",
    (POINTER, VALUE),
    rules.check_store,
    variadic=BOOLEAN,
    attrs={**_MASK, "cache": maybe(TEXT), "eviction": maybe(TEXT), "is_copy": maybe(FLAG)},
    **_EFFECT,
)
_row(
    "atomic_rmw",
    "pointer, pointee of the same shape [, mask] -> pointee",
    (POINTER, NUMBER),
    rules.check_atomic_rmw,
    variadic=BOOLEAN,
    reads_memory=True,
    **_EFFECT,
    attrs={
        **_MASK,
        "kind": choice("add", "and", "or", "xor", "max", "min", "xchg"),
        "sem": SEM,
        "scope": SCOPE,
    },
)
_row(
    "atomic_cas",
    "pointer, expected, value of the same shape -> pointee",
    (POINTER, NUMBER, NUMBER),
    rules.check_atomic_cas,
    attrs={"sem": SEM, "scope": SCOPE},
    reads_memory=True,
    **_EFFECT,
)
_row(
    "alloc",
    "-> buffer",
    (),
    rules.check_alloc,
    is_pure=False,
    attrs={
        "name": maybe(TEXT),
        "alignment_bytes": maybe(POSITIVE),
        "swizzle_bytes": maybe(choice_of(32, 64, 128)),
        "zero": maybe(FLAG),
        "scratch": maybe(FLAG),
        "is_kept": maybe(FLAG),
        "is_ring": maybe(FLAG),
        "staging": maybe(FLAG),
        "offsets_elems": maybe(INTS),
    },
)
_row(
    "buffer_view",
    "buffer [, i32 index] -> buffer on the same bytes",
    (BUFFER,),
    rules.check_buffer_view,
    variadic=I32_SCALAR,
    attrs={
        "kind": choice("slot", "subslice", "reshape", "alias", "trans"),
        "perm": maybe(INTS),
        "start": maybe(INT),
        "dim": maybe(INT),
        "offset_bytes": maybe(INT),
    },
)
_row(
    "local_ptr",
    "buffer, integer index per dimension or none -> pointer",
    (BUFFER,),
    rules.check_local_ptr,
    variadic=INTEGER,
)
_row(
    "remote",
    "buffer or shared pointer, i32 rank -> the same in that CTA",
    (BUFFER_OR_POINTER, I32_SCALAR),
    rules.check_remote,
)
_row(
    "grid_dependency",
    "->",
    (),
    rules.check_no_results,
    attrs={"kind": choice("wait", "launch_dependents")},
    reads_memory=True,
    **_EFFECT,
)
_row("barrier grid_barrier", "->", (), rules.check_no_results, attrs={"reason": maybe(TEXT)}, **_EFFECT)
_row(
    "cluster_barrier",
    "->",
    (),
    rules.check_no_results,
    attrs={"members": maybe(INTS), "reason": maybe(TEXT)},
    **_EFFECT,
)
_row(
    "print",
    "values ->",
    (),
    rules.check_no_results,
    variadic=VALUE,
    attrs={"prefix": maybe(TEXT), "hex": maybe(FLAG)},
    **_EFFECT,
)
_row(
    "assert",
    "bool [, mask] ->",
    (BOOLEAN,),
    rules.check_assert,
    variadic=BOOLEAN,
    attrs={"message": maybe(TEXT)},
    **_EFFECT,
)
_row("assume", "bool scalar ->", (BOOL_SCALAR,), rules.check_no_results, **_EFFECT)
_row(
    "hint",
    "x -> x",
    (VALUE,),
    rules.check_same_but_layout,
    attrs={name: maybe(INTS) for name in ("divisibility", "contiguity", "constancy")},
)
_row(
    "tensor_tile",
    "loaded tile, base, `rank` each of extents, strides, i32 offsets -> the tile",
    (TILE, POINTER),
    rules.check_tensor_tile,
    variadic=INTEGER,
    attrs={"rank": POSITIVE, "padding": choice("zero", "nan"), "eviction": maybe(TEXT), "is_promised": maybe(FLAG)},
)
_row(
    "for",
    "lower, upper, step, inits -> carried; region (induction, carried) yields carried",
    (INT_SCALAR,) * 3,
    rules.check_for,
    variadic=ANY,
    regions=1,
)
_row(
    "while",
    "inits -> results; regions before (ends in condition), body",
    (),
    rules.check_while,
    variadic=ANY,
    regions=2,
)
_row(
    "if",
    "bool scalar -> results; regions then, else yield them",
    (BOOL_SCALAR,),
    rules.check_if,
    regions=2,
    attrs={"is_guard": maybe(FLAG), "is_substitute": maybe(FLAG)},
)
_row("yield", "values ->", (), rules.check_no_results, variadic=ANY)
_row("condition", "bool scalar, values ->", (BOOL_SCALAR,), rules.check_no_results, variadic=ANY)
_row("convert_layout", "tile -> tile with another layout", (TILE,), rules.check_same_but_layout)
_row("fused", "-> values of its region", (), rules.check_fused, regions=1)
ROWS.update(ASYNC_ROWS)

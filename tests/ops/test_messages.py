"""Messages of the language functions, verbatim."""

from __future__ import annotations

import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import CompilationError, KernelError
from tle2cuda.language import tle

F32, I32, I1 = tl.float32, tl.int32, tl.int1


def _block_pointer(trace, dtype=F32):
    return tl.make_block_ptr(trace.pointer(dtype), (8, 8), (8, 1), (0, 0), (8, 8), (1, 0))


def _descriptor(trace, rows=8):
    return tl.make_tensor_descriptor(trace.pointer(F32), [8, 8], [8, 1], [rows, 8])


def _scaled(trace, lhs_scale=None, lhs_format="e4m3", rhs_format="e5m2", **options):
    a, b = trace.symbol(tl.uint8, (32, 64)), trace.symbol(tl.uint8, (64, 16))
    return tl.dot_scaled(a, lhs_scale, lhs_format, b, None, rhs_format, **options)


CASES = {
    # matrix products
    "dot_of_pointers": (
        lambda t: tl.dot(t.pointer(F32, (16, 16)), t.symbol(F32, (16, 16))),
        TypeError,
        "tl.dot: input must be a tile of numbers, got tile *fp32[16, 16]",
    ),
    "dot_of_scalar": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), 1.0),
        TypeError,
        "tl.dot: other must be a tile of numbers, got 1.0",
    ),
    "dot_dtype": (
        lambda t: tl.dot(t.symbol(I32, (16, 16)), t.symbol(I32, (16, 16))),
        TypeError,
        "tl.dot: input is int32, which has no matrix product",
    ),
    "dot_unsigned_bytes": (
        lambda t: tl.dot(t.symbol(tl.int8, (16, 32)), t.symbol(tl.uint8, (32, 16))),
        TypeError,
        "tl.dot: other is uint8, which has no matrix product",
    ),
    "dot_mixed": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(tl.float16, (16, 16))),
        TypeError,
        "tl.dot: both operands must have one dtype, got float32 and float16",
    ),
    "dot_ranks": (
        lambda t: tl.dot(t.symbol(F32, (2, 16, 16)), t.symbol(F32, (16, 16))),
        ValueError,
        "tl.dot: both operands must have one rank, 2 or more, got 3 and 2",
    ),
    "dot_batches": (
        lambda t: tl.dot(t.symbol(F32, (2, 16, 16)), t.symbol(F32, (4, 16, 16))),
        ValueError,
        "tl.dot: batch axes differ: [2] and [4]",
    ),
    "dot_inner": (
        lambda t: tl.dot(t.symbol(F32, (16, 64)), t.symbol(F32, (32, 16))),
        ValueError,
        "tl.dot: inner dimensions differ: K = 64 in `input`, K = 32 in `other`",
    ),
    "dot_short": (
        lambda t: tl.dot(t.symbol(F32, (16, 8)), t.symbol(F32, (8, 16))),
        ValueError,
        "tl.dot: K = 8 is too small, float32 needs at least 16",
    ),
    "dot_short_bytes": (
        lambda t: tl.dot(t.symbol(tl.float8e5, (16, 16)), t.symbol(tl.float8e5, (16, 16))),
        ValueError,
        "tl.dot: K = 16 is too small, float8e5 needs at least 32",
    ),
    "dot_precisions": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(F32, (16, 16)), allow_tf32=True, input_precision="ieee"),
        ValueError,
        "tl.dot: only one of input_precision and allow_tf32 can be given",
    ),
    "dot_precision": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(F32, (16, 16)), input_precision="tf16"),
        ValueError,
        "tl.dot: input_precision must be one of 'tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6', got 'tf16'",
    ),
    "dot_to_bfloat16": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(F32, (16, 16)), out_dtype=tl.bfloat16),
        TypeError,
        "tl.dot: out_dtype=bfloat16 is unsupported",
    ),
    "dot_imprecise": (
        lambda t: tl.dot(t.symbol(tl.float8e5, (16, 32)), t.symbol(tl.float8e5, (32, 16)), max_num_imprecise_acc=64),
        ValueError,
        "tl.dot: max_num_imprecise_acc (64) must be at most K (32)",
    ),
    "dot_acc_shape": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(F32, (16, 16)), t.symbol(F32, (16, 32))),
        ValueError,
        "tl.dot: acc has shape [16, 32], the product has [16, 16]",
    ),
    "dot_acc_dtype": (
        lambda t: tl.dot(t.symbol(tl.float16, (16, 16)), t.symbol(tl.float16, (16, 16)), t.symbol(tl.float16, (16, 16))),
        TypeError,
        "tl.dot: acc is float16, the product is float32",
    ),
    "dot_acc_number": (
        lambda t: tl.dot(t.symbol(F32, (16, 16)), t.symbol(F32, (16, 16)), 0.0),
        TypeError,
        "tl.dot: acc must be a tile, got 0.0",
    ),
    # operators
    "pointer_plus_pointer": (
        lambda t: t.pointer(F32) + t.pointer(F32),
        TypeError,
        "`+`: pointers cannot be combined with pointers",
    ),
    "pointer_plus_float": (
        lambda t: t.pointer(F32) + 1.5,
        TypeError,
        "`+`: a pointer moves by whole elements, got scalar fp32",
    ),
    "pointer_times": (lambda t: t.pointer(F32) * 2, TypeError, "`*` does not take pointers, got pointer *fp32"),
    "and_float": (
        lambda t: t.symbol(F32, (4,)) & 1,
        TypeError,
        "`&` takes integers or bool, got tile fp32[4] and 1",
    ),
    "floordiv_float": (
        lambda t: t.symbol(F32) // 2,
        TypeError,
        "`//` takes integers, got scalar fp32 and 2",
    ),
    "invert_float": (lambda t: ~t.symbol(F32), TypeError, "`~` takes integers or bool, got scalar fp32"),
    "pow": (lambda t: t.symbol(F32) ** 2, TypeError, "`**` is not defined for run-time values"),
    "mixed_mod": (
        lambda t: t.symbol(I32) % t.symbol(tl.uint32),
        TypeError,
        "`%`: int32 and uint32 differ in signedness",
    ),
    "string_operand": (
        lambda t: t.symbol(I32) + "x",
        TypeError,
        "expected a tile, a scalar or a number, got 'x'",
    ),
    "truth": (
        lambda t: bool(t.symbol(I1)),
        ValueError,
        "a run-time value (scalar i1) cannot decide anything while the kernel is compiled",
    ),
    "not_int": (
        lambda t: tl.logical_not(t.symbol(I32)),
        TypeError,
        "`not`: the operand must be bool (int1), got scalar i32",
    ),
    # functions of arithmetic
    "clamp_int": (
        lambda t: tl.clamp(t.symbol(I32), 0, 1),
        TypeError,
        "tl.clamp takes floats, got scalar i32",
    ),
    "fma_int": (lambda t: tl.fma(t.symbol(I32), 1, 2), TypeError, "tl.fma takes floats, got scalar i32, 1, 2"),
    "fdiv_int": (lambda t: tl.fdiv(t.symbol(I32), 2), TypeError, "tl.fdiv takes floats, got scalar i32 and 2"),
    "div_rn_f64": (
        lambda t: tl.div_rn(t.symbol(tl.float64), 2.0),
        TypeError,
        "tl.div_rn takes float32, got scalar fp64 and 2.0",
    ),
    "where_pointers": (
        lambda t: tl.where(t.symbol(I1), t.pointer(F32), t.pointer(I32)),
        TypeError,
        "tl.where: pointer *fp32 and pointer *i32 are different types",
    ),
    "propagate_nan": (
        lambda t: tl.maximum(t.symbol(F32), 0.0, propagate_nan=3),
        ValueError,
        "tl.maximum: propagate_nan must be a tl.PropagateNan, got 3",
    ),
    # creation
    "arange_runtime": (
        lambda t: tl.arange(0, t.symbol(I32, (), "n")),
        ValueError,
        "tl.arange: end must be known at compile time, got a run-time value (scalar i32)",
    ),
    "arange_length": (
        lambda t: tl.arange(0, 100),
        ValueError,
        "tl.arange: the length must be a power of two, got 100 - 0 = 100",
    ),
    "arange_order": (
        lambda t: tl.arange(4, 4),
        ValueError,
        "tl.arange: end must be greater than start, got start 4 and end 4",
    ),
    "zeros_shape": (
        lambda t: tl.zeros((3, 4), F32),
        ValueError,
        "tl.zeros: shape: extent 0 of [3, 4] is 3, not a power of two",
    ),
    "zeros_too_large": (
        lambda t: tl.zeros((1 << 21,), F32),
        ValueError,
        "tl.zeros: shape: a tile of shape [2097152] has 2097152 elements, the limit is 1048576",
    ),
    "full_tile": (
        lambda t: tl.full((4,), tl.arange(0, 4), I32),
        TypeError,
        "tl.full: value must be a scalar, got tile i32[4]",
    ),
    "bad_dtype": (
        lambda t: tl.zeros((4,), "fp32"),
        TypeError,
        "tl.zeros: expected a dtype such as tl.float32, got 'fp32'",
    ),
    "program_axis": (lambda t: tl.program_id(3), ValueError, "tl.program_id: axis must be 0, 1 or 2, got 3"),
    # casts
    "bitcast_width": (
        lambda t: t.symbol(F32).to(tl.int16, bitcast=True),
        TypeError,
        "tl.cast: a bitcast keeps the width, but float32 has 32 bits and int16 16",
    ),
    "cast_pointer": (
        lambda t: t.pointer(F32).to(F32),
        TypeError,
        "cast: pointer *fp32 cannot be converted to float32",
    ),
    "rounding_kind": (
        lambda t: t.symbol(F32).to(tl.float16, fp_downcast_rounding="rn"),
        ValueError,
        "tl.cast: fp_downcast_rounding must be 'rtne' or 'rtz', got 'rn'",
    ),
    "rounding_widening": (
        lambda t: t.symbol(I32).to(F32, fp_downcast_rounding="rtz"),
        ValueError,
        "tl.cast: fp_downcast_rounding applies only from a float to a narrower float, not from int32 to float32",
    ),
    # math
    "exp_half": (
        lambda t: tl.exp(t.symbol(tl.float16, (4,))),
        TypeError,
        "tl.exp takes float32 or float64, got tile fp16[4]",
    ),
    # shape
    "reshape": (
        lambda t: tl.reshape(t.symbol(F32, (4,)), (8,)),
        ValueError,
        "tl.reshape: [4] has 4 elements, [8] has 8",
    ),
    "broadcast_rank": (
        lambda t: tl.broadcast_to(t.symbol(F32, (4,)), (2, 4)),
        ValueError,
        "tl.broadcast_to: a tile of rank 1 cannot take the shape [2, 4] of rank 2",
    ),
    "broadcast_extent": (
        lambda t: tl.broadcast_to(t.symbol(F32, (4,)), (8,)),
        ValueError,
        "tl.broadcast_to: [4] does not stretch to [8]",
    ),
    "trans_rank": (
        lambda t: tl.trans(t.symbol(F32, (4,))),
        ValueError,
        "tl.trans: rank 2 or more is needed, got tile fp32[4]",
    ),
    "permute": (
        lambda t: tl.permute(t.symbol(F32, (4, 4)), 0, 0),
        ValueError,
        "tl.permute: (0, 0) is no permutation of the axes 0 to 1",
    ),
    "index_int": (
        lambda t: t.symbol(F32, (4,))[0],
        TypeError,
        "a tile is indexed with None and `:` only, got 0",
    ),
    "index_rank": (lambda t: t.symbol(F32, (4,))[:, :], ValueError, "2 `:` for a tile of rank 1"),
    "expand_axis": (
        lambda t: tl.expand_dims(t.symbol(F32, (4,)), 3),
        ValueError,
        "tl.expand_dims: axis 3 does not exist, the tile has rank 2",
    ),
    # reductions
    "sum_axis": (
        lambda t: tl.sum(t.symbol(F32, (4,)), 1),
        ValueError,
        "tl.sum: axis 1 does not exist, the tile has rank 1",
    ),
    "sum_scalar": (lambda t: tl.sum(t.symbol(F32), 0), TypeError, "tl.sum takes tiles, got scalar fp32"),
    "xor_float": (
        lambda t: tl.xor_sum(t.symbol(F32, (4,)), 0),
        TypeError,
        "tl.xor_sum takes integers or bool, got tile fp32[4]",
    ),
    "reduce_shapes": (
        lambda t: tl.reduce((t.symbol(F32, (4,)), t.symbol(F32, (8,))), 0, lambda a, b, c, d: (a, b)),
        ValueError,
        "tl.reduce: the tiles differ in shape, [4] and [8]",
    ),
    "reduce_count": (
        lambda t: tl.reduce(t.symbol(F32, (4,)), 0, lambda a, b: (a, b)),
        TypeError,
        "tl.reduce: the combine function must return 1 value(s), it returned 2",
    ),
    "reduce_dtype": (
        lambda t: tl.reduce(t.symbol(F32, (4,)), 0, lambda a, b: a.to(I32)),
        TypeError,
        "tl.reduce: the combine function must return float32 scalars as it is given, it returned scalar i32",
    ),
    "tle_cumsum_rank": (
        lambda t: tle.cumsum(t.symbol(F32, (4, 4))),
        ValueError,
        "tle.cumsum takes a rank-1 tile, got tile fp32[4, 4]",
    ),
    "tle_cumsum_axis": (
        lambda t: tle.cumsum(t.symbol(F32, (4,)), axis=1),
        ValueError,
        "tle.cumsum: only axis=0 is possible for a rank-1 tile, got axis=1",
    ),
    "histogram_float": (
        lambda t: tl.histogram(t.symbol(F32, (4,)), 4),
        TypeError,
        "tl.histogram takes integers, got tile fp32[4]",
    ),
    "histogram_bins": (
        lambda t: tl.histogram(t.symbol(I32, (8,)), 7),
        ValueError,
        "tl.histogram: num_bins: extent 0 of [7] is 7, not a power of two",
    ),
    "rand_seed": (
        lambda t: tl.rand(0.5, t.symbol(I32, (8,))),
        TypeError,
        "tl.philox: the seed must be an integer, got scalar fp32",
    ),
    "philox_counters": (
        lambda t: tl.philox(1, t.symbol(tl.int16, (8,)), 0, 0, 0),
        TypeError,
        "tl.philox: counters have 32 or 64 bits, got tile i16[8]",
    ),
    "histogram_mask": (
        lambda t: tl.histogram(t.symbol(I32, (4,)), 4, mask=t.symbol(I1, (8,))),
        ValueError,
        "tl.histogram: the mask of shape [8] does not fit [4]",
    ),
    # memory
    "load_no_pointer": (
        lambda t: tl.load(t.symbol(F32)),
        TypeError,
        "tl.load takes a pointer or a tile of pointers, got scalar fp32",
    ),
    "other_without_mask": (
        lambda t: tl.load(t.pointer(F32), other=0.0),
        ValueError,
        "tl.load: other is given without mask",
    ),
    "mask_dtype": (
        lambda t: tl.load(t.pointer(F32, (4,)), mask=t.symbol(I32, (4,))),
        TypeError,
        "tl.load: the mask must be bool (int1), got tile i32[4]",
    ),
    "mask_shape": (
        lambda t: tl.load(t.pointer(F32, (4,)), mask=t.symbol(I1, (8,))),
        ValueError,
        "tl.load: the mask of shape [8] does not fit pointers [4]",
    ),
    "scalar_pointer_mask": (
        lambda t: tl.load(t.pointer(F32), mask=t.symbol(I1, (8,))),
        ValueError,
        "tl.load: the mask must be a scalar, as the pointer is, got tile i1[8]",
    ),
    "store_tile_to_scalar": (
        lambda t: tl.store(t.pointer(F32), t.symbol(F32, (4,))),
        ValueError,
        "tl.store: value must be a scalar, as the pointer is, got tile fp32[4]",
    ),
    "store_shape": (
        lambda t: tl.store(t.pointer(F32, (4,)), t.symbol(F32, (8,))),
        ValueError,
        "tl.store: value of shape [8] does not fit pointers [4]",
    ),
    "cache": (
        lambda t: tl.load(t.pointer(F32), cache_modifier=".wb"),
        ValueError,
        "tl.load: cache_modifier must be one of '', '.ca', '.cg', '.cs', '.cv', got '.wb'",
    ),
    "eviction": (
        lambda t: tl.store(t.pointer(F32), 0.0, eviction_policy="now"),
        ValueError,
        "tl.store: eviction_policy must be one of '', 'evict_first', 'evict_last', got 'now'",
    ),
    "block_pointer": (
        lambda t: tl.load(t.pointer(F32), boundary_check=(0,)),
        ValueError,
        "tl.load: boundary_check belongs to block pointers, this is a tile of pointers or a scalar",
    ),
    "block_pointer_padding": (
        lambda t: tl.load(t.pointer(F32, (8,)), padding_option="zero"),
        ValueError,
        "tl.load: padding_option belongs to block pointers, this is a tile of pointers or a scalar",
    ),
    "block_pointer_store": (
        lambda t: tl.store(t.pointer(F32), 1.0, boundary_check=(0,)),
        ValueError,
        "tl.store: boundary_check belongs to block pointers, this is a tile of pointers or a scalar",
    ),
    "block_pointer_base": (
        lambda t: tl.make_block_ptr(t.pointer(F32, (8,)), (8,), (1,), (0,), (8,), (0,)),
        TypeError,
        "tl.make_block_ptr: base must be a pointer, got tile *fp32[8]",
    ),
    "block_pointer_lengths": (
        lambda t: tl.make_block_ptr(t.pointer(F32), (8, 8), (8, 1), (0,), (8, 8), (1, 0)),
        ValueError,
        "tl.make_block_ptr: one entry a dimension is needed: shape has 2, strides has 2, offsets has 1, block_shape has 2",
    ),
    "block_pointer_order": (
        lambda t: tl.make_block_ptr(t.pointer(F32), (8, 8), (8, 1), (0, 0), (8, 8), (1, 1)),
        ValueError,
        "tl.make_block_ptr: order must be a permutation of the dimensions 0 to 1, got [1, 1]",
    ),
    "block_pointer_wide_offset": (
        lambda t: tl.make_block_ptr(t.pointer(F32), (8,), (1,), (t.symbol(tl.int64),), (8,), (0,)),
        TypeError,
        "tl.make_block_ptr: offsets[0] must have 32 bits, got scalar i64",
    ),
    "block_pointer_float_offset": (
        lambda t: tl.make_block_ptr(t.pointer(F32), (8,), (1,), (t.symbol(F32),), (8,), (0,)),
        TypeError,
        "tl.make_block_ptr: offsets[0] must be an integer, got scalar fp32",
    ),
    "advance_pointer": (
        lambda t: tl.advance(t.pointer(F32), (1,)),
        TypeError,
        "tl.advance takes a block pointer, got pointer *fp32",
    ),
    "advance_length": (
        lambda t: tl.advance(_block_pointer(t), (1,)),
        ValueError,
        "tl.advance: one entry a dimension is needed: base has 2, offsets has 1",
    ),
    "block_pointer_mask": (
        lambda t: tl.load(_block_pointer(t), mask=True),
        ValueError,
        "tl.load: mask cannot be given for a block pointer",
    ),
    "block_pointer_atomic": (
        lambda t: tl.atomic_add(_block_pointer(t), 1.0),
        TypeError,
        "tl.atomic_add takes a pointer or a tile of pointers, got block pointer to fp32[8, 8]",
    ),
    "block_pointer_axis": (
        lambda t: tl.load(_block_pointer(t), boundary_check=(2,)),
        ValueError,
        "tl.load: boundary_check lists dimension 2, the tile has rank 2",
    ),
    "block_pointer_axis_twice": (
        lambda t: tl.load(_block_pointer(t), boundary_check=(0, 0)),
        ValueError,
        "tl.load: boundary_check lists a dimension twice: [0, 0]",
    ),
    "block_pointer_padding_unknown": (
        lambda t: tl.load(_block_pointer(t), padding_option="one"),
        ValueError,
        "tl.load: padding_option must be one of '', 'zero', 'nan', got 'one'",
    ),
    "block_pointer_nan": (
        lambda t: tl.load(_block_pointer(t, I32), boundary_check=(0,), padding_option="nan"),
        ValueError,
        "tl.load: padding_option 'nan' is for floats, the elements are int32",
    ),
    "block_pointer_value_shape": (
        lambda t: tl.store(_block_pointer(t), t.symbol(F32, (8, 4))),
        ValueError,
        "tl.store: value of shape [8, 4] does not fit the block pointer's [8, 8]",
    ),
    "block_pointer_value_dtype": (
        lambda t: tl.store(_block_pointer(t), t.symbol(tl.float16, (8, 8))),
        TypeError,
        "tl.store: the block pointer points to float32, the value is float16",
    ),
    # microscaled products
    "scaled_format": (
        lambda t: _scaled(t, lhs_format="e3m2"),
        ValueError,
        "tl.dot_scaled: lhs_format must be one of 'e2m1', 'e4m3', 'e5m2', 'bf16', 'fp16', got 'e3m2'",
    ),
    "scaled_dtype": (
        lambda t: _scaled(t, lhs_format="bf16"),
        TypeError,
        "tl.dot_scaled: lhs of the format bf16 must be bfloat16, got uint8",
    ),
    "scaled_packing": (
        lambda t: _scaled(t, lhs_k_pack=False),
        ValueError,
        "tl.dot_scaled: lhs_k_pack=False is for e2m1, lhs has the format e4m3",
    ),
    "scaled_inner": (
        lambda t: _scaled(t, rhs_format="e2m1"),
        ValueError,
        "tl.dot_scaled: inner dimensions differ: K = 64 in `lhs`, K = 128 in `rhs`",
    ),
    "scaled_scale_shape": (
        lambda t: _scaled(t, lhs_scale=t.symbol(tl.uint8, (32, 4))),
        ValueError,
        "tl.dot_scaled: lhs_scale must have shape [32, 2], got [32, 4]",
    ),
    "scaled_scale_dtype": (
        lambda t: _scaled(t, lhs_scale=t.symbol(F32, (32, 2))),
        TypeError,
        "tl.dot_scaled: lhs_scale must be a tile of uint8 or float8e4nv, got tile fp32[32, 2]",
    ),
    "scaled_result": (
        lambda t: _scaled(t, out_dtype=tl.float16),
        ValueError,
        "tl.dot_scaled: out_dtype must be tl.float32",
    ),
    "scaled_ranks": (
        lambda t: tl.dot_scaled(t.symbol(tl.uint8, (2, 8, 64)), None, "e4m3", t.symbol(tl.uint8, (64, 8)), None, "e4m3"),
        ValueError,
        "tl.dot_scaled: both operands must have rank 2 or 3, got [2, 8, 64] and [64, 8]",
    ),
    # tensor descriptors
    "descriptor_stride": (
        lambda t: tl.make_tensor_descriptor(t.pointer(F32), [8, 8], [8, 2], [8, 8]),
        ValueError,
        "tl.make_tensor_descriptor: the last stride must be the constant 1, got 2",
    ),
    "descriptor_run_time_stride": (
        lambda t: tl.make_tensor_descriptor(t.pointer(F32), [8], [t.symbol(I32)], [8]),
        ValueError,
        "tl.make_tensor_descriptor: the last stride must be the constant 1, got scalar i32",
    ),
    "descriptor_rows": (
        lambda t: tl.make_tensor_descriptor(t.pointer(F32), [8, 8], [8, 1], [8, 2]),
        ValueError,
        "tl.make_tensor_descriptor: the last dimension of block_shape must have at least 16 bytes, got 2 * 4 = 8 bytes",
    ),
    "descriptor_rank": (
        lambda t: tl.make_tensor_descriptor(t.pointer(F32), [8] * 6, [8] * 5 + [1], [8] * 6),
        ValueError,
        "tl.make_tensor_descriptor: a tensor has 1 to 5 dimensions, not 6",
    ),
    "descriptor_nan": (
        lambda t: tl.make_tensor_descriptor(t.pointer(I32), [8], [1], [8], padding_option="nan"),
        ValueError,
        "tl.make_tensor_descriptor: padding_option 'nan' is for floats, the elements are int32",
    ),
    "descriptor_offsets": (
        lambda t: _descriptor(t).load([0]),
        ValueError,
        "tl.load_tensor_descriptor: expected 2 offsets, got 1",
    ),
    "descriptor_value": (
        lambda t: _descriptor(t).store([0, 0], 1.0),
        TypeError,
        "store of a tensor descriptor takes a tile, got 1.0",
    ),
    "descriptor_value_shape": (
        lambda t: _descriptor(t).store([0, 0], t.symbol(F32, (8, 4))),
        ValueError,
        "store of a tensor descriptor: the value's shape [8, 4] is not the descriptor's [8, 8]",
    ),
    "descriptor_atomic": (
        lambda t: _descriptor(t).atomic_xor([0, 0], t.symbol(F32, (8, 8))),
        TypeError,
        "atomic_xor of a tensor descriptor works on int32, uint32, int64, uint64, not on float32",
    ),
    "descriptor_gather": (
        lambda t: _descriptor(t).gather(t.symbol(I32, (8,)), 0),
        ValueError,
        "gather of a tensor descriptor needs tiles of one row and rank 2, the descriptor's are [8, 8]",
    ),
    "descriptor_gather_few": (
        lambda t: _descriptor(t, 1).gather(t.symbol(I32, (4,)), 0),
        ValueError,
        "gather of a tensor descriptor takes at least 8 rows, got 4",
    ),
    "descriptor_gather_offsets": (
        lambda t: _descriptor(t, 1).gather(0, 0),
        TypeError,
        "gather of a tensor descriptor: x_offsets must be a tile of integers of rank 1, got 0",
    ),
    "load_descriptor_of_pointer": (
        lambda t: tl.load_tensor_descriptor(t.pointer(F32), [0]),
        TypeError,
        "tl.load_tensor_descriptor takes a tensor descriptor, got pointer *fp32",
    ),
    # atomics
    "atomic_dtype": (
        lambda t: tl.atomic_add(t.pointer(tl.int8), 1),
        TypeError,
        "tl.atomic_add works on float16, bfloat16, float32, float64, int32, uint32, int64, uint64, not on int8",
    ),
    "atomic_or_float": (
        lambda t: tl.atomic_or(t.pointer(F32), 1),
        TypeError,
        "tl.atomic_or works on int32, uint32, int64, uint64, not on float32",
    ),
    "atomic_sem": (
        lambda t: tl.atomic_add(t.pointer(I32), 1, sem="seq_cst"),
        ValueError,
        "tl.atomic_add: sem must be one of 'acq_rel', 'acquire', 'release', 'relaxed', got 'seq_cst'",
    ),
    "atomic_scope": (
        lambda t: tl.atomic_add(t.pointer(I32), 1, scope="warp"),
        ValueError,
        "tl.atomic_add: scope must be one of 'gpu', 'cta', 'sys', got 'warp'",
    ),
    "cas_width": (
        lambda t: tl.atomic_cas(t.pointer(tl.int8), 0, 1),
        TypeError,
        "tl.atomic_cas works on elements of 16, 32 or 64 bits, not on int8",
    ),
    # debug
    "static_assert": (
        lambda t: tl.static_assert(False, "BLOCK is odd"),
        AssertionError,
        "tl.static_assert failed: BLOCK is odd",
    ),
    "static_assert_runtime": (
        lambda t: tl.static_assert(t.symbol(I1)),
        ValueError,
        "tl.static_assert: the condition must be known at compile time, got a run-time value (scalar i1)",
    ),
    "assume_tile": (
        lambda t: tl.assume(t.symbol(I1, (4,))),
        TypeError,
        "tl.assume takes a scalar condition, got tile i1[4]",
    ),
    "multiple_of_rank": (
        lambda t: tl.multiple_of(t.symbol(I32, (4, 4)), 16),
        ValueError,
        "tl.multiple_of: one value per axis is needed, 2 for tile i32[4, 4], got 1",
    ),
    "print_prefix": (
        lambda t: tl.device_print(3),
        TypeError,
        "tl.device_print: the prefix must be a string, got 3",
    ),
    # joining, splitting, tiles of tiles
    "join_dtypes": (
        lambda t: tl.join(t.symbol(F32, (4,)), t.symbol(I32, (4,))),
        TypeError,
        "tl.join: the tiles hold tile fp32[4] and tile i32[4]",
    ),
    "join_shapes": (
        lambda t: tl.join(t.symbol(F32, (4,)), t.symbol(F32, (8,))),
        ValueError,
        "tl.join: shapes [4] and [8] do not fit together",
    ),
    "split_extent": (
        lambda t: tl.split(t.symbol(F32, (2, 4))),
        ValueError,
        "tl.split: the last extent must be 2, got tile fp32[2, 4]",
    ),
    "split_scalar": (
        lambda t: tl.split(t.symbol(F32)),
        ValueError,
        "tl.split: the last extent must be 2, got scalar fp32",
    ),
    "cat_scalar": (lambda t: tl.cat(t.symbol(F32), 1.0), TypeError, "tl.cat takes tiles, got scalar fp32"),
    "cat_shapes": (
        lambda t: tl.cat(t.symbol(F32, (4,)), t.symbol(F32, (8,))),
        ValueError,
        "tl.cat: the tiles differ in shape, [4] and [8]",
    ),
    "flip_scalar": (lambda t: tl.flip(t.symbol(F32)), TypeError, "tl.flip takes tiles, got scalar fp32"),
    "flip_axis": (
        lambda t: tl.flip(t.symbol(F32, (4,)), 1),
        ValueError,
        "tl.flip: axis 1 does not exist, the tile has rank 1",
    ),
    "swizzle_float": (
        lambda t: tl.swizzle2d(t.symbol(F32), 1, 2, 2, 2),
        TypeError,
        "tl.swizzle2d: i takes integers, got scalar fp32",
    ),
    "extract_buffer": (
        lambda t: tle.extract_tile(t.buffer(F32, (8,)), 0, (4,)),
        ValueError,
        "tle.extract_tile: `x` must be a tensor, got buffer<fp32[8]>",
    ),
    "extract_rank": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), 0, (4,)),
        ValueError,
        "tle.extract_tile: tile_shape [4] of rank 1 for a tile of rank 2",
    ),
    "extract_indivisible": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), 0, (4, 16)),
        ValueError,
        "tle.extract_tile: extent 1 of [8, 8] is 8, not divisible by tile dim 16",
    ),
    "extract_shape": (
        lambda t: tle.extract_tile(t.symbol(F32, (8,)), 0, (t.symbol(I32),)),
        ValueError,
        "tle.extract_tile: tile_shape: extent 0 must be known at compile time, got a run-time value (scalar i32)",
    ),
    "extract_shapes": (
        lambda t: t.symbol(F32, (8,)).extract_tile(0),
        ValueError,
        "tle.extract_tile: give tile_shape or shape, got neither",
    ),
    "extract_bounds": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), (0, 2), (4, 4)),
        ValueError,
        "tle.extract_tile: index 2 of axis 1 is out of bounds for grid size 2",
    ),
    "extract_range": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), 4, (4, 4)),
        ValueError,
        "tle.extract_tile: linear index is 4, out of range [0, 4)",
    ),
    "extract_negative": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), -1, (4, 4)),
        ValueError,
        "tle.extract_tile: linear index must be non-negative and is -1, out of range [0, 4)",
    ),
    "extract_index": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), "left", (4, 4)),
        ValueError,
        "tle.extract_tile: `index` must be a tile number or a coordinate, got 'left'",
    ),
    "extract_float": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), t.symbol(F32), (4, 4)),
        ValueError,
        "tle.extract_tile: `index` must be a scalar integer, got scalar fp32",
    ),
    "extract_coordinate": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), (0, 1.5), (4, 4)),
        ValueError,
        "tle.extract_tile: index 1 must be an integer, got 1.5",
    ),
    "extract_coordinate_rank": (
        lambda t: tle.extract_tile(t.symbol(F32, (8, 8)), (0,), (4, 4)),
        ValueError,
        "tle.extract_tile: index of rank 1 for a tile of rank 2",
    ),
    "insert_scalar": (
        lambda t: tle.insert_tile(t.symbol(F32, (8,)), t.symbol(F32), 0),
        ValueError,
        "tle.insert_tile: `tile` must be a tile, got scalar fp32",
    ),
    "insert_rank": (
        lambda t: tle.insert_tile(t.symbol(F32, (8, 8)), t.symbol(F32, (4,)), 0),
        ValueError,
        "tle.insert_tile: rank 2 of `x` must match tile rank 1",
    ),
    "insert_dtype": (
        lambda t: tle.insert_tile(t.symbol(F32, (8,)), t.symbol(I32, (4,)), 0),
        ValueError,
        "tle.insert_tile: Element type mismatch: `x` is tile fp32[8], `tile` is tile i32[4]",
    ),
    "insert_indivisible": (
        lambda t: tle.insert_tile(t.symbol(F32, (8,)), t.symbol(F32, (16,)), 0),
        ValueError,
        "tle.insert_tile: extent 0 of [8] is 8, which must be divisible by tile dimension 16",
    ),
    "insert_range": (
        lambda t: tle.insert_tile(t.symbol(F32, (8,)), t.symbol(F32, (4,)), -1),
        ValueError,
        "tle.insert_tile: linear index must be non-negative and is -1, out of range [0, 2)",
    ),
    # sorting and gathering
    "sort_scalar": (lambda t: tl.sort(t.symbol(F32)), TypeError, "tl.sort takes tiles of numbers, got scalar fp32"),
    "sort_pointers": (
        lambda t: tl.sort(t.pointer(F32, (4,))),
        TypeError,
        "tl.sort takes tiles of numbers, got tile *fp32[4]",
    ),
    "sort_axis": (
        lambda t: tl.sort(t.symbol(F32, (4,)), 1),
        ValueError,
        "tl.sort: axis 1 does not exist, the tile has rank 1",
    ),
    "topk_count": (
        lambda t: tl.topk(t.symbol(F32, (2, 8)), 16),
        ValueError,
        "tl.topk: k = 16 is no power of two from 1 to 8, the extent of axis 1",
    ),
    "topk_power": (
        lambda t: tl.topk(t.symbol(F32, (8,)), 3),
        ValueError,
        "tl.topk: k = 3 is no power of two from 1 to 8, the extent of axis 0",
    ),
    "topk_dynamic": (
        lambda t: tl.topk(t.symbol(F32, (8,)), t.symbol(I32)),
        ValueError,
        "tl.topk: k must be known at compile time, got a run-time value (scalar i32)",
    ),
    "merge_scalar": (
        lambda t: tl.bitonic_merge(t.symbol(F32)),
        TypeError,
        "tl.bitonic_merge takes tiles of numbers, got scalar fp32",
    ),
    "gather_float": (
        lambda t: tl.gather(t.symbol(F32, (4,)), t.symbol(F32, (4,)), 0),
        TypeError,
        "tl.gather: index must be integers, got tile fp32[4]",
    ),
    "gather_rank": (
        lambda t: tl.gather(t.symbol(F32, (4, 4)), t.symbol(I32, (4,)), 0),
        ValueError,
        "tl.gather: src of rank 2 and index of rank 1",
    ),
    "gather_extents": (
        lambda t: tl.gather(t.symbol(F32, (4, 8)), t.symbol(I32, (4, 4)), 0),
        ValueError,
        "tl.gather: src [4, 8] and index [4, 4] differ along axis 1, only axis 0 may differ",
    ),
    # types
    "pointer_to_pointer": (
        lambda t: tl.pointer_type(tl.pointer_type(F32)),
        TypeError,
        "tl.pointer_type: the pointee must be a dtype, got pointer<float32>",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_message(name):
    call, error, text = CASES[name]
    with tracing() as trace, pytest.raises(error) as caught:
        call(trace)
    assert isinstance(caught.value, KernelError)
    assert isinstance(caught.value, CompilationError)
    assert caught.value.message == text


HELPED = {
    "slot_rank": lambda t: t.buffer(F32, (8,)).slot(0),
    "slot_range": lambda t: t.buffer(F32, (2, 8)).slot(2),
    "slot_float": lambda t: t.buffer(F32, (2, 8)).slot(1.5),
    "slot_tile": lambda t: t.buffer(F32, (2, 8)).slot(t.symbol(I32, (2,))),
    "slot_dtype": lambda t: t.buffer(F32, (2, 8)).slot(t.symbol(tl.int64)),
    "subslice_axis": lambda t: t.buffer(F32, (2, 8)).subslice(0, 1, 2),
    "subslice_range": lambda t: t.buffer(F32, (2, 8)).subslice(6, 4),
    "buffer_reshape": lambda t: t.buffer(F32, (2, 8)).reshape(8),
    "pointer_count": lambda t: tle.gpu.local_ptr(t.buffer(F32, (2, 8)), (0,)),
    "pointer_empty": lambda t: tle.gpu.local_ptr(t.buffer(F32, (2, 8)), ()),
    "pointer_index": lambda t: tle.gpu.local_ptr(t.buffer(F32, (8,)), 3),
    "pointer_float": lambda t: tle.gpu.local_ptr(t.buffer(F32, (8,)), (1.5,)),
    "pointer_of_tile": lambda t: tle.gpu.local_ptr(t.symbol(F32, (8,)), (0,)),
    "pointer_shape": lambda t: tle.gpu.local_ptr(t.buffer(F32, (8,)), (t.symbol(I32, (4,)),), shape=(8,)),
    "reduce_axis": lambda t: tl.sum(t.symbol(F32, (8,)), axis=1),
    "scan_axis": lambda t: tl.cumsum(t.symbol(F32, (4, 8)), axis=-3),
    "expand_axis": lambda t: tl.expand_dims(t.symbol(F32, (4,)), 2),
    "expand_twice": lambda t: tl.expand_dims(t.symbol(F32, (4,)), (0, 0)),
    "reshape": lambda t: tl.reshape(t.symbol(F32, (8,)), (4, 4)),
    "item": lambda t: t.symbol(F32, (8,)).item(),
    "stretch": lambda t: tl.broadcast_to(t.symbol(F32, (4,)), (8,)),
    "permute": lambda t: tl.permute(t.symbol(F32, (4, 8)), (0, 0)),
    "trans": lambda t: tl.trans(t.symbol(F32, (4,))),
    "transpose": lambda t: t.symbol(F32, (4,)).T,
}


@pytest.mark.parametrize("name", HELPED)
def test_errors_of_counts_axes_and_shapes_say_what_to_write(name):
    with tracing() as trace, pytest.raises(CompilationError) as caught:
        HELPED[name](trace)
    assert caught.value.help


def test_facts_name_the_values():
    with tracing() as trace, pytest.raises(ValueError) as caught:
        tl.load(trace.pointer(F32, (4,), name="p"), mask=trace.symbol(I1, (8,), "ok"))
    assert caught.value.facts == ("`p`: tile *fp32[4]", "`ok`: tile i1[8]")

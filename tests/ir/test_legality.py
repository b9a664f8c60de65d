"""Each row of the legality table: one case that is legal, one that breaks the row; and the rules of a kernel."""

from __future__ import annotations

import pytest

from tle2cuda.errors import IRError
from tle2cuda.ir.legality import ROWS, has_side_effects, is_pure, verify
from tle2cuda.ir.nodes import Kernel, Region, Value, make_op
from tle2cuda.ir.parser import parse_kernel
from tle2cuda.ir.types import F32, I32

ARGUMENTS = "(%p: *fp32, %q: *i32, %n: i32, %f: fp32, %b: i1, %h: i64)"
PRELUDE = """
  %r = arange {start = 0, end = 8} : i32[8]
  %t = splat %f : fp32[8]
  %m = splat %b : i1[8]
  %ps = splat %p : *fp32[8]
  %qs = splat %q : *i32[8]
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %buf = alloc {name = 'buf'} : buffer<i32[4, 8]>
  %lhs = constant {value = 1.0} : fp16[4, 16]
  %rhs = constant {value = 1.0} : fp16[16, 8]
  %sums = constant {value = 0.0} : fp32[4, 8]
  %line = alloc {name = 'line', zero = True} : buffer<i32[8]>
  %bars = alloc_barriers {name = 'bars', arrivals = 1, init = 'pending', expect_bytes = 32} : barriers<2>
  %ring = alloc {name = 'ring'} : buffer<i32[2, 8]>
  %side = alloc {name = 'side'} : buffer<fp16[2, 4, 4]>
  %left = alloc {name = 'left'} : buffer<fp16[4, 16]>
  %right = alloc {name = 'right'} : buffer<fp16[16, 8]>
  %pipe = pipe %ring, %side {name = 'p', capacity = 2, fields = ('a', 'b'), readers = ('x', 'y'), one_shot = False}
    : pipe<2, a: buffer<i32[2, 8]>, b: buffer<fp16[2, 4, 4]>>
"""
SLOTS = "buffer<i32[8]>, buffer<fp16[4, 4]>"
SUM = "do (%a: i32, %c: i32) { %s = add %a, %c : i32 yield %s }"

# name: (legal, illegal, what the message says about the illegal one)
CASES = {
    "constant": (
        "%x = constant {value = -1.5} : fp32[8]",
        "%x = constant {value = 256} : u8",
        "value 256 does not fit uint8",
    ),
    "arange": (
        "%x = arange {start = 4, end = 8} : i32[4]",
        "%x = arange {start = 0, end = 6} : i32[6]",
        "its extent 6 is no power of two",
    ),
    "program_id": (
        "%x = program_id {axis = 2} : i32",
        "%x = program_id {axis = 3} : i32",
        "attribute axis is 3, not 0, 1 or 2",
    ),
    "num_programs": (
        "%x = num_programs {axis = 0} : i32",
        "%x = num_programs {axis = 0} : i64",
        "result 0 is int64 instead of int32",
    ),
    "cluster_rank": (
        "%x = cluster_rank : i32",
        "%x = cluster_rank %n : i32",
        "it has 1 operands instead of 0",
    ),
    "add": ("%x = add %n, %one : i32", "%x = add %n, %h : i32", "operand 1 is int64 but operand 0 is int32"),
    "sub": ("%x = sub %t, %t : fp32[8]", "%x = sub %t, %f : fp32[8]", "operand 1 is fp32 but operand 0"),
    "mul": (
        "%x = mul %f, %f {rounding = 'rn'} : fp32",
        "%x = mul %b, %b : i1",
        "operand 0 is int1, not an integer or float",
    ),
    "div": (
        "%x = div %f, %f {rounding = 'approx'} : fp32",
        "%x = div %n, %n : i32",
        "operand 0 is int32, not a float",
    ),
    "idiv": ("%x = idiv %r, %r : i32[8]", "%x = idiv %f, %f : fp32", "operand 0 is fp32, not an integer"),
    "rem": ("%x = rem %n, %n : i32", "%x = rem %n : i32", "it has 1 operands instead of 2"),
    "mulhi": ("%x = mulhi %n, %n : i32", "%x = mulhi %b, %b : i1", "operand 0 is int1, not an integer"),
    "and": ("%x = and %m, %m : i1[8]", "%x = and %f, %f : fp32", "operand 0 is fp32"),
    "or": ("%x = or %n, %n : i32", "%x = or %n, %n : i64", "result 0 is int64 instead of int32"),
    "xor": ("%x = xor %b, %b : i1", "%x = xor %p, %p : *fp32", "operand 0 is *fp32"),
    "shl": ("%x = shl %n, %one : i32", "%x = shl %b, %b : i1", "operand 0 is int1, not an integer"),
    "shr": ("%x = shr %r, %r : i32[8]", "%x = shr %r, %n : i32[8]", "operand 1 is int32 but operand 0 is i32[8]"),
    "min": ("%x = min %f, %f {nan = 'ignore'} : fp32", "%x = min %f, %f {nan = 'x'} : fp32", "attribute nan is 'x'"),
    "max": ("%x = max %n, %n : i32", "%x = max %b, %b : i1", "operand 0 is int1"),
    "fma": ("%x = fma %f, %f, %f : fp32", "%x = fma %f, %f : fp32", "it has 2 operands instead of 3"),
    "cmp": (
        "%x = cmp %r, %r {predicate = 'lt'} : i1[8]",
        "%x = cmp %r, %r {predicate = 'below'} : i1[8]",
        "attribute predicate is 'below', not one of eq, ne, lt, le, gt, ge",
    ),
    "fits": (
        "%x = fits %r, %r {fn = 'add'} : i1[8]",
        "%x = fits %r, %r {fn = 'div'} : i1[8]",
        "attribute fn is 'div', not one of add, sub, mul",
    ),
    "select": (
        "%x = select %m, %ps, %ps : *fp32[8]",
        "%x = select %b, %t, %t : fp32[8]",
        "operand 1 is fp32[8] but operand 0 is int1: shapes differ",
    ),
    "math": (
        "%x = math %n {fn = 'abs'} : i32",
        "%x = math %n {fn = 'exp'} : i32",
        "exp takes floats, not int32",
    ),
    "grid_dependency": (
        "grid_dependency {kind = 'wait'}",
        "grid_dependency {kind = 'leave'}",
        "attribute kind is 'leave', not one of wait, launch_dependents",
    ),
    "asm": (
        "%x = asm %t {asm = 'neg.f32 $0, $1;', constraints = '=f,f'} : fp32[8]",
        "%x = asm %t {asm = 'neg.f32 $0, $1;', constraints = '=f,f'} : fp32",
        "operand 1 is fp32 but operand 0 is fp32[8]: shapes differ",
    ),
    "map": (
        "%x = map %t {fn = 'f'} : fp32[8] do (%a: fp32) { yield %a }",
        "%x = map %t {fn = 'f'} : fp32[8] do (%a: fp32) { yield %f }",
        "its region uses values from around it",
    ),
    "asm_block": (
        "%x = asm_block %n {asm = 'mov.u32 $0, $1;', constraints = '=r,r', pack = 1, pure = False} : i32",
        "%x = asm_block %n {asm = 'mov.u32 $0, $1;', constraints = '=r,r', pack = 0, pure = False} : i32",
        "attribute pack is 0, not a positive int",
    ),
    "philox": (
        "%u = cast %n : u32 %x = philox %u, %u, %u, %u, %u, %u {rounds = 10, word = 3} : u32",
        "%x = philox %n, %n, %n, %n, %n, %n {rounds = 10, word = 3} : i32",
        "operand 0 is int32, not u32 or u64",
    ),
    "libdevice": (
        "%x = libdevice %f, %n {fn = 'ldexp'} : fp32",
        "%x = libdevice %f, %f {fn = 'ldexp'} : fp32",
        "ldexp takes no (fp32, fp32)",
    ),
    "cast": (
        "%x = cast %t {rounding = 'rtz'} : fp16[8]",
        "%x = cast %t : fp16[4]",
        "the shape changes",
    ),
    "bitcast": ("%x = bitcast %p : i64", "%x = bitcast %f : fp16", "fp32 and fp16 differ in width"),
    "ptr_add": (
        "%x = ptr_add %ps, %r : *fp32[8]",
        "%x = ptr_add %ps, %n : *fp32[8]",
        "operand 1 is int32 but operand 0 is *fp32[8]: shapes differ",
    ),
    "splat": ("%x = splat %n : i32[2, 4]", "%x = splat %n : fp32[4]", "the element type changes"),
    "broadcast": (
        "%e = expand_dims %r {axis = 0} : i32[1, 8] %x = broadcast %e : i32[4, 8]",
        "%x = broadcast %r : i32[16]",
        "[8] does not stretch to [16]",
    ),
    "expand_dims": (
        "%x = expand_dims %r {axis = 1} : i32[8, 1]",
        "%x = expand_dims %r {axis = 2} : i32[8, 1]",
        "axis 2 is out of range for rank 1",
    ),
    "reshape": (
        "%x = reshape %r : i32[2, 4]",
        "%x = reshape %r : i32[2, 2]",
        "i32[8] and i32[2, 2] differ in size",
    ),
    "tile_to_scalar": (
        "%o = splat %n : i32[1, 1] %x = tile_to_scalar %o : i32",
        "%x = tile_to_scalar %r : i32",
        "i32[8] has more than one element",
    ),
    "trans": (
        "%o = splat %n : i32[2, 4] %x = trans %o {perm = (1, 0)} : i32[4, 2]",
        "%o = splat %n : i32[2, 4] %x = trans %o {perm = (1, 1)} : i32[4, 4]",
        "perm (1, 1) is no permutation of 2 axes",
    ),
    "concat": (
        "%x = concat %r, %r {axis = 0} : i32[16]",
        "%x = concat %r, %r {axis = 1} : i32[16]",
        "axis 1 is out of range for rank 1",
    ),
    "extract": (
        "%x = extract %r {start = (4,)} : i32[4]",
        "%x = extract %r {start = (2,)} : i32[4]",
        "start [2] is no multiple of [4] inside of [8]",
    ),
    "extract_at": (
        "%x = extract_at %r, %n : i32[2]",
        "%x = extract_at %r, %n : i32[16]",
        "[16] does not divide [8]",
    ),
    "insert": (
        "%q4 = extract %r {start = (4,)} : i32[4] %x = insert %r, %q4, %n : i32[8]",
        "%x = insert %r, %t, %n : i32[8]",
        "the element type changes",
    ),
    "gather": (
        "%x = gather %t, %r {axis = 0} : fp32[8]",
        "%x = gather %t, %t {axis = 0} : fp32[8]",
        "operand 1 is fp32[8], not integers",
    ),
    "sort": (
        "%x = sort %t {axis = 0, descending = True} : fp32[4]",
        "%x = sort %t {axis = 0, descending = False, merge = True} : fp32[4]",
        "a merge keeps all elements",
    ),
    "flip": (
        "%x = flip %t {axis = 0} : fp32[8]",
        "%x = flip %t {axis = 0} : fp32[4]",
        "result 0 is fp32[4] instead of fp32[8]",
    ),
    "reduce": (
        f"%x = reduce %r {{axis = 0, kind = 'custom'}} : i32 {SUM}",
        "%x = reduce %r {axis = 0, kind = 'argmax'} : i32",
        "argmax takes a value and an index tile",
    ),
    "scan": (
        f"%x = scan %r {{axis = 0, reverse = False, kind = 'custom'}} : i32[8] {SUM}",
        f"%x = scan %t {{axis = 0, reverse = False, kind = 'custom'}} : fp32[8] {SUM}",
        "the parameters of its region are not (a..., b...)",
    ),
    "exclusive_sum": (
        "%x, %y = exclusive_sum %r {reverse = False} : i32[8], i32",
        "%x = exclusive_sum %r {reverse = False} : i32[8]",
        "it has 1 results instead of 2",
    ),
    "dot": (
        "%x = dot %lhs, %rhs, %sums {input_precision = 'tf32'} : fp32[4, 8]",
        "%x = dot %lhs, %lhs, %sums {input_precision = 'tf32'} : fp32[4, 8]",
        "fp16[4, 16] and fp16[4, 16] do not fit together",
    ),
    "tensor_alloc": (
        "%x = tensor_alloc {name = 'x', column = 256, columns = 256} : buffer<fp32[32768] tensor>",
        "%x = tensor_alloc {name = 'x', column = 256, columns = 512} : buffer<fp32[32768] tensor>",
        "tensor memory has 512 columns",
    ),
    "tensor_product": (
        "%x = tensor_alloc {column = 0, columns = 8} : buffer<fp32[4, 8] tensor>"
        " tensor_product %left, %right, %x, %b, %bars"
        " {input_precision = 'tf32', instruction = 'tcgen05_f32_f16', pending = 1}",
        "tensor_product %left, %right, %buf, %b, %bars {input_precision = 'tf32', instruction = 'tcgen05_f32_f16'}",
        "is not in tensor memory",
    ),
    "tensor_wait": ("tensor_wait %bars", "tensor_wait %buf", "operand 0 is buffer"),
    "tensor_load": (
        "%x = tensor_alloc {column = 0, columns = 8} : buffer<fp32[4, 8] tensor>"
        " %y = tensor_load %x : fp32[4, 8] %z = tensor_load %x, %b : fp32[4, 8]",
        "%x = tensor_alloc {column = 0, columns = 8} : buffer<fp32[4, 8] tensor> %y = tensor_load %x : fp32[8, 4]",
        "result 0 is",
    ),
    "wgmma": (
        "%x = wgmma %lhs, %right, %sums {trans_a = False, trans_b = False, input_precision = 'tf32'} : fp32[4, 8]",
        "%x = wgmma %lhs, %left, %sums {trans_a = False, trans_b = False, input_precision = 'tf32'} : fp32[4, 8]",
        "do not fit together",
    ),
    "wgmma_wait": (
        "%x = wgmma_wait %sums {pending = 1} : fp32[4, 8]",
        "%x = wgmma_wait %sums {pending = -1} : fp32[4, 8]",
        "attribute pending is -1",
    ),
    "to_shared": (
        "to_shared %lhs, %left",
        "to_shared %rhs, %left",
        "does not fill",
    ),
    "histogram": (
        "%x = histogram %r, %m {bins = 4, has_mask = True} : i32[4]",
        "%x = histogram %r, %r {bins = 4, has_mask = True} : i32[4]",
        "the mask is i32[8], not bool",
    ),
    "load": (
        "%x = load %ps, %m, %t {has_mask = True, has_other = True} : fp32[8]",
        "%x = load %ps, %m {has_mask = True} : i32[8]",
        "result 0 is i32[8] instead of fp32[8]",
    ),
    "store": (
        "store %ps, %t, %m {has_mask = True}",
        "store %ps, %r",
        "the value is i32[8], not fp32[8]",
    ),
    "atomic_rmw": (
        "%x = atomic_rmw %qs, %r {kind = 'add', sem = 'relaxed', scope = 'gpu'} : i32[8]",
        "%x = atomic_rmw %qs, %r {kind = 'sub'} : i32[8]",
        "attribute kind is 'sub'",
    ),
    "atomic_cas": (
        "%x = atomic_cas %q, %n, %n {sem = 'acq_rel', scope = 'cta'} : i32",
        "%x = atomic_cas %q, %n {sem = 'acq_rel', scope = 'cta'} : i32",
        "it has 2 operands instead of 3",
    ),
    "alloc": (
        "%x = alloc {name = 'ring', alignment_bytes = 128} : buffer<fp16[2, 8] mma>",
        "%x = alloc : buffer<fp16[2, 8] remote>",
        "a new buffer is not remote",
    ),
    "buffer_view": (
        "%x = buffer_view %buf, %n {kind = 'slot'} : buffer<i32[8]>"
        " %y = buffer_view %buf {kind = 'subslice', start = 4, dim = 1} : buffer<i32[4, 4]>"
        " %z = buffer_view %buf {kind = 'reshape'} : buffer<i32[32]>"
        " %w = buffer_view %buf {kind = 'alias', offset_bytes = 64} : buffer<fp32[16]>",
        "%x = buffer_view %buf {kind = 'subslice', start = 6, dim = 1} : buffer<i32[4, 4]>",
        "it reaches beyond its buffer",
    ),
    "local_ptr": (
        "%x = local_ptr %buf : *i32@shared[4, 8] %y = local_ptr %line, %r : *i32@shared[8]",
        "%x = local_ptr %buf, %r : *i32@shared[8]",
        "1 indices for buffer<i32[4, 8]>",
    ),
    "remote": (
        "%x = remote %line, %one : buffer<i32[8] remote> %y = local_ptr %x, %n : *i32@cluster",
        "%x = remote %q, %one : *i32@cluster",
        "operand 0 is *i32, not a buffer or a pointer to shared memory",
    ),
    "barrier": ("barrier {reason = 'r'}", "barrier %n", "it has 1 operands instead of 0"),
    "cluster_barrier": (
        "cluster_barrier {members = (0, 1)}",
        "cluster_barrier {members = (0, 2)}",
        "members (0, 2) are no ranks of a cluster of 2 CTAs",
    ),
    "grid_barrier": ("", "grid_barrier", "the kernel is not cooperative"),
    "print": ("print %n, %t {prefix = 'n', hex = False}", "print %buf {prefix = 'n'}", "operand 0 is buffer"),
    "assert": ("assert %m {message = 'm'}", "assert %n {message = 'm'}", "operand 0 is int32, not a bool"),
    "assume": ("assume %b", "assume %m", "operand 0 is i1[8], not a bool scalar"),
    "hint": (
        "%x = hint %r {contiguity = (8,)} : i32[8]",
        "%x = hint %r {contiguity = 8} : i32[8]",
        "attribute contiguity is 8, not a tuple of ints or None",
    ),
    "tensor_tile": (
        "%x = tensor_tile %r, %p, %n, %one, %zero {rank = 1, padding = 'zero'} : i32[8]",
        "%x = tensor_tile %r, %p, %n, %one {rank = 1, padding = 'zero'} : i32[8]",
        "a tile of a tensor of rank 1 has 5 operands, not 4",
    ),
    "for": (
        "%x = for %zero, %n, %one, %f : fp32 do (%i: i32, %c: fp32) { yield %c }",
        "%x = for %zero, %n, %one, %f : fp32 do (%i: i32, %c: fp32) { yield %i }",
        "its region yields (int32) instead of (fp32)",
    ),
    "while": (
        "%x = while %n : i32 before (%a: i32) { condition %b, %a } do (%c: i32) { yield %c }",
        "%x = while %n : fp32 before (%a: i32) { condition %b, %a } do (%c: fp32) { yield %n }",
        "values of its condition: (int32) instead of (fp32)",
    ),
    "if": (
        "%x = if %b : i32 then { yield %n } else { yield %one }",
        "%x = if %b : i32 then { yield %n } else { yield }",
        "its else region yields () instead of (int32)",
    ),
    "yield": ("", "yield %n", "yield stands in the middle of the kernel's body"),
    "condition": ("", "condition %b", "condition stands in the middle of the kernel's body"),
    "convert_layout": (
        "%x = convert_layout %r : i32[8]",
        "%x = convert_layout %r : i32[4]",
        "result 0 is i32[4] instead of i32[8]",
    ),
    "fused": (
        "%x = fused : i32[8] do { %s = add %r, %r : i32[8] yield %s }",
        "%x = fused : i32[8] do (%a: i32) { yield %r }",
        "its region has parameters",
    ),
    "alloc_barriers": (
        "%x = alloc_barriers {name = 'free', arrivals = 2, init = 'ready'} : barriers<3>",
        "%x = alloc_barriers {arrivals = 1, init = 'done'} : barriers<3>",
        "attribute init is 'done', not one of pending, ready",
    ),
    "count_fills": ("count_fills %bars {takes_turns = True}", "count_fills %n", "operand 0 is int32"),
    "await_fills": ("await_fills %bars, %bars", "await_fills %bars, %n", "operand 1 is int32"),
    "mbarrier_wait": (
        "mbarrier_wait %bars, %one, %n",
        "mbarrier_wait %buf, %one, %n",
        "operand 0 is buffer<i32[4, 8]>, not an array of barriers",
    ),
    "mbarrier_arrive": (
        "mbarrier_arrive %bars, %zero {arrivals = 2}",
        "mbarrier_arrive %bars, %h {arrivals = 2}",
        "operand 1 is int64, not an i32 scalar",
    ),
    "named_barrier": (
        "named_barrier {number = 0, threads = 256, kind = 'sync'}",
        "named_barrier {number = 0, threads = 40, kind = 'arrive'}",
        "40 threads are no whole warps",
    ),
    "proxy_fence": (
        "proxy_fence {space = 'shared'}",
        "proxy_fence {space = 'cluster'}",
        "attribute space is 'cluster', not one of shared, global",
    ),
    "tma_store_wait": (
        "tma_store_wait {kind = 'read'}",
        "tma_store_wait {kind = 'write'}",
        "attribute kind is 'write', not one of read, all",
    ),
    "cp_async": (
        "cp_async %qs, %line, %m {has_mask = True, eviction = 'evict_first'}",
        "cp_async %ps, %line",
        "the element type changes from *fp32[8] to buffer<i32[8]>",
    ),
    "cp_async_commit": ("cp_async_commit", "cp_async_commit %n", "it has 1 operands instead of 0"),
    "cp_async_wait": (
        "cp_async_wait {pending = 7}",
        "cp_async_wait {pending = 8}",
        "attribute pending is 8, not one of 0, 1, 2, 3, 4, 5, 6, 7",
    ),
    "tensor_map": (
        "%x = tensor_map %q {name = 'x', offset = '0', shape = ('n', '8'), strides = ('n * 4',), swizzle_bytes = 32,"
        " padding = 'zero'} : tensor_map<i32[4, 8]>"
        " tma_load %x, %zero, %zero, %line {rank = 2, block = (1, 8), padding = 'zero', completion = 'blocking'}"
        " tma_store %line, %x, %zero, %zero {rank = 2, block = (1, 8), kind = 'add'}",
        "%x = tensor_map %q {name = 'x', offset = '0', shape = ('n',), strides = ('n * 4',), swizzle_bytes = 0,"
        " padding = 'zero'} : tensor_map<i32[4, 8]>",
        "it has 1 extents and 1 strides for 2 dimensions",
    ),
    "changed_tensor_map": (
        "%x = changed_tensor_map %q, %n, %n, %h {name = 'x', form = 'f', form_base = 'q', swizzle_bytes = 0,"
        " padding = 'zero'} : tensor_map<i32[1, 8]>",
        "%x = changed_tensor_map %q, %n, %n {name = 'x', form = 'f', form_base = 'q', swizzle_bytes = 0,"
        " padding = 'zero'} : tensor_map<i32[1, 8]>",
        "it has 3 operands instead of 4",
    ),
    "tma_load": (
        "tma_load %q, %n, %n, %h, %h, %zero, %one, %line, %bars, %one"
        " {rank = 2, block = (1, 8), padding = 'nan', completion = 'barrier'}"
        " tma_load %q, %n, %h, %zero, %line {rank = 1, block = (8,), padding = 'zero', completion = 'blocking'}",
        "tma_load %q, %n, %h, %zero, %line {rank = 1, block = (4,), padding = 'zero', completion = 'blocking'}",
        "its block (4,) does not fit buffer<i32[8]>",
    ),
    "tma_store": (
        "tma_store %line, %q, %n, %h, %zero {rank = 1, block = (8,), kind = 'add'}",
        "tma_store %line, %q, %n, %h, %h {rank = 1, block = (8,), kind = 'add'}",
        "an offset is int64, not an i32 scalar",
    ),
    "pipe": (
        "%x = pipe %ring {capacity = 2, fields = ('r',), readers = (), one_shot = True} : pipe<2, r: buffer<i32[2, 8]>>",
        "%x = pipe %buf {capacity = 2, fields = ('r',), readers = (), one_shot = True} : pipe<2, r: buffer<i32[4, 8]>>",
        "field r is buffer<i32[4, 8]>, the capacity 2",
    ),
    "pipe_acquire": (
        f"%x, %y = pipe_acquire %pipe, %zero, %n : {SLOTS}",
        "%x = pipe_acquire %pipe, %zero, %n : buffer<i32[8]>",
        "it has 1 results instead of 2",
    ),
    "pipe_commit": ("pipe_commit %pipe, %one, %n", "pipe_commit %ring, %one, %n", "operand 0 is buffer<i32[2, 8]>"),
    "pipe_close": ("pipe_close %pipe, %one, %n", "pipe_close %pipe, %one", "it has 2 operands instead of 3"),
    "pipe_wait": (
        f"%c, %x, %y = pipe_wait %pipe, %zero, %n {{reader = 'x'}} : i1, {SLOTS}",
        f"%x, %y = pipe_wait %pipe, %zero, %n : {SLOTS}",
        "it has 2 results instead of 3",
    ),
    "pipe_release": (
        "pipe_release %pipe, %one, %n {reader = 'y'}",
        "pipe_release %pipe, %one, %n {reader = 1}",
        "attribute reader is 1, not a string or None",
    ),
    "warp_specialize": (
        "%x = warp_specialize {warps = (4, 1), registers = (40,), names = ('f', 'g')} : i32"
        " do { yield %n } do { store %q, %n yield }",
        "%x = warp_specialize {warps = (4, 1), registers = (40,), names = ('f', 'g')} : i32"
        " do { yield %n } do { yield %n }",
        "partition 1 yields (int32) instead of ()",
    ),
}


def kernel(body: str) -> Kernel:
    return parse_kernel(f"kernel k{ARGUMENTS} cluster (2, 1, 1) {{{PRELUDE}{body}\n  yield\n}}")


def test_every_row_has_its_two_cases() -> None:
    assert set(CASES) == set(ROWS)


@pytest.mark.parametrize("name", CASES)
def test_legal(name: str) -> None:
    verify(kernel(CASES[name][0]))


@pytest.mark.parametrize("name", CASES)
def test_illegal(name: str) -> None:
    with pytest.raises(IRError) as caught:
        verify(kernel(CASES[name][1]))
    assert CASES[name][2] in caught.value.message


def test_the_message_shows_the_row() -> None:
    with pytest.raises(IRError) as caught:
        verify(kernel("%x = add %n, %h : i32"))
    assert str(caught.value) == (
        "<unknown>:0:1: row `add` is broken: operand 1 is int64 but operand 0 is int32\n"
        "  row: a, b of one type -> the same\n"
        "  operands: int32, int64"
    )


def test_unknown_operations_are_refused() -> None:
    with pytest.raises(IRError, match="no operation is called 'frobnicate'"):
        verify(kernel("frobnicate"))


def test_values_must_dominate_their_uses() -> None:
    inner = make_op("add", (Value(I32),) * 2, (I32,))
    body = Region((), (inner, make_op("yield")))
    with pytest.raises(IRError, match=r"add: operand 0 .* is not defined where it is used"):
        verify(Kernel("k", (), body))


def test_values_of_a_region_end_with_it() -> None:
    inner = make_op("constant", (), (I32,), {"value": 1})
    condition = make_op("constant", (), (kernel("").args[4].value.type,), {"value": True})
    region = Region((), (inner, make_op("yield")))
    branch = make_op("if", condition.results, (), None, (region, Region((), (make_op("yield"),))))
    use = make_op("add", inner.results * 2, (I32,))
    with pytest.raises(IRError, match="is not defined where it is used"):
        verify(Kernel("k", (), Region((), (condition, branch, use, make_op("yield")))))


def test_a_value_is_defined_once() -> None:
    op = make_op("constant", (), (F32,), {"value": 1.0})
    with pytest.raises(IRError, match="is defined twice"):
        verify(Kernel("k", (), Region((), (op, op, make_op("yield")))))


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("kernel k() num_warps 3", "num_warps is 3, not a power of two up to 32"),
        ("kernel k() cluster (32, 1, 1)", "a cluster of 32 CTAs exceeds the limit of 16"),
        ("kernel k() cluster (0, 1, 1)", "cluster_dims is (0, 1, 1)"),
        ('kernel k() cluster (2, 1, 1) target "sm_80"', "clusters need sm_90 or later, the target is sm_80"),
        ('kernel k() target "gfx942"', "target 'gfx942' is no architecture such as sm_90a"),
        ("kernel k(%x: *i32@shared)", "argument x points to shared memory"),
        ("kernel k(%x: i32[4])", "argument x is i32[4], not a scalar or pointer"),
        ("kernel k(%x: i32 divisibility 0)", "argument x has divisibility 0"),
    ],
)
def test_launch_rules(header: str, problem: str) -> None:
    with pytest.raises(IRError) as caught:
        verify(parse_kernel(header + " { yield }"))
    assert caught.value.message == f"kernel k: {problem}"


def test_a_grid_barrier_needs_a_cooperative_kernel_without_clusters() -> None:
    verify(parse_kernel("kernel k() cooperative { grid_barrier yield }"))
    with pytest.raises(IRError, match="requires cluster_dims"):
        verify(parse_kernel("kernel k() cluster (2, 1, 1) cooperative { grid_barrier yield }"))


def test_partition_0_has_the_warps_of_the_kernel_and_none_is_specialised_again() -> None:
    one = "warp_specialize {warps = (%d,), registers = (), names = ('f',)} do { %s yield }"
    with pytest.raises(IRError, match="partition 0 has 8 warps, the kernel 4"):
        verify(kernel(one % (8, "")))
    with pytest.raises(IRError, match="partition 0 is specialised again"):
        verify(kernel(one % (4, one % (4, ""))))


@pytest.mark.parametrize(
    ("warps", "registers", "target", "threads"),
    [
        ("(8, 1)", "(40,)", "sm_90a", 384),  # a whole warpgroup gives registers back
        ("(4, 1)", "(40,)", "sm_90a", 160),  # so few that each may have all it can use
        ("(4, 1)", "(40,)", "sm_90", 160),
        ("(4, 1)", "(0,)", "sm_90a", 160),  # nobody asks for registers
        ("(4, 4, 2)", "(240, 24)", "sm_90a", 384),
        ("(2, 1)", "(40,)", "sm_90a", 96),  # the default warps are no warpgroup: nothing moves
        ("(4,)", "()", "sm_90a", 128),
    ],
)
def test_threads_of_a_kernel_include_workers(warps: str, registers: str, target: str, threads: int) -> None:
    regions = "do { yield } " * len(warps.strip("(),").split(","))
    names = tuple("abc"[: regions.count("do")])
    k = parse_kernel(
        f'kernel k() num_warps {warps[1]} target "{target}" {{ warp_specialize '
        f"{{warps = {warps}, registers = {registers}, names = {names}}} {regions} yield }}"
    )
    verify(k)
    assert k.num_threads == threads
    assert k.default_threads == 32 * int(warps[1])


def test_scales_of_a_product() -> None:
    tiles = "%pairs = constant {value = 1} : u8[16, 32] %others = constant {value = 1} : u8[32, 32]"
    start = "%start = constant {value = 0.0} : fp32[16, 32]"
    scales = "%rows = constant {value = 127} : u8[16, 2] %cols = constant {value = 127} : u8[32, 2]"
    text = f"{tiles} {start} {scales} %product = dot %pairs, %others, %start"
    verify(kernel(f"{text}, %rows, %cols {{input_precision = 'tf32', formats = 'mx_e2m1'}} : fp32[16, 32]"))
    with pytest.raises(IRError, match="do not fit 16 rows of 4 groups"):
        verify(kernel(f"{text}, %rows, %cols {{input_precision = 'tf32', formats = 'nv_e2m1'}} : fp32[16, 32]"))
    with pytest.raises(IRError, match="0 operands are scales"):
        verify(kernel(f"{text} {{input_precision = 'tf32', formats = 'mx_e2m1'}} : fp32[16, 32]"))


def test_the_body_ends_in_an_empty_yield() -> None:
    with pytest.raises(IRError, match="its body yields values"):
        verify(parse_kernel("kernel k(%n: i32) { yield %n }"))
    with pytest.raises(IRError, match="the kernel's body does not end in yield"):
        verify(parse_kernel("kernel k(%n: i32) { %x = add %n, %n : i32 }"))


@pytest.mark.parametrize(
    ("body", "pure", "effects"),
    [
        ("%x = add %n, %n : i32", True, False),
        ("%x = load %ps : fp32[8]", False, False),
        ("%x = load %ps {volatile = True} : fp32[8]", False, True),
        ("store %ps, %t", False, True),
        ("%x = for %zero, %n, %one, %n : i32 do (%i: i32, %a: i32) { yield %i }", True, False),
        ("for %zero, %n, %one do (%i: i32) { store %ps, %t yield }", False, True),
        ("while before { %v = load %q : i32 %w = cmp %v, %n {predicate = 'ne'} : i1 condition %w } do { yield }",
         False, True),
    ],
)  # fmt: skip
def test_purity(body: str, pure: bool, effects: bool) -> None:
    op = kernel(body).body.body[-1]
    assert (is_pure(op), has_side_effects(op)) == (pure, effects)

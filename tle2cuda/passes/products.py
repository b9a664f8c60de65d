"""Choose the tensor-core instruction of each matrix product, by dtype, precision and target.

A product that gets none is computed by ordinary multiply-adds: float32 of the precision `ieee`, and everything before
sm_80. Below sm_89, which has no float8 products, operands of float8 become float16, which holds each of them exactly.

On sm_90a whole warpgroups take `wgmma`, where the tile has a block of 64 rows for one of them at least and something to do
for each: its operands do not go through registers, and it multiplies at twice the rate of `mma.sync`.

On sm_100a and its siblings such a tile is multiplied by `tcgen05.mma`, whose sums lie in tensor memory. Where
partitions divide the kernel's warps they take `mma.sync`: no warps are left to allocate tensor memory and give it back.

Products with scales (`tl.dot_scaled`) have instructions on sm_100a and sm_120a. Where a task has none after all, their
operands are scaled in registers and multiplied as bfloat16.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.errors import CapabilityError
from tle2cuda.ir.nodes import DIVIDES, WARPGROUP_WARPS, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, F64, I8, TileType, dtype_of, shape_of
from tle2cuda.layout import (
    BYTES_OF_STEP,
    MMA_INSTRUCTIONS,
    TENSOR_COLUMNS,
    TENSOR_LANES,
    TENSOR_ROWS_OF_SCALES,
    MmaInstruction,
    scale_columns,
    scaled_mma,
    tensor_block,
    whole_scales,
)
from tle2cuda.ops.dot_scaled import by_plain_product
from tle2cuda.passes.store_parts import with_loads_in_parts
from tle2cuda.targets import FEATURES, WARP_THREADS, Target, parse_target

_FP8 = (F8E4NV, F8E5)
_FP8_NAMES = {F8E4NV: "e4m3", F8E5: "e5m2"}
_MOST_SUMS = 128  # that a thread loads from tensor memory at a time, of the 255 registers that it may have
_MISALIGNED = -1  # in the place of a number of warps: no whole warpgroups
_HAS_TENSOR_I8 = ("sm_100a", "sm_110a")  # PTX ISA, tcgen05.mma, "Target ISA Notes": .kind::i8
_WIDE_F64_SINCE = (9, 0)  # m16n8k8 with .f64


def run(kernel: Kernel) -> Kernel:
    """Note the instruction of each product that has one.

    Raises:
        CapabilityError: The kernel asks for products of warpgroups, and the target or a task has none.
    """
    target = parse_target(kernel.target)
    asked = next((op for op in walk(kernel.body) if op.name == "wgmma"), None)
    if asked is not None and not target.has("wgmma"):
        need = FEATURES["wgmma"].requirement()
        raise CapabilityError(
            f"tle.gpu.wgmma needs {need}, the target is {kernel.target}", asked.span, help="tl.dot runs on every target"
        )
    if not target.has("mma_bf16"):
        return kernel
    choose = _Choose(target, kernel)
    chosen = choose.kernel(kernel)
    return with_loads_in_parts(chosen, choose.large) if choose.large else chosen


class _Choose(Rewriter):
    def __init__(self, target: Target, kernel: Kernel) -> None:
        super().__init__()
        self.target = target
        self.source = kernel
        self.warps_of: dict[Region, int] = {}  # of worker partitions
        self.num_warps = kernel.num_warps
        self.is_divided = any(op.attrs.get(DIVIDES) for op in walk(kernel.body))
        self.rows = _Rows(kernel)
        self.large: set[str] = set()  # instructions of products whose sums are loaded in parts

    def region(self, region: Region) -> Region:
        outer, self.num_warps = self.num_warps, self.warps_of.get(region, self.num_warps)
        new = super().region(region)
        self.num_warps = outer
        return new

    def visit(self, op: Op) -> None:
        if op.name == "warp_specialize":
            self.note_partitions(op)
        if op.name == "wgmma":
            self.warpgroups(op)
            return
        if op.name != "dot":
            self.copy(op)
            return
        is_suited = self.rows.suit_descriptors(op) and not (self.target.has("tcgen05") and self.is_divided)
        num_warps = self.num_warps if is_suited else _MISALIGNED
        name = instruction_name(op, self.target, num_warps)
        if name is None and op.attrs.get("formats"):
            self.without_scales(op)
            return
        if name is None:
            self.copy(op)
            return
        operands = [self[v] for v in op.operands]
        if op.attrs.get("formats"):
            operands[3:] = [self._whole_scales(scale, MMA_INSTRUCTIONS[name]) for scale in operands[3:]]
        elif dtype_of(op.operands[0].type) in _FP8 and not self.target.has("mma_fp8"):
            operands[:2] = [self._as_half(v) for v in operands[:2]]
        self.note_large(op, MMA_INSTRUCTIONS[name])
        attrs = MappingProxyType({**op.attrs, "instruction": name})
        new = self.emit(make_op("dot", tuple(operands), (op.result.type,), attrs, (), op.span, (op.result.name,)))
        self.bind(op.result, new.result)

    def note_large(self, op: Op, instruction: MmaInstruction) -> None:
        """Sums that would fill the registers of threads which hold whole rows of them."""
        shape = shape_of(op.result.type)
        if not instruction.sums_in_tensor_memory or len(shape) != 2:
            return
        holds_rows = self.num_warps // instruction.warps * tensor_block(shape)[0] <= shape[0]
        if holds_rows and math.prod(shape) // (self.num_warps * WARP_THREADS) > _MOST_SUMS:
            self.large.add(instruction.name)

    def without_scales(self, op: Op) -> None:
        """A product whose scales this task's tensor cores do not take: operands are scaled in registers."""
        given = replace(op, operands=tuple(self[v] for v in op.operands))
        *made, product = by_plain_product(self.source, given)
        for each in made:
            self.emit(each)
        named = make_op("dot", product.operands, (op.result.type,), product.attrs, (), op.span, (op.result.name,))
        self.visit(named)
        self.bind(op.result, self[named.result])

    def _whole_scales(self, scale: Value, instruction: MmaInstruction) -> Value:
        """Scales of whole words, in tensor memory of whole blocks: what is missing repeats the others."""
        type_ = scale.type
        assert isinstance(type_, TileType)
        rows, groups = type_.shape
        wanted = whole_scales(rows, groups, instruction.sums_in_tensor_memory)
        if wanted == type_.shape:
            return scale
        times = (wanted[0] // rows, wanted[1] // groups)

        def reshaped(name: str, value: Value, shape: tuple[int, ...]) -> Value:
            made = make_op(name, (value,), (TileType(shape, type_.element),), {}, (), scale.span, (scale.name,))
            return self.emit(made).result

        apart = reshaped("reshape", scale, (1, rows, 1, groups))
        return reshaped("reshape", reshaped("broadcast", apart, (times[0], rows, times[1], groups)), wanted)

    def note_partitions(self, op: Op) -> None:
        """Workers begin behind the kernel's warps, wide partitions first, so that whole warpgroups are aligned."""
        first = 0 if op.attrs.get(DIVIDES) else 1
        aligned = bool(op.attrs.get(DIVIDES)) or self.num_warps % WARPGROUP_WARPS == 0
        for region, warps in zip(op.regions[first:], op.attrs["warps"][first:], strict=True):
            self.warps_of[region] = warps if aligned else _MISALIGNED

    def warpgroups(self, op: Op) -> None:
        """A product that the kernel asks of warpgroups."""
        instruction = MMA_INSTRUCTIONS[wgmma_name(op) or ""]
        if self.num_warps == _MISALIGNED:
            raise CapabilityError(
                "tle.gpu.wgmma needs whole warpgroups, and this partition begins in the middle of one",
                op.span,
                help="make num_warps a multiple of 4: partitions begin behind the kernel's own warps",
            )
        if self.num_warps % instruction.warps:
            raise CapabilityError(
                f"tle.gpu.wgmma needs whole warpgroups of {instruction.warps} warps, this task has {self.num_warps}",
                op.span,
                help="give the partition 4 or 8 warps, or the kernel num_warps=4",
            )
        attrs = MappingProxyType({**op.attrs, "instruction": instruction.name})
        operands = tuple(self[v] for v in op.operands)
        self.emit(replace(op, operands=operands, attrs=attrs))

    def _as_half(self, value: Value) -> Value:
        type_ = value.type
        assert isinstance(type_, TileType)
        wide = TileType(type_.shape, F16, type_.layout)
        return self.emit(make_op("cast", (value,), (wide,), {}, (), value.span, (value.name,))).result


class _Rows:
    """Along which axis operands come from memory."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.definitions = definitions(kernel.body)
        self._info: Mapping[Value, AxisInfo] | None = None

    def suit_descriptors(self, op: Op) -> bool:
        """Whether 32-bit operands come in rows of K, as descriptors name them; others would be written down columns."""
        if dtype_of(op.operands[0].type) is not F32:
            return True
        rank = len(shape_of(op.result.type))
        return all(self._fast_axis(op.operands[side]) in (None, rank - 1 - side) for side in (0, 1))

    def _fast_axis(self, value: Value) -> int | None:
        """The axis along which neighbours of a tile are neighbours in memory; None when it is not known."""
        axes = tuple(range(len(shape_of(value.type))))
        op = self.definitions.get(value)
        while op is not None and op.name in ("trans", "cast", "hint"):
            if op.name == "trans":
                axes = tuple(op.attrs["perm"][axis] for axis in axes)
            op = self.definitions.get(op.operands[0])
        if op is None or op.name != "load":
            return None
        if self._info is None:
            self._info = axis_info(self.kernel)
        known = self._info.get(op.operands[0])
        if known is None or max(known.contiguity) <= 1:
            return None
        fast = max(range(len(axes)), key=lambda axis: known.contiguity[axis])
        return axes.index(fast)


def instruction_name(op: Op, target: Target, num_warps: int) -> str | None:
    """Name of a product's instruction among `layout.MMA_INSTRUCTIONS`; None for ordinary multiply-adds.

    Args:
        op: The product.
        target: What it runs on.
        num_warps: Warps of the task that it stands in.
    """
    if op.attrs.get("formats"):
        return _scaled_name(op, target, num_warps)
    if target.has("wgmma"):
        name = wgmma_name(op)
        if name is not None and _is_worth(MMA_INSTRUCTIONS[name], op, num_warps):
            return name
    if target.has("tcgen05"):
        name = tcgen05_name(op, target)
        if name is not None and _suits_tensor_memory(MMA_INSTRUCTIONS[name], op, num_warps):
            return name
    return _mma_name(op, target)


def _scaled_name(op: Op, target: Target, num_warps: int) -> str | None:
    """The instruction of a product with scales; None where the target, or a task's warps, have none that takes it."""
    formats = op.attrs["formats"]
    if target.has("mma_scaled"):
        return scaled_mma(formats)
    if not target.has("tcgen05"):
        return None
    name = f"tcgen05_f32_{formats}"
    return name if _suits_tensor_memory(MMA_INSTRUCTIONS[name], op, num_warps) else None


def wgmma_name(op: Op) -> str | None:
    """The `wgmma` of a product's types; None where there is none that is precise enough."""
    a, b = (dtype_of(v.type) for v in op.operands[:2])
    if a in _FP8:
        return f"wgmma_f32_{_FP8_NAMES[a]}_{_FP8_NAMES[b]}"
    if a is F16:
        return "wgmma_f16_f16" if dtype_of(op.result.type) is F16 else "wgmma_f32_f16"
    if a is F32:
        return "wgmma_f32_tf32" if op.attrs["input_precision"] == "tf32" else None
    return {BF16: "wgmma_f32_bf16", I8: "wgmma_s32_s8"}.get(a)


def tcgen05_name(op: Op, target: Target) -> str | None:
    """The `tcgen05.mma` of a product's types: that of `wgmma`, but for sums, which are never float16 here."""
    name = wgmma_name(op)
    if dtype_of(op.operands[0].type) is I8 and target.name not in _HAS_TENSOR_I8:
        return None
    return None if name is None else name.replace("wgmma_f16", "wgmma_f32").replace("wgmma", "tcgen05")


def _suits_tensor_memory(instruction: MmaInstruction, op: Op, num_warps: int) -> bool:
    """Whether warpgroups can read the sums of a product from tensor memory, and these fit there."""
    shape = shape_of(op.result.type)
    if len(shape) < 2 or not _is_worth(instruction, op, num_warps):
        return False
    m, n = tensor_block(shape)
    scales = 0
    if instruction.scales:
        if m != TENSOR_ROWS_OF_SCALES:
            return False
        groups = shape_of(op.operands[0].type)[-1] * instruction.scales // BYTES_OF_STEP
        scales = sum(scale_columns(whole_scales(rows, groups, True)) for rows in shape[-2:])
    least = instruction.shape[1] * (2 if m == TENSOR_LANES else 1)  # PTX ISA, tcgen05.mma, "Valid combinations": N of M
    return n >= least and math.prod(shape) // m + scales <= TENSOR_COLUMNS


def _is_worth(instruction: MmaInstruction, op: Op, num_warps: int) -> bool:
    """Whether every warpgroup of a task has a part of the product for itself."""
    *batches, m, n = shape_of(op.result.type)
    depth = shape_of(op.operands[0].type)[-1]
    if num_warps == _MISALIGNED or num_warps % instruction.warps or m < instruction.shape[0] or n < instruction.shape[1]:
        return False
    parts = math.prod(batches) * (m // instruction.shape[0]) * (n // instruction.shape[1])
    return depth >= instruction.k_extent and parts >= num_warps // instruction.warps


def _mma_name(op: Op, target: Target) -> str | None:
    a, b = (dtype_of(v.type) for v in op.operands[:2])
    if a in _FP8 and target.has("mma_fp8"):
        return f"m16n8k32_f32_{_FP8_NAMES[a]}_{_FP8_NAMES[b]}"
    if a is F16 and dtype_of(op.result.type) is F16:
        return "m16n8k16_f16_f16"
    if a is F16 or a in _FP8:
        return "m16n8k16_f32_f16"
    if a is BF16:
        return "m16n8k16_f32_bf16"
    if a is I8:
        return "m16n8k32_s32_s8"
    if a is F64:
        return "m16n8k8_f64" if target.capability >= _WIDE_F64_SINCE else "m8n8k4_f64"
    return "m16n8k8_f32_tf32" if a is F32 and op.attrs["input_precision"] != "ieee" else None


__all__ = ["instruction_name", "run", "tcgen05_name", "wgmma_name"]

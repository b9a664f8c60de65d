"""Choose the tensor-core instruction of each matrix product, by dtype, precision and target.

A product that gets none is computed by ordinary multiply-adds: float32 of the precision `ieee`, and everything before
sm_80. Below sm_89, which has no float8 products, operands of float8 become float16, which holds each of them exactly.
"""

from __future__ import annotations

from types import MappingProxyType

from tle2cuda.ir.nodes import Kernel, Op, Value, make_op
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, F64, I8, TileType, dtype_of
from tle2cuda.targets import Target, parse_target

_FP8 = (F8E4NV, F8E5)
_FP8_NAMES = {F8E4NV: "e4m3", F8E5: "e5m2"}
_WIDE_F64_SINCE = (9, 0)  # m16n8k8 with .f64


def run(kernel: Kernel) -> Kernel:
    """Note the instruction of each product that has one."""
    target = parse_target(kernel.target)
    return _Choose(target).kernel(kernel) if target.has("mma_bf16") else kernel


class _Choose(Rewriter):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self.target = target

    def visit(self, op: Op) -> None:
        if op.name != "dot":
            self.copy(op)
            return
        name = instruction_name(op, self.target)
        if name is None:
            self.copy(op)
            return
        operands = [self[v] for v in op.operands]
        if dtype_of(op.operands[0].type) in _FP8 and not self.target.has("mma_fp8"):
            operands[:2] = [self._as_half(v) for v in operands[:2]]
        attrs = MappingProxyType({**op.attrs, "instruction": name})
        new = self.emit(make_op("dot", tuple(operands), (op.result.type,), attrs, (), op.span, (op.result.name,)))
        self.bind(op.result, new.result)

    def _as_half(self, value: Value) -> Value:
        type_ = value.type
        assert isinstance(type_, TileType)
        wide = TileType(type_.shape, F16, type_.layout)
        return self.emit(make_op("cast", (value,), (wide,), {}, (), value.span, (value.name,))).result


def instruction_name(op: Op, target: Target) -> str | None:
    """Name of a product's instruction among `layout.MMA_INSTRUCTIONS`; None for ordinary multiply-adds."""
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


__all__ = ["instruction_name", "run"]

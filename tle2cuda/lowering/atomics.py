"""How atomics read in CUDA."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import CapabilityError, InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, F16, F32, F64, GLOBAL, I16, I32, I64, U16, U32, U64, DType, PointerType, element_of
from tle2cuda.lowering.cexpr import PRIMARY, C
from tle2cuda.lowering.state import State
from tle2cuda.lowering.writer import Block, joins_barrier
from tle2cuda.targets import parse_target

TEMPLATE = "atomics.cu.j2"
RELEASE_REMARK = "all writes come before the release"
_NAMES = {
    "add": "atomicAdd",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
    "min": "atomicMin",
    "max": "atomicMax",
    "xchg": "atomicExch",
    "cas": "atomicCAS",
}
_SCOPE_SUFFIX = {"cta": "_block", "cluster": "", "gpu": "", "sys": "_system"}
_FENCES = {
    "cta": "fence_cta",
    "cluster": "fence_cluster",
    "gpu": "fence_gpu",
    "sys": "fence_system",
}
_NATIVE = {
    "add": (I32, U32, U64, F32, F64, F16, BF16),
    "and": (I32, U32, U64),
    "or": (I32, U32, U64),
    "xor": (I32, U32, U64),
    "min": (I32, U32, I64, U64),
    "max": (I32, U32, I64, U64),
    "xchg": (I32, U32, U64, F32),
    "cas": (I32, U32, U64, U16),
}
# Reinterpreted as another type of the same width, where the operation does not care about the sign.
_AS_OTHER = {
    ("add", I64): U64,
    ("and", I64): U64,
    ("or", I64): U64,
    ("xor", I64): U64,
    ("xchg", I64): U64,
    ("xchg", F64): U64,
    ("cas", I64): U64,
    ("cas", F32): U32,
    ("cas", F64): U64,
    ("cas", I16): U16,
    ("cas", F16): U16,
    ("cas", BF16): U16,
}


def element_type(op: Op) -> DType:
    """Element type that an atomic works on."""
    pointer = element_of(op.operands[0].type)
    assert isinstance(pointer, PointerType)
    return pointer.element


def kind_of(op: Op) -> str:
    """`add`, `min`, ..., `cas`."""
    return "cas" if op.name == "atomic_cas" else str(op.attrs["kind"])


def spell(state: State, op: Op, address: C, *values: C) -> C:
    """Expression that performs the atomic on one element and yields the old value."""
    kind, dtype = kind_of(op), element_type(op)
    if kind == "or" and dtype is U16 and _is_zero(state, op):
        kind, values = "cas", (values[0], values[0])  # a swap of zero for zero changes nothing either
    pointer = element_of(op.operands[0].type)
    assert isinstance(pointer, PointerType)
    scope = op.attrs.get("scope", "gpu")
    suffix = _SCOPE_SUFFIX[scope] if pointer.space == "global" else ""
    state.include_for(dtype)
    function = _NAMES[kind] + suffix
    if kind == "cas" and dtype.bits == 16:  # which CUDA has for the GPU only
        function = state.helper("atomic_cas_short_system") if suffix == "_system" else _NAMES[kind]
    deps = address.deps.union(*(v.deps for v in values))
    if dtype in _NATIVE[kind]:
        return C(f"{function}({', '.join([address.text, *(v.text for v in values)])})", PRIMARY, deps)
    other = _AS_OTHER.get((kind, dtype))
    if other is not None:
        return C(_cast_call(state, function, dtype, other, address, values), PRIMARY, deps)
    if kind in ("min", "max") and dtype in (F32, F64):
        name = state.helper(f"atomic_{kind}_{'float' if dtype is F32 else 'double'}")
        return C(f"{name}({', '.join([address.text, *(v.text for v in values)])})", PRIMARY, deps)
    if kind == "xchg" and dtype is U16:
        name = state.helper("atomic_exchange_short" + ("_system" if scope == "sys" and suffix else ""))
        return C(f"{name}({', '.join([address.text, *(v.text for v in values)])})", PRIMARY, deps)
    raise CapabilityError(f"tl.atomic_{kind} is not available for {dtype.label}", op.span)


def _is_zero(state: State, op: Op) -> bool:
    """Whether the value that an atomic combines with memory is known to be 0."""
    known = state.info.get(op.operands[1])
    return known is not None and known.constant == 0


_VECTORS = {F32: "f32", F16: "f16", BF16: "bf16"}


def vector_addition(state: State, op: Op) -> str | None:
    """The helper that performs an addition of neighbours as a whole; None where it goes element by element.

    Hardware that has it takes vectors only where nobody asks for the old values.
    """
    pointer = element_of(op.operands[0].type)
    assert isinstance(pointer, PointerType)
    if op.name != "atomic_rmw" or kind_of(op) != "add" or pointer.space != GLOBAL or pointer.element not in _VECTORS:
        return None
    if op.attrs.get("scope", "gpu") != "gpu" or state.use_count(op.results[0]) > 0:
        return None
    if not parse_target(state.kernel.target).has("atomic_vector"):
        return None
    return f"red_add_vector_{_VECTORS[pointer.element]}"


def _cast_call(state: State, function: str, dtype: DType, other: DType, address: C, values: tuple[C, ...]) -> str:
    pointer = f"reinterpret_cast<{other.cuda}*>({address.text})"
    if not dtype.is_floating():
        inner = ", ".join([pointer, *(f"static_cast<{other.cuda}>({v.text})" for v in values)])
        return f"static_cast<{dtype.cuda}>({function}({inner}))"
    to, back = {
        F32: ("__float_as_uint", "__uint_as_float"),
        F64: ("double_as_bits", "bits_as_double"),
        F16: ("__half_as_ushort", "__ushort_as_half"),
        BF16: ("__bfloat16_as_ushort", "__ushort_as_bfloat16"),
    }[dtype]
    if dtype is F64:
        state.helper("double_bits")
    inner = ", ".join([pointer, *(f"{to}({v.text})" for v in values)])
    return f"{back}({function}({inner}))"


@dataclass(frozen=True, slots=True)
class Fences:
    """The fences in front of and behind the atomics of one operation, empty for none."""

    release: str = ""
    acquire: str = ""


@dataclass(frozen=True, slots=True)
class FenceView:
    """A fence of `atomics.cu.j2`."""

    fence: str


@dataclass(frozen=True, slots=True)
class FencedView:
    """The atomic of a scalar, between its fences; `meet` says that the CTA must meet in front of them."""

    meet: bool
    release: str
    acquire: str
    condition: str
    call: str


@dataclass(frozen=True, slots=True)
class ReplicatedView:
    """Atomics of a tile that several threads hold: the variable of the old values, and the fences."""

    type: str
    name: str
    release: str
    acquire: str


def must_meet(block: Block, fences: Fences) -> bool:
    """Whether a scalar's atomic needs a barrier of its own in front; one that the block ends with serves as well."""
    return bool(fences.release) and not joins_barrier(block, RELEASE_REMARK)


def fences(state: State, op: Op) -> Fences:
    """Fences around the atomics of one operation, for orders stronger than relaxed.

    Shared memory of one CTA is ordered by barriers, so only global and cluster atomics need them. An old value that
    nothing looks at tells nobody what was published, so there is nothing to acquire with it.
    """
    pointer = element_of(op.operands[0].type)
    assert isinstance(pointer, PointerType)
    sem = op.attrs.get("sem") or "acq_rel"
    if pointer.space == "shared" or sem == "relaxed":
        return Fences()
    if sem not in ("acquire", "release", "acq_rel"):
        raise InternalError(f"unknown memory order {sem!r}", op.span)
    scope = op.attrs.get("scope", "gpu")
    if pointer.space == "cluster" and scope == "cta":
        scope = "cluster"
    releases, acquires = sem != "acquire", sem != "release" and state.use_count(op.results[0]) > 0
    if not releases and not acquires:
        return Fences()
    fence = f"{state.helper(_FENCES[scope])}()"
    return Fences(fence if releases else "", fence if acquires else "")

"""The launch contract: all that must be known to launch an emitted kernel, frozen and machine-readable.

JIT, `compile()`, the command line, the C++ launcher and the emulator read this and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from tle2cuda.errors import ArgumentError, LaunchError
from tle2cuda.targets import MAX_GRID

SCHEMA_VERSION = 1

Dim3 = tuple[int, int, int]

TENSOR_MAP_BYTES = 128
"""Size of a `CUtensorMap`."""

DTYPE_BYTES: dict[str, int] = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "u8": 1,
    "u16": 2,
    "u32": 4,
    "u64": 8,
    "fp16": 2,
    "bf16": 2,
    "fp32": 4,
    "fp64": 8,
    "fp8e4nv": 1,
    "fp8e5": 1,
    "fp8e4b15": 1,
}
"""Names of element types in signatures and contracts, with their sizes in bytes."""


@dataclass(frozen=True, slots=True)
class ArgSpec:
    """One run-time argument of a launch.

    Attributes:
        name: The user's name.
        kind: ``pointer`` to global memory, ``scalar`` passed by value, or ``tensor_map``, a tensor map passed by value.
        dtype: Element type, a key of `DTYPE_BYTES`; of a pointer or tensor map, that of what it leads to.
        divisibility: Known divisor of the scalar, or alignment of the pointer in bytes; 1 when nothing is
            known.
        is_const: The kernel never writes through this pointer.
        is_passed: It is a parameter of the CUDA kernel. Otherwise a launch takes it all the same, and only the tensor
            maps are made of it.
    """

    name: str
    kind: Literal["pointer", "scalar", "tensor_map"]
    dtype: str
    divisibility: int = 1
    is_const: bool = False
    is_passed: bool = True

    @property
    def type_string(self) -> str:
        """The argument in signature notation, such as ``*fp32:16``."""
        star = "*" if self.kind == "pointer" else ""
        hint = f":{self.divisibility}" if self.divisibility > 1 else ""
        return f"{star}{self.dtype}{hint}"

    @property
    def size_bytes(self) -> int:
        """Size of the CUDA parameter."""
        if self.kind == "tensor_map":
            return TENSOR_MAP_BYTES
        return 8 if self.kind == "pointer" else DTYPE_BYTES[self.dtype]


@dataclass(frozen=True, slots=True)
class ScratchSpec:
    """A global-memory buffer that the launcher provides as a trailing pointer argument.

    Attributes:
        name: Name of the CUDA parameter.
        fixed_bytes: Bytes needed whatever the grid is.
        bytes_per_cta: Further bytes for each CTA of the grid.
        zero: The kernel expects zeros at its start.
        restores_zero: The kernel leaves zeros behind, so a private buffer is zeroed only once.
        alignment_bytes: Alignment of the buffer.
    """

    name: str
    fixed_bytes: int = 0
    bytes_per_cta: int = 0
    zero: bool = True
    restores_zero: bool = False
    alignment_bytes: int = 16

    def size_bytes(self, num_ctas: int) -> int:
        """Bytes needed for a grid of `num_ctas`."""
        return self.fixed_bytes + self.bytes_per_cta * num_ctas


@dataclass(frozen=True, slots=True)
class TensorMapSpec:
    """A tensor map that the launcher encodes from other arguments and passes behind the scratch buffers.

    `offset_elems`, `shape` and `strides` are expressions over names of scalar arguments: C++ text of integers, names,
    parentheses, `+ - * / %` (`/` and `%` truncate) and the functions `min` and `max`, computed without overflow.
    Dimensions come in the order of the language, the contiguous one last; the driver takes them from the last to the first.

    Attributes:
        name: Name of the CUDA parameter, a `CUtensorMap` passed by value.
        dtype: Element type, a key of `DTYPE_BYTES`.
        base: The pointer argument that it leads to.
        shape: Extents of the tensor in elements.
        strides: Elements from one index to the next along each dimension but the last, whose stride is 1.
        box: Extents in elements of what one copy moves.
        offset_elems: Elements from the pointer to the tensor's first one.
        element_strides: Every how many elements along each dimension are moved.
        swizzle_bytes: Span of the swizzle in shared memory: 0, 32, 64 or 128.
        padding: What elements outside of the tensor are in shared memory: ``zero`` or ``nan``.
        l2_promotion_bytes: Size of what the L2 cache fetches at least: 0, 64, 128 or 256.
        source: The user's line, such as ``gemm.py:12``, for messages.
    """

    name: str
    dtype: str
    base: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    box: tuple[int, ...]
    offset_elems: str = "0"
    element_strides: tuple[int, ...] = ()
    swizzle_bytes: int = 0
    padding: Literal["zero", "nan"] = "zero"
    l2_promotion_bytes: int = 128
    source: str = ""

    @property
    def steps(self) -> tuple[int, ...]:
        """The element strides, ones where none are given."""
        return self.element_strides or (1,) * len(self.box)

    @property
    def size_bytes(self) -> int:
        """Size of the CUDA parameter."""
        return TENSOR_MAP_BYTES

    @property
    def type_string(self) -> str:
        """What it leads to, in signature notation: ``tensordesc<fp16[64, 32]>``."""
        padding = ", nan" if self.padding == "nan" else ""
        return f"tensordesc<{self.dtype}[{', '.join(map(str, self.box))}]{padding}>"

    def to_data(self) -> dict[str, Any]:
        """What stands for it in the contract's JSON."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "base": self.base,
            "offset_elems": self.offset_elems,
            "shape": list(self.shape),
            "strides": list(self.strides),
            "box": list(self.box),
            "element_strides": list(self.steps),
            "swizzle_bytes": self.swizzle_bytes,
            "padding": self.padding,
            "l2_promotion_bytes": self.l2_promotion_bytes,
            "source": self.source,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> TensorMapSpec:
        """Read what `to_data` made."""
        steps = tuple(int(step) for step in data["element_strides"])
        return cls(
            name=str(data["name"]),
            dtype=str(data["dtype"]),
            base=str(data["base"]),
            shape=tuple(map(str, data["shape"])),
            strides=tuple(map(str, data["strides"])),
            box=tuple(int(extent) for extent in data["box"]),
            offset_elems=str(data["offset_elems"]),
            element_strides=() if set(steps) == {1} else steps,
            swizzle_bytes=int(data["swizzle_bytes"]),
            padding=data["padding"],
            l2_promotion_bytes=int(data["l2_promotion_bytes"]),
            source=str(data["source"]),
        )


@dataclass(frozen=True, slots=True)
class LaunchContract:
    """How to launch one emitted kernel.

    The grid of a contract always counts CTAs. `kernel[grid]` multiplies the user's grid by the cluster shape
    first (`launch_grid`); `CompiledKernel.__call__`, like CuPy's, takes the number of CTAs itself.

    Attributes:
        kernel_name: Name of the `extern "C"` kernel.
        source_file: File name of the Python source, without a directory.
        source_line: Line of the function's definition.
        target: Architecture that the text was emitted for, such as ``sm_90a``.
        args: Run-time arguments of a launch; those that `is_passed`, in the order of the CUDA parameters.
        constants: Constexpr parameters in signature order, as pairs of name and `repr`.
        cta_threads: Threads of one CTA, all in x.
        cluster: CTAs of one cluster along x, y, z; compiled in as `__cluster_dims__`.
        cooperative: All CTAs must be resident; launched cooperatively.
        programmatic: May begin before the grid in front of it in the stream has ended (programmatic dependent launch).
        shared_static_bytes: Static shared memory of one CTA.
        dynamic_shared_bytes: Dynamic shared memory to launch with.
        scratch: Global buffers passed behind the arguments.
        tensor_maps: Tensor maps that are encoded from the arguments and passed behind the scratch buffers.
        min_arch: Oldest architecture the text compiles for.
    """

    kernel_name: str
    source_file: str
    source_line: int
    target: str
    args: tuple[ArgSpec, ...]
    constants: tuple[tuple[str, str], ...] = ()
    cta_threads: int = 128
    cluster: Dim3 = (1, 1, 1)
    cooperative: bool = False
    shared_static_bytes: int = 0
    dynamic_shared_bytes: int = 0
    scratch: tuple[ScratchSpec, ...] = ()
    tensor_maps: tuple[TensorMapSpec, ...] = ()
    min_arch: str = "sm_70"
    programmatic: bool = False

    @property
    def parameters(self) -> tuple[ArgSpec | ScratchSpec | TensorMapSpec, ...]:
        """What the CUDA kernel takes, in its order: arguments, scratch buffers, tensor maps."""
        return (*(a for a in self.args if a.is_passed), *self.scratch, *self.tensor_maps)

    @property
    def num_warps(self) -> int:
        """Warps of one CTA as launched."""
        return self.cta_threads // 32

    @property
    def cluster_size(self) -> int:
        """CTAs of one cluster."""
        return prod(self.cluster)

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory of one CTA."""
        return self.shared_static_bytes + self.dynamic_shared_bytes

    def launch_grid(self, grid: int | Sequence[int]) -> Dim3:
        """The number of CTAs that `kernel[grid]` starts: the grid times the cluster shape.

        Raises:
            LaunchError: The grid is not one to three integers, or exceeds what CUDA allows.
        """
        x, y, z = normalize_grid(grid)
        a, b, c = self.cluster
        ctas = (x * a, y * b, z * c)
        check_grid(ctas)
        return ctas

    def to_json(self) -> str:
        """The contract as JSON: the same contract always gives the same bytes."""
        data: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "kernel": self.kernel_name,
            "source": {"file": self.source_file, "line": self.source_line},
            "target": self.target,
            "min_arch": self.min_arch,
            "grid": "ctas",
            "cta_threads": self.cta_threads,
            "cluster": list(self.cluster),
            "cooperative": self.cooperative,
            **({"programmatic": True} if self.programmatic else {}),
            "shared_static_bytes": self.shared_static_bytes,
            "dynamic_shared_bytes": self.dynamic_shared_bytes,
            "args": [
                {
                    "name": a.name,
                    "kind": a.kind,
                    "dtype": a.dtype,
                    "divisibility": a.divisibility,
                    "const": a.is_const,
                    **({} if a.is_passed else {"passed": False}),
                }
                for a in self.args
            ],
            "scratch": [
                {
                    "name": s.name,
                    "fixed_bytes": s.fixed_bytes,
                    "bytes_per_cta": s.bytes_per_cta,
                    "zero": s.zero,
                    "restores_zero": s.restores_zero,
                    "alignment_bytes": s.alignment_bytes,
                }
                for s in self.scratch
            ],
            "tensor_maps": [m.to_data() for m in self.tensor_maps],
            "constants": [[name, text] for name, text in self.constants],
        }
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> LaunchContract:
        """Read what `to_json` wrote.

        Raises:
            ArgumentError: The text is not a contract of this schema.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ArgumentError(f"not a launch contract: {error}") from None
        if not isinstance(data, dict) or "schema" not in data:
            raise ArgumentError("not a launch contract: it has no `schema`")
        if data["schema"] != SCHEMA_VERSION:
            raise ArgumentError(
                f"launch contract of schema {data['schema']!r}; this version reads schema {SCHEMA_VERSION}",
                help="emit the kernel again with this version of tle2cuda",
            )
        try:
            return cls._from_data(data)
        except (KeyError, TypeError, ValueError) as error:
            raise ArgumentError(f"damaged launch contract: {type(error).__name__}: {error}") from None

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> LaunchContract:
        x, y, z = (int(extent) for extent in data["cluster"])
        return cls(
            kernel_name=str(data["kernel"]),
            source_file=str(data["source"]["file"]),
            source_line=int(data["source"]["line"]),
            target=str(data["target"]),
            min_arch=str(data["min_arch"]),
            cta_threads=int(data["cta_threads"]),
            cluster=(x, y, z),
            cooperative=bool(data["cooperative"]),
            programmatic=bool(data.get("programmatic", False)),
            shared_static_bytes=int(data["shared_static_bytes"]),
            dynamic_shared_bytes=int(data["dynamic_shared_bytes"]),
            args=tuple(_argument(a) for a in data["args"]),
            scratch=tuple(ScratchSpec(**s) for s in data["scratch"]),
            tensor_maps=tuple(TensorMapSpec.from_data(m) for m in data.get("tensor_maps", ())),
            constants=tuple((str(name), str(value)) for name, value in data["constants"]),
        )


def _argument(data: dict[str, Any]) -> ArgSpec:
    return ArgSpec(
        data["name"],
        data["kind"],
        data["dtype"],
        int(data["divisibility"]),
        bool(data["const"]),
        bool(data.get("passed", True)),
    )


def normalize_grid(grid: int | Sequence[int]) -> Dim3:
    """One to three extents as three.

    Raises:
        LaunchError: It is anything else.
    """
    extents: tuple[Any, ...]
    try:
        extents = tuple(grid)  # type: ignore[arg-type]
    except TypeError:
        extents = (grid,)  # one number, or what is none
    if not 1 <= len(extents) <= 3:
        raise LaunchError(f"a grid has one to three extents, got {len(extents)}: {extents}")
    try:
        values = [e.__index__() for e in extents]
    except AttributeError:
        raise LaunchError(f"grid extents are integers, got {extents}") from None
    values += [1] * (3 - len(values))
    return (values[0], values[1], values[2])


def check_grid(ctas: Dim3) -> None:
    """Refuse a number of CTAs that CUDA cannot launch.

    Raises:
        LaunchError: An extent is negative or beyond its limit.
    """
    for axis, extent, limit in zip("xyz", ctas, MAX_GRID, strict=True):
        if extent < 0:
            raise LaunchError(f"grid extent {axis} is negative: {ctas}")
        if extent > limit:
            raise LaunchError(
                f"grid extent {axis} = {extent} is beyond the limit of {limit} CTAs",
                help="put the largest extent first: x may have 2147483647 CTAs, y and z 65535 each",
            )

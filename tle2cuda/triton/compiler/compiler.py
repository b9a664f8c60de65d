"""`triton.compiler.compiler`: a source with its signature, and compiling it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tle2cuda.errors import ArgumentError
from tle2cuda.runtime.launches import HostLaunch
from tle2cuda.runtime.parameters import unwrap_constexpr
from tle2cuda.targets import parse_target
from tle2cuda.triton import knobs
from tle2cuda.triton.backends import backends
from tle2cuda.triton.backends.compiler import BaseBackend, GPUTarget
from tle2cuda.triton.backends.nvidia.compiler import CUDABackend
from tle2cuda.triton.runtime import driver
from tle2cuda.triton.runtime.cache import get_cache_manager, triton_key

_OPTIONS = ("num_warps", "num_stages", "cluster_dims", "launch_cooperative_grid", "maxnreg", "enable_fp_fusion")


class _CompiledKernels(type):
    """Knows compiled kernels by what they can do: their class is made when CuPy is first needed."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, HostLaunch) or hasattr(type(instance), "bind_launch")


class CompiledKernel(metaclass=_CompiledKernels):
    """The class of compiled kernels for `isinstance`; the objects are `cupy.RawKernel`s (`tle2cuda.compile`)."""

    launch_enter_hook: Any = None
    launch_exit_hook: Any = None


class ASTSource:
    """A kernel with what it is compiled for.

    Args:
        fn: Jit object.
        signature: Type of every parameter by name; ``constexpr`` for constants.
        constexprs: Values of constants, by name or by the tuple of their position.
        attrs: Attributes by the tuple of a position: ``[["tt.divisibility", 16]]``.
    """

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, str],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Sequence[Sequence[Any]]] | None = None,
    ) -> None:
        self.fn = fn
        self.name = fn.__name__
        self.signature = dict(signature)
        names = list(self.signature)
        self.constants = {_name_of(key, names): unwrap_constexpr(value) for key, value in (constexprs or {}).items()}
        self.attrs = {_name_of(key, names): tuple(map(tuple, value)) for key, value in (attrs or {}).items()}

    def entries(self) -> dict[str, str]:
        """The signature with divisibility in our notation."""
        hints = {name for name, values in self.attrs.items() if ("tt.divisibility", 16) in values}
        return {
            name: f"{entry}:16" if name in hints and entry != "constexpr" else entry
            for name, entry in self.signature.items()
        }


def _name_of(key: Any, names: Sequence[str]) -> str:
    if isinstance(key, str):
        return key
    position = key[0] if isinstance(key, tuple) else key
    return names[position]


def compile(src: Any, target: Any = None, options: Mapping[str, Any] | None = None, **unused: Any) -> Any:
    """Compile a kernel ahead of time.

    Args:
        src: `ASTSource`.
        target: `GPUTarget`; the current device when None.
        options: Launch options.
        **unused: Accepted for compatibility.

    Returns:
        The compiled kernel: a `cupy.RawKernel` with `.asm` and `.metadata`.

    Raises:
        ArgumentError: The source is not an `ASTSource`.
        CompilationError: The kernel is wrong.
    """
    if not isinstance(src, ASTSource):
        raise ArgumentError(
            f"triton.compile takes an ASTSource, got {type(src).__name__}",
            help="intermediate representations of Triton are not read; pass the kernel itself",
        )
    from tle2cuda.jit_function import JitFunction
    from tle2cuda.runtime.signature import parse_signature

    kernel = src.fn if isinstance(src.fn, JitFunction) else JitFunction(getattr(src.fn, "fn", src.fn))
    specialization = parse_signature(kernel.parameters, src.entries(), src.constants, src.name)
    given = {name: value for name, value in dict(options or {}).items() if name in _OPTIONS}
    arch = None if target is None else parse_target(_arch_name(target)).name
    return kernel.compile_specialization(specialization, given, arch)


def _arch_name(target: Any) -> str:
    arch = target.arch
    if isinstance(arch, str):
        return arch
    return f"sm_{arch}a" if arch in (90, 100, 120) else f"sm_{arch}"


def make_backend(target: Any) -> CUDABackend:
    """The backend of a target."""
    return CUDABackend(target)


__all__ = [
    "ASTSource",
    "BaseBackend",
    "CompiledKernel",
    "GPUTarget",
    "backends",
    "compile",
    "driver",
    "get_cache_manager",
    "knobs",
    "make_backend",
    "triton_key",
]

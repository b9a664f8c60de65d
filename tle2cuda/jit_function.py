"""`@tle2cuda.jit`: kernels that are compiled when they are launched.

A launch binds its arguments by a function generated for the kernel's parameter list, finds the compiled
kernel by the key of that binding, and hands the values to the launcher. What is slow happens once per key.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from tle2cuda.compiler import (
    check_num_warps,
    current_arch,
    emit_specialized,
    pointer_spec,
    public,
    trace_specialized,
)
from tle2cuda.errors import (
    ArgumentError,
    InternalError,
    InvalidArgument,
    KernelError,
    LaunchError,
    ToolchainError,
)
from tle2cuda.ir.types import DType
from tle2cuda.runtime.args import HOST, BoundArguments, array_dtype, make_binder, specialize
from tle2cuda.runtime.contract import Dim3, LaunchContract, check_grid, normalize_grid
from tle2cuda.runtime.device import DEVICE_VARIABLE, HOST_DEVICES, chosen_device, host_device, on_device
from tle2cuda.runtime.frames import user_frames
from tle2cuda.runtime.signature import Parameter, Specialization, parameters_of
from tle2cuda.targets import DEFAULT_TARGET, parse_target

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Any]

_OPTION_DEFAULTS: Mapping[str, Any] = {
    "num_warps": 4,
    "num_stages": 3,
    "num_ctas": 1,
    "cluster_dims": None,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "enable_fp_fusion": True,
    "maxnreg": None,
    "debug": False,
}
_REMEMBERED_GRIDS = 1024


class JitFunction:
    """A kernel or device function of the tile language.

    `kernel[grid](*args, **kwargs)` launches it: on torch, CuPy and DLPack arrays on their GPU and the current
    stream of their library, on NumPy arrays in the emulator, or in the interpreter where there is no C++ compiler.
    `TLE2CUDA_DEVICE` chooses another one. Inside kernels it is called like a function.

    Attributes:
        fn: The Python function.
        do_not_specialize: Parameters that always stay run-time values without hints.
        do_not_specialize_on_alignment: Parameters whose divisibility by 16 is ignored.
        noinline: Accepted for compatibility; device functions are always inlined.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        do_not_specialize: Sequence[int | str] = (),
        do_not_specialize_on_alignment: Sequence[int | str] = (),
        noinline: bool = False,
    ) -> None:
        self.fn = fn
        self.do_not_specialize = tuple(do_not_specialize)
        self.do_not_specialize_on_alignment = tuple(do_not_specialize_on_alignment)
        self.noinline = noinline
        self._launches: dict[Any, _GPULaunch | _HostLaunch] = {}
        self._lock = threading.Lock()
        functools.update_wrapper(self, fn)

    def __repr__(self) -> str:
        return f"<tle2cuda kernel {self.fn.__module__}.{self.fn.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses: a kernel is launched, not called.

        Raises:
            LaunchError: Always.
        """
        name = self.fn.__name__
        raise LaunchError(f"{name} is a kernel and cannot be called from Python", help=f"launch it with {name}[grid](...)")

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        return functools.partial(self._launch, grid)

    @property
    def eager(self) -> _EagerKernel:
        """``kernel.eager[grid](...)`` runs the kernel as ordinary Python on host arrays, for `breakpoint` and `print`."""
        return _EagerKernel(self)

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, as specialisation sees them."""
        return parameters_of(self.fn, self.do_not_specialize, self.do_not_specialize_on_alignment)

    @property
    def arg_names(self) -> list[str]:
        """Names of the parameters."""
        return [parameter.name for parameter in self.parameters]

    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel; with `warmup`, only compiles it.

        Args:
            *args: The kernel's arguments.
            grid: One to three extents, or a function from the bound arguments to them. In a cluster kernel
                they count clusters.
            warmup: Compile without launching.
            **kwargs: Further arguments, and launch options such as `num_warps`.

        Returns:
            The compiled kernel when `warmup`, else None.
        """
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self._launch(grid, *args, **kwargs)

    @public
    def warmup(self, *args: Any, grid: Grid = (1,), **kwargs: Any) -> Any:
        """Compiles the kernel for these arguments without launching it. Needs no GPU.

        Args:
            *args: The kernel's arguments; a dtype stands for an aligned array of it.
            grid: Ignored.
            **kwargs: Further arguments and launch options.

        Returns:
            The compiled kernel, with `.metadata` and `.asm`.
        """
        options = self._take_options(kwargs)
        values = self._in_order(args, kwargs)
        mocks = {
            p.name: dtype
            for p, value in zip(self.parameters, values, strict=True)
            if not p.is_constexpr and (dtype := _dtype_argument(value))
        }
        rest = [(p, value) for p, value in zip(self.parameters, values, strict=True) if p.name not in mocks]
        bound = specialize([p for p, _ in rest], [value for _, value in rest], self.fn.__name__)
        specs = {spec.name: spec for spec in bound.specialization.args}
        specs |= {name: pointer_spec(name, dtype) for name, dtype in mocks.items()}
        ordered = tuple(specs[p.name] for p in self.parameters if p.name in specs)
        device = None if bound.device == HOST else bound.device
        return self._compile(Specialization(ordered, bound.specialization.constants), options, device)

    # -- launching --

    @functools.cached_property
    def _binder(self) -> Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]]:
        return make_binder(self.parameters, self.fn.__name__)

    @functools.cached_property
    def _option_names(self) -> frozenset[str]:
        return frozenset(_OPTION_DEFAULTS)

    @functools.cached_property
    def _shared_names(self) -> frozenset[str]:
        """Options that are parameters too: the kernel gets their value as well."""
        return self._option_names.intersection(self.arg_names)

    def _take_options(self, kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Removes the launch options from `kwargs`; returns them sorted."""
        given = self._option_names.intersection(kwargs)
        if not given:
            return ()
        shared = self._shared_names
        options = []
        for name in sorted(given):
            value = kwargs[name] if name in shared else kwargs.pop(name)
            options.append((name, tuple(value) if isinstance(value, list) else value))
        return tuple(options)

    def _launch(self, grid: Grid, /, *args: Any, **kwargs: Any) -> None:
        try:
            options = self._take_options(kwargs) if kwargs else ()
            try:
                key, values = self._binder(*args, **kwargs)
                launch = self._launches.get((key, options))
            except (TypeError, ArgumentError):
                self._explain(args, kwargs)
                raise
            if launch is None:
                launch = self._prepare((key, options), args, kwargs, options)
            if callable(grid):
                grid = grid(self._named(args, kwargs))
            launch(grid, values)
        except InternalError:
            raise
        except KernelError as error:
            # In eager mode the kernel's own frames are the user's place.
            raise error.with_traceback(user_frames(error.__traceback__)) from error.__cause__

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """All bound arguments by name, as a grid function sees them."""
        names = {p.name: p.default for p in self.parameters if p.has_default}
        names.update(zip(self.arg_names, args, strict=False))
        names.update(kwargs)
        return names

    def _in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value for each parameter.

        Raises:
            ArgumentError: The arguments do not fit the parameters.
        """
        name = self.fn.__name__
        known = self.arg_names
        for keyword in kwargs:
            if keyword not in known:
                close = difflib.get_close_matches(keyword, [*known, *_OPTION_DEFAULTS], n=1, cutoff=0.6)
                raise ArgumentError(
                    f"{name} has no parameter or launch option `{keyword}`",
                    facts=(
                        f"parameters: {', '.join(known)}",
                        f"launch options: {', '.join(_OPTION_DEFAULTS)}",
                    ),
                    help=f"did you mean `{close[0]}`?" if close else "",
                )
        try:
            bound = inspect.signature(self.fn).bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{name}: {error}", facts=(f"parameters: {', '.join(known)}",)) from None
        values = self._named((), bound.arguments)
        return [values[parameter] for parameter in known]

    def _explain(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raises the error that names the argument which does not fit, if there is one."""
        specialize(self.parameters, self._in_order(args, kwargs), self.fn.__name__)

    def _prepare(
        self, key: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: tuple[tuple[str, Any], ...]
    ) -> _GPULaunch | _HostLaunch:
        """Compiles for a key that is new; later launches with this key find the result."""
        with self._lock:
            known = self._launches.get(key)
            if known is None:
                bound = specialize(self.parameters, self._in_order(args, kwargs), self.fn.__name__)
                known = self._launches[key] = self._make_launch(bound, options)
            return known

    def _make_launch(self, bound: BoundArguments, options: tuple[tuple[str, Any], ...]) -> _GPULaunch | _HostLaunch:
        chosen = chosen_device()
        if bound.device in (HOST, None) and (bound.device == HOST or chosen in HOST_DEVICES or not _has_gpu()):
            launch = _HostLaunch(self, bound, _Options(self.fn.__name__, options, DEFAULT_TARGET))
            launch.prepare()
            return launch
        if chosen in HOST_DEVICES:
            raise LaunchError(
                f"{DEVICE_VARIABLE}={chosen}, but the arrays lie on GPU {bound.device}",
                help="pass NumPy arrays or host tensors, or choose cuda",
            )
        compiled = self._compile(bound.specialization, options, bound.device)
        return _GPULaunch(compiled, bound)

    def _compile(self, specialization: Specialization, options: tuple[tuple[str, Any], ...], device: int | None) -> Any:
        from tle2cuda.runtime import CompileOptions, build

        arch = current_arch(device)
        settings = _Options(self.fn.__name__, options, arch)
        emitted = emit_specialized(
            self,
            specialization,
            num_warps=settings.num_warps,
            arch=arch,
            cluster_dims=settings.cluster_dims,
            cooperative=settings.cooperative,
        )
        return build(
            emitted,
            options=CompileOptions(
                emitted.contract.target,
                fuse_multiply_add=settings.fuse_multiply_add,
                max_registers=settings.max_registers,
            ),
        )


class _EagerKernel:
    """A kernel whose launches run in eager mode.

    Args:
        kernel: The jit object.
    """

    def __init__(self, kernel: JitFunction) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> None:
            with on_device("eager"):
                self._kernel._launch(grid, *args, **kwargs)

        return launch


class _Options:
    """Launch options, checked.

    Args:
        kernel: Name for messages.
        options: What the launch gave.
        arch: Target architecture.
    """

    def __init__(self, kernel: str, options: Sequence[tuple[str, Any]], arch: str) -> None:
        values = {**_OPTION_DEFAULTS, **dict(options)}
        self.num_warps = check_num_warps(values["num_warps"])
        self.cooperative = bool(values["launch_cooperative_grid"])
        self.fuse_multiply_add = bool(values["enable_fp_fusion"])
        self.max_registers: int | None = values["maxnreg"]
        self.cluster_dims: Dim3 | None = None
        if values["num_ctas"] != 1:
            raise InvalidArgument(
                f"{kernel}: a launch requires num_ctas=1, got {values['num_ctas']!r}",
                help="ask for a cluster with cluster_dims=(x, y, z) or a mesh with cluster axes",
            )
        if values["launch_pdl"]:
            raise InvalidArgument(f"{kernel}: launch_pdl is not supported")
        if values["cluster_dims"] is not None:
            self.cluster_dims = _check_cluster(kernel, values["cluster_dims"], arch)


def _check_cluster(kernel: str, dims: Any, arch: str) -> Dim3:
    is_dims = isinstance(dims, (tuple, list)) and len(dims) == 3
    if not is_dims or not all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in dims):
        raise InvalidArgument(f"{kernel}: cluster_dims must be three positive ints, got {dims!r}")
    x, y, z = dims
    if x * y * z > 1 and not parse_target(arch).has("cluster"):
        raise InvalidArgument(f"{kernel}: cluster_dims={tuple(dims)} requires NVIDIA SM90+, the target is {arch}")
    return x, y, z


class _GPULaunch:
    """Launches one compiled kernel: the fast path.

    Args:
        compiled: The compiled kernel.
        bound: The arguments it was compiled for.
    """

    __slots__ = ("compiled", "contract", "device", "grids", "launch", "library", "pick", "stream")

    def __init__(self, compiled: Any, bound: BoundArguments) -> None:
        from tle2cuda.runtime.launcher import stream_getter

        self.compiled = compiled
        self.contract: LaunchContract = compiled.contract
        self.device = bound.device
        self.pick = _picker(bound.runtime_indices)
        self.launch = compiled.launcher.launch
        self.stream = stream_getter(bound.library)
        self.grids: dict[Any, Dim3] = {}

    def __call__(self, grid: Any, values: tuple[Any, ...]) -> None:
        try:
            ctas = self.grids.get(grid)
        except TypeError:  # a list
            grid = tuple(grid)
            ctas = self.grids.get(grid)
        if ctas is None:
            ctas = self.contract.launch_grid(grid)
            if len(self.grids) < _REMEMBERED_GRIDS:
                self.grids[grid] = ctas
        self.launch(ctas, self.pick(values), self.stream(self.device), self.device)


class _HostLaunch:
    """Runs a kernel on arrays in host memory: interpreted, as ordinary Python, or as its emitted file in the emulator.

    Args:
        kernel: The jit object.
        bound: The arguments it is specialised for.
        settings: The launch options.
    """

    __slots__ = ("bound", "emulation", "kernel", "pick", "settings", "traced")

    def __init__(self, kernel: JitFunction, bound: BoundArguments, settings: _Options) -> None:
        self.kernel = kernel
        self.bound = bound
        self.settings = settings
        self.pick = _picker(bound.runtime_indices)
        self.traced: Any = None
        self.emulation: Any = None

    def prepare(self) -> str:
        """Compile for the device that `TLE2CUDA_DEVICE` chooses, unless that is done; returns the device.

        Raises:
            CompilationError: The kernel is wrong.
            ToolchainError: The emulator is chosen and there is no C++ compiler.
        """
        device = host_device()
        settings = self.settings
        options: dict[str, Any] = {
            "num_warps": settings.num_warps,
            "arch": DEFAULT_TARGET,
            "cluster_dims": settings.cluster_dims,
            "cooperative": settings.cooperative,
        }
        if device == "eager":
            return device  # nothing is compiled
        if device == "interpreter":
            if self.traced is None:
                self.traced = trace_specialized(self.kernel, self.bound.specialization, **options)
        elif self.emulation is None:
            from tle2cuda.emulator.api import Program

            self.emulation = Program(emit_specialized(self.kernel, self.bound.specialization, **options))
        return device

    def __call__(self, grid: Any, values: tuple[Any, ...]) -> None:
        device = self.prepare()
        if device == "eager":
            from tle2cuda import eager

            specialization = self.bound.specialization
            run_time, constants = specialization.args, specialization.constants
            eager.run(self.kernel.fn, grid, run_time, self.pick(values), constants, self.settings.cluster_dims)
            return
        if device == "emulator":
            from tle2cuda.emulator import emulate_in_place

            emulate_in_place(self.emulation, self.emulation.contract.launch_grid(grid), self.pick(values))
            return
        from tle2cuda import interpreter

        x, y, z = normalize_grid(grid)
        a, b, c = self.traced.cluster_dims
        ctas = (x * a, y * b, z * c)
        check_grid(ctas)
        if x and y and z:
            interpreter.run(self.traced, ctas, self.pick(values))


def _picker(indices: tuple[int, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that takes the values at these positions out of a tuple."""
    if len(indices) > 1:
        return operator.itemgetter(*indices)
    if indices:
        (index,) = indices
        return lambda values: (values[index],)
    return lambda values: ()


def _has_gpu() -> bool:
    from tle2cuda.runtime import toolkit

    try:
        toolkit.require_gpu()
    except ToolchainError:
        return False
    return True


def _dtype_argument(value: Any) -> str:
    """Element type when an argument of `warmup` is a dtype that stands for an array of it; else empty."""
    if isinstance(value, DType):
        return value.short
    module = type(value).__module__.partition(".")[0]
    if module in ("torch", "numpy") and type(value).__name__.lower().endswith("dtype"):
        return array_dtype(str(value))
    return ""


@overload
def jit(fn: Callable[..., Any], /) -> JitFunction: ...


@overload
def jit(
    *,
    do_not_specialize: Sequence[int | str] = (),
    do_not_specialize_on_alignment: Sequence[int | str] = (),
    noinline: bool = False,
    debug: bool | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    do_not_specialize: Sequence[int | str] = (),
    do_not_specialize_on_alignment: Sequence[int | str] = (),
    noinline: bool = False,
    debug: bool | None = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Makes a Python function a kernel, or a function that kernels call.

    Args:
        fn: The function, when used without parentheses.
        do_not_specialize: Names or indices of integer parameters that stay run-time values even when they are
            1, and whose divisibility by 16 is ignored.
        do_not_specialize_on_alignment: Names or indices of parameters whose divisibility by 16 is ignored.
        noinline: Accepted for compatibility; functions are always inlined.
        debug: Accepted for compatibility.

    Example:
        >>> @tle2cuda.jit
        ... def double(x, out, n, BLOCK: tl.constexpr):
        ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        ...     tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    """

    def wrap(function: Callable[..., Any]) -> JitFunction:
        if not inspect.isfunction(function):
            raise ArgumentError(f"@tle2cuda.jit decorates a Python function, got {type(function).__name__}")
        return JitFunction(function, do_not_specialize, do_not_specialize_on_alignment, noinline)

    return wrap if fn is None else wrap(fn)

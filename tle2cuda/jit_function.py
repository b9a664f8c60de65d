"""`@tle2cuda.jit`: kernels that are compiled when they are launched.

A launch runs a function generated for the kernel's parameter list (`runtime/args.py`): it finds the compiled kernel
by the key of the arguments and hands the values to the launcher. What is slow happens once per key.
"""

from __future__ import annotations

import functools
import inspect
import textwrap
import threading
from bdb import BdbQuit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from tle2cuda.compiler import EmittedKernel, current_arch, emit_specialized, public
from tle2cuda.errors import ArgumentError, InternalError, KernelError, LaunchError
from tle2cuda.levels import check_level
from tle2cuda.near_names import did_you_mean
from tle2cuda.runtime.args import BoundArguments, launch_key, make_launcher, passed_arguments, specialize
from tle2cuda.runtime.descriptions import HOST, describe
from tle2cuda.runtime.device import DEVICE_VARIABLE, HOST_DEVICES, chosen_device, on_device
from tle2cuda.runtime.dump import dump
from tle2cuda.runtime.frames import hide_frames, without_frames
from tle2cuda.runtime.grid_names import GridNames
from tle2cuda.runtime.hooks import HOOKS, LaunchMetadata
from tle2cuda.runtime.launches import GPULaunch, HostLaunch, values_for_all
from tle2cuda.runtime.mocks import MockTensor
from tle2cuda.runtime.options import OPTION_DEFAULTS, LaunchOptions
from tle2cuda.runtime.parameters import KernelParam, Parameter, kernel_params, parameters_of
from tle2cuda.runtime.signature import Specialization
from tle2cuda.targets import DEFAULT_TARGET

Grid = int | Sequence[int] | Callable[[dict[str, Any]], Any]
T = TypeVar("T")


class KernelInterface(Generic[T]):
    """What is launched as `kernel[grid](...)`: jit objects, and tuners around them."""

    fn: Any

    def __getitem__(self, grid: Grid) -> Any:
        """The launch with a grid."""
        return functools.partial(self.run, grid=grid, warmup=False)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches, or with `warmup` only compiles."""
        raise NotImplementedError

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compiles without launching."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)


class JitFunction(KernelInterface[Any]):
    """A kernel or device function of the tile language.

    `kernel[grid](*args, **kwargs)` launches it: on torch, CuPy and DLPack arrays on their GPU and the current
    stream of their library, on NumPy arrays in the emulator, or in the interpreter where there is no C++ compiler.
    `TLE2CUDA_DEVICE` chooses another one. A launch returns the compiled kernel. Inside kernels it is called like a
    function.

    Attributes:
        fn: The Python function.
        do_not_specialize: Parameters that always stay run-time values without hints.
        do_not_specialize_on_alignment: Parameters whose divisibility by 16 is ignored.
        noinline: Accepted for compatibility; device functions are always inlined.
        language: Level of the language that a kernel and what it calls are read by; None leaves it to the environment.
        debug: Compile device assertions in, and checks of integer overflow, unless a launch says `debug=False`.
        launch_metadata: Function from grid, metadata and arguments to what launch hooks learn.
        pre_run_hooks: Functions that are called with the arguments before every launch.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        do_not_specialize: Sequence[int | str] = (),
        do_not_specialize_on_alignment: Sequence[int | str] = (),
        noinline: bool = False,
        debug: bool | None = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
        language: str | None = None,
    ) -> None:
        self.fn = fn
        self.do_not_specialize = tuple(do_not_specialize or ())
        self.do_not_specialize_on_alignment = tuple(do_not_specialize_on_alignment or ())
        self.noinline = bool(noinline)
        self.debug = debug
        self.language = None if language is None else check_level(language)
        self.launch_metadata = launch_metadata
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._repr = repr
        self._launches: dict[Any, Callable[[Any, tuple[Any, ...]], Any]] = {}  # what the generated function calls
        self._prepared: dict[Any, GPULaunch | HostLaunch] = {}
        self._compiling: dict[Any, threading.Lock] = {}
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

    # -- what packages read of a jit object --

    @functools.cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, as specialisation sees them."""
        return parameters_of(self.fn, self.do_not_specialize, self.do_not_specialize_on_alignment)

    @functools.cached_property
    def arg_names(self) -> list[str]:
        """Names of the parameters."""
        return [parameter.name for parameter in self.parameters]

    @functools.cached_property
    def params(self) -> list[KernelParam]:
        """The parameters under Triton's attributes."""
        return kernel_params(self.fn, self.parameters)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        """Signature of the Python function."""
        return inspect.signature(self.fn)

    @property
    def constexprs(self) -> list[int]:
        """Positions of the `tl.constexpr` parameters."""
        return [index for index, parameter in enumerate(self.parameters) if parameter.is_constexpr]

    @functools.cached_property
    def src(self) -> str:
        """Source of the function, from its `def` on."""
        from tle2cuda.runtime.kernel_text import source_text

        lines = textwrap.dedent(source_text(self.fn)).splitlines(keepends=True)
        start = next((index for index, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
        return "".join(lines[start:])

    @functools.cached_property
    def raw_src(self) -> list[str]:
        """Lines of the source, decorators included."""
        from tle2cuda.runtime.kernel_text import source_text

        return source_text(self.fn).splitlines(keepends=True)

    @property
    def module(self) -> str:
        """Name of the function's module."""
        return str(self.fn.__module__)

    @property
    def starting_line_number(self) -> int:
        """Line of the file where the function begins."""
        return int(self.fn.__code__.co_firstlineno)

    @property
    def cache_key(self) -> str:
        """Digest of the source with that of all it calls and the constants it reads."""
        from tle2cuda.runtime.kernel_text import text_key

        return text_key(self.fn)

    @property
    def hash(self) -> str:
        """The same as `cache_key`."""
        return self.cache_key

    @property
    def device_caches(self) -> dict[int, tuple[dict[Any, Any]]]:
        """For each device a tuple whose first element holds the compiled kernels by key."""
        found: dict[int, tuple[dict[Any, Any]]] = {}
        for key, launch in list(self._prepared.items()):
            device = 0 if launch.device in (None, HOST) else launch.device
            found.setdefault(device, ({},))[0][key] = launch.compiled if isinstance(launch, GPULaunch) else launch
        return found

    def repr(self, specialization: Any = None) -> str:
        """The kernel's name, or what its `repr` option makes of a specialisation."""
        return self._repr(specialization) if self._repr is not None else self.fn.__name__

    def is_gluon(self) -> bool:
        """Whether this is a Gluon kernel: never."""
        return False

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Lets a function be called with the arguments before every launch."""
        self.pre_run_hooks.append(hook)
        self.__dict__.pop("_launch", None)

    def forget(self) -> None:
        """Forgets every specialisation, so that the next launch compiles anew, or finds the disk cache."""
        with self._lock:
            self._prepared.clear()
            self._launches.clear()

    # -- compiling --

    @without_frames
    def run(self, *args: Any, grid: Grid, warmup: bool = False, **kwargs: Any) -> Any:
        """Launches the kernel; with `warmup`, only compiles it.

        Args:
            *args: The kernel's arguments.
            grid: One to three extents, or a function from the bound arguments to them. In a cluster kernel
                they count clusters.
            warmup: Compile without launching.
            **kwargs: Further arguments, and launch options such as `num_warps`.

        Returns:
            The compiled kernel.
        """
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self._launch(grid, *args, **kwargs)

    @public
    def warmup(self, *args: Any, grid: Grid = (1,), **kwargs: Any) -> Any:
        """Compiles the kernel for these arguments without launching it. Needs no GPU.

        Args:
            *args: The kernel's arguments; a dtype or a `MockTensor` stands for an aligned array.
            grid: Ignored.
            **kwargs: Further arguments and launch options.

        Returns:
            The compiled kernel, with `.metadata` and `.asm`; `compiled[grid](...)` launches it. Where launches go to the
            CPU, what needs no CUDA (`.metadata`, `.contract`, `.source`, `.asm["cu"]`) is there without CuPy, too.
        """
        options = self._take_options(kwargs)
        values = [
            value if p.is_constexpr else MockTensor.wrap_dtype(value)
            for p, value in zip(self.parameters, self._in_order(args, kwargs), strict=True)
        ]
        bound = specialize(self.parameters, values, self.fn.__name__)
        if not any(isinstance(value, MockTensor) for value in values):
            launch = self._prepare(launch_key(self.parameters, values, options), bound, options)
            return launch.compiled if isinstance(launch, GPULaunch) else launch
        launch = self._make_launch(bound, options)
        if isinstance(launch, GPULaunch):
            return launch.compiled
        if bound.device is None and not chosen_device():  # the dtypes may stand for arrays of a GPU elsewhere
            launch.compile_if_possible()
        return launch

    def emit_specialization(self, specialization: Specialization, settings: LaunchOptions, arch: str) -> EmittedKernel:
        """Emit for types and constants that are settled; needs no CUDA.

        Args:
            specialization: Types and constants.
            settings: Launch options.
            arch: Target.

        Raises:
            CompilationError: The kernel is wrong.
        """
        emitted = emit_specialized(
            self,
            specialization,
            num_warps=settings.num_warps,
            num_stages=settings.num_stages,
            arch=arch,
            cluster_dims=settings.cluster_dims,
            cooperative=settings.cooperative,
            max_registers=settings.max_registers,
            debug=settings.debug,
            sanitize_overflow=settings.sanitize_overflow,
        )
        if settings.programmatic:
            emitted = replace(emitted, contract=replace(emitted.contract, programmatic=True))
        settings.check_mesh(self.fn.__name__, emitted.contract.cluster, emitted.contract.cooperative)
        dump(emitted)
        return emitted

    @public
    def compile_specialization(
        self,
        specialization: Specialization,
        options: LaunchOptions | Mapping[str, Any] | Sequence[tuple[str, Any]],
        arch: str | None = None,
        device: int | None = None,
    ) -> Any:
        """Compile for types and constants that are settled.

        Args:
            specialization: Types and constants.
            options: Launch options.
            arch: Target; that of the device when None.
            device: Device to compile for; the current one when None.

        Returns:
            The compiled kernel.
        """
        from tle2cuda.runtime import CompileOptions, build
        from tle2cuda.runtime.metadata import make_metadata

        arch = arch or current_arch(device)
        name = self.fn.__name__
        settings = options if isinstance(options, LaunchOptions) else LaunchOptions(name, options, arch, self.debug)
        emitted = self.emit_specialization(specialization, settings, arch)
        compiled = build(
            emitted,
            options=CompileOptions(
                emitted.contract.target,
                fuse_multiply_add=settings.fuse_multiply_add,
                max_registers=settings.max_registers,
            ),
        )
        compiled.metadata = make_metadata(emitted.contract, compiled.hash, settings)
        if HOOKS.compiled is not None:
            HOOKS.compiled(
                key=compiled.hash, repr=self.repr(), fn=self, compile={"constants": specialization.constants_dict()},
                is_manual_warmup=False, already_compiled=False,
            )  # fmt: skip
        return compiled

    # -- launching --

    @functools.cached_property
    def _launch(self) -> Callable[..., Any]:
        """The launch path: a function of the grid and the kernel's own parameters."""
        if self.pre_run_hooks:
            return self._launch_with_hooks
        return self._plain_launch

    @functools.cached_property
    def _plain_launch(self) -> Callable[..., Any]:
        return make_launcher(self.parameters, self.fn.__name__, self._launches, self._launch_slowly, HOOKS)

    @without_frames
    def _launch_with_hooks(self, grid: Grid, /, *args: Any, **kwargs: Any) -> Any:
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        return self._plain_launch(grid, *args, **kwargs)

    @functools.cached_property
    def _shared_names(self) -> frozenset[str]:
        """Options that are parameters too: the kernel gets their value as well."""
        return frozenset(OPTION_DEFAULTS).intersection(self.arg_names)

    def _take_options(self, kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
        """Removes the launch options from `kwargs`; returns them sorted."""
        options = []
        for name in sorted(OPTION_DEFAULTS.keys() & kwargs.keys()):
            value = kwargs[name] if name in self._shared_names else kwargs.pop(name)
            options.append((name, tuple(value) if isinstance(value, list) else value))
        return tuple(options)

    def _launch_slowly(
        self, grid: Grid, positional: tuple[Any, ...], keywords: dict[str, Any], surplus: tuple[Any, ...]
    ) -> Any:
        """A launch that the generated function does not finish: a new key, hooks, or arguments that do not fit.

        Args:
            grid: The grid.
            positional: Values of the parameters that may be passed by position.
            keywords: Values of the others, and launch options.
            surplus: Arguments beyond the parameters.

        Raises:
            ArgumentError: The arguments do not fit the parameters.
        """
        try:
            args, kwargs = passed_arguments(self.parameters, positional, keywords, surplus)
            given = {name: value for name, value in kwargs.items() if name in OPTION_DEFAULTS}
            options = self._take_options(kwargs)
            values = self._in_order(args, kwargs)
            own = {name: value for name, value in given.items() if name not in self._shared_names}
            key = launch_key(self.parameters, values, own.items())
            self._refuse_mocks(values)
            bound = specialize(self.parameters, values, self.fn.__name__)
            launch = self._prepare(launch_key(self.parameters, values, options), bound, options)
            named = dict(zip(self.arg_names, values, strict=True))
            if callable(grid):
                grid = grid(GridNames(named, self.fn.__name__))
            passed = tuple(describe(p, value)[1] for p, value in zip(self.parameters, values, strict=True))
            metadata = LaunchMetadata(self.fn.__name__, launch, grid, named, self.launch_metadata)
            if HOOKS.active:
                HOOKS.enter(metadata)
            compiled = launch(grid, passed)
            if HOOKS.active:
                HOOKS.exit(metadata)
            fast = launch.fast_path()
            if key is not None and fast is not None:  # what is slow is done
                self._launches[key] = fast
            return compiled
        except InternalError:
            raise
        except KernelError as error:
            # In eager mode the kernel's own frames are the user's place.
            hide_frames(error)
            raise
        except BdbQuit as error:
            # The user left a debugger that stood in the kernel.
            hide_frames(error)
            raise

    def _refuse_mocks(self, values: Sequence[Any]) -> None:
        """A launch needs memory.

        Raises:
            ArgumentError: An argument only stands for an array.
        """
        for parameter, value in zip(self.parameters, values, strict=True):
            if isinstance(value, MockTensor):
                raise ArgumentError(
                    f"{self.fn.__name__}: `{parameter.name}` stands for a tensor and has no memory",
                    help="pass it to warmup, which compiles without launching",
                )

    def passed_values(self, bound: BoundArguments, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """What the launcher takes, from the arguments of a compiled kernel's launch."""
        values = values_for_all(self.arg_names, bound.runtime_indices, self.fn.__name__, args)
        indices = {place if isinstance(place, int) else place[0] for place in bound.runtime_indices}
        return tuple(
            describe(p, value)[1] if index in indices else None
            for index, (p, value) in enumerate(zip(self.parameters, values, strict=True))
        )

    def _in_order(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One value for each parameter.

        Raises:
            ArgumentError: The arguments do not fit the parameters.
        """
        name = self.fn.__name__
        known = self.arg_names
        for keyword in kwargs:
            if keyword not in known:
                raise ArgumentError(
                    f"{name} has no parameter or launch option `{keyword}`",
                    facts=(
                        f"parameters: {', '.join(known)}",
                        f"launch options: {', '.join(OPTION_DEFAULTS)}",
                    ),
                    help=did_you_mean(keyword, [*known, *OPTION_DEFAULTS], shortened=True),
                )
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{name}: {error}", facts=(f"parameters: {', '.join(known)}",)) from None
        values = {p.name: p.default for p in self.parameters if p.has_default}
        values.update(bound.arguments)
        return [values[parameter] for parameter in known]

    def _prepare(self, key: Any, bound: BoundArguments, options: tuple[tuple[str, Any], ...]) -> Any:
        """Compiles for a key that is new; several threads compile several keys at once, and each only once."""
        with self._lock:
            known = self._prepared.get(key)
            if known is not None:
                return known
            one_at_a_time = self._compiling.setdefault(key, threading.Lock())
        with one_at_a_time:
            known = self._prepared.get(key)
            if known is None:
                known = self._prepared[key] = self._make_launch(bound, options)
        with self._lock:
            self._compiling.pop(key, None)
        return known

    def _make_launch(self, bound: BoundArguments, options: tuple[tuple[str, Any], ...]) -> GPULaunch | HostLaunch:
        chosen = chosen_device()
        if bound.device == HOST or (bound.device is None and (chosen in HOST_DEVICES or not (chosen or _has_gpu()))):
            launch = HostLaunch(self, bound, LaunchOptions(self.fn.__name__, options, DEFAULT_TARGET, self.debug))
            launch.prepare()
            return launch
        if chosen in HOST_DEVICES:
            raise LaunchError(
                f"{DEVICE_VARIABLE}={chosen}, but the arrays lie on GPU {bound.device}",
                help="pass NumPy arrays or host tensors, or choose cuda",
            )
        compiled = self.compile_specialization(bound.specialization, options, None, bound.device)
        compiled.bind_launch(lambda args: self.passed_values(bound, args), bound)
        return GPULaunch(compiled, bound)


class _EagerKernel:
    """A kernel whose launches run in eager mode.

    Args:
        kernel: The jit object.
    """

    def __init__(self, kernel: JitFunction) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Grid) -> Callable[..., Any]:
        def launch(*args: Any, **kwargs: Any) -> Any:
            try:
                with on_device("eager"):
                    return self._kernel._launch(grid, *args, **kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return launch


def _has_gpu() -> bool:
    from tle2cuda.runtime.active import uses_gpu

    return uses_gpu()

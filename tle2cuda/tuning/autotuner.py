"""`@autotune`: the fastest of several configurations, found by measuring at the first launch of each kind.

Configurations are compiled in parallel, each by NVRTC in a process of its own, and then measured one after the
other. One that does not compile, takes too long or fails is left out with its reason. Where kernels run on the CPU
there is no clock that means anything: the first configuration that works is taken. What running it there finds wrong with
the kernel, such as an access out of bounds, is an error: no other configuration hides it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tle2cuda.errors import (
    CompilationError,
    CompilationErrors,
    EmulationError,
    InterpreterError,
    InvalidArgument,
    KernelError,
    UnknownGridName,
)
from tle2cuda.ir.span import Span
from tle2cuda.jit_function import KernelInterface
from tle2cuda.runtime.frames import without_frames
from tle2cuda.tuning.compiling import Compilations, compile_all, first_line
from tle2cuda.tuning.config import Config
from tle2cuda.tuning.measuring import Measurer
from tle2cuda.tuning.progress import Progress, prints_results, summary
from tle2cuda.tuning.store import ResultStore, caches_by_default, result_key
from tle2cuda.tuning.wrapping import defaults_of, kernel_below, kernel_of

_QUANTILES = (0.5, 0.2, 0.8)

Hook = Callable[..., Any]


class AutotunerError(KernelError, RuntimeError):
    """No configuration of a tuner works."""


class Autotuner(KernelInterface[Any]):
    """A kernel whose configuration is chosen by measurement.

    Args:
        fn: A jit object, or heuristics around one.
        arg_names: Names of the kernel's parameters.
        configs: What to try, in order of preference; one with the defaults when empty.
        key: Parameters for whose every value anew is measured; the dtypes of all tensors count besides.
        reset_to_zero: Tensors that are zeroed before every measured launch.
        restore_value: Tensors whose elements are put back after every measured launch.
        pre_hook: Called as ``pre_hook(arguments, reset_only=False)`` before each measured launch, and with
            ``reset_only=True`` after measuring.
        post_hook: Called as ``post_hook(arguments, exception=None)`` after each measured launch.
        prune_configs_by: ``early_config_prune(configs, arguments, **kwargs)`` gives the configurations to try;
            ``perf_model(**arguments)`` an estimate by which the `top_k` best are kept.
        warmup: Milliseconds of runs that do not count.
        rep: Milliseconds of runs that do.
        use_cuda_graph: Measure inside a CUDA graph.
        do_bench: Another function that measures: ``do_bench(call, quantiles=...)``.
        cache_results: Keep results on disk for other processes.

    Attributes:
        best_config: The configuration of the last launch.
        configs: What is tried.
        cache: Configurations by key.
        configs_timings: Milliseconds by configuration of the last tuning; infinite for those that failed.
        failures: Why configurations of the last tuning failed.
        bench_time: Seconds that the last tuning took.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None = None,
        restore_value: Sequence[str] | None = None,
        pre_hook: Hook | None = None,
        post_hook: Hook | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.base_fn = _python_function(fn)
        self.arg_names = list(arg_names)
        self.configs = list(configs) or [Config({})]
        for config in self.configs:
            if not callable(getattr(config, "all_kwargs", None)):
                raise InvalidArgument(
                    f"{self._name}: a configuration of autotune is a Config, got {type(config).__name__}",
                    help="write Config({'BLOCK': 256}, num_warps=4)",
                )
        self.keys = [key] if isinstance(key, str) and key in self.arg_names else list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook: Hook = pre_hook or self._reset
        self.post_hook: Hook = post_hook or self._restore
        pruning = dict(prune_configs_by or {})
        self.perf_model: Callable[..., float] | None = pruning.get("perf_model")
        self.configs_top_k: float = pruning.get("top_k", 1.0)
        self.early_config_prune: Callable[..., Sequence[Config]] | None = pruning.get("early_config_prune")
        self.use_cuda_graph = use_cuda_graph
        self.num_warmups = 25 if warmup is None else warmup
        self.num_reps = 100 if rep is None else rep
        self._do_bench = do_bench
        self.cache_results = cache_results
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.configs_timings: dict[Config, Any] = {}
        self.failures: dict[Config, str] = {}
        self.bench_time = 0.0
        self.nargs: dict[str, Any] | None = None
        self._copies: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._defaults = defaults_of(fn)

    def __getattr__(self, name: str) -> Any:
        if name in ("fn", "best_config", "__wrapped__") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.fn, name)

    def __repr__(self) -> str:
        return f"<autotuner of {self.fn!r}, {len(self.configs)} configurations>"

    # -- launching --

    @without_frames
    def run(self, *args: Any, grid: Any = (1,), warmup: bool = False, **kwargs: Any) -> Any:
        """Launches with the best configuration, measured before when these arguments are of a new kind.

        Args:
            *args: The kernel's arguments.
            grid: As for the kernel; a function sees the configuration's constants too.
            warmup: Compile every configuration without launching; returns the compiled kernels.
            **kwargs: Further arguments and launch options.

        Returns:
            What the kernel's launch returns.

        Raises:
            AutotunerError: No configuration works.
            InterpreterError: Where kernels run on the CPU, a configuration shows that the kernel is wrong.
            EmulationError: The same.
        """
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        self._refuse_conflicts(kwargs)
        config = self.configs[0]
        if len(self.configs) > 1:
            key = self._key(args, kwargs)
            found = self.cache.get(key)
            config = self._tune(key, args, grid, kwargs) if found is None else found
        self.best_config = config
        chosen = config.all_kwargs()
        if config.pre_hook is not None:
            config.pre_hook({**self._named(args, kwargs), **chosen})
        return self.fn.run(*args, grid=grid, **kwargs, **chosen)

    @without_frames
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compiles every configuration that pruning leaves, without launching; returns the compiled kernels."""
        self._refuse_conflicts(kwargs)
        named = self._named(args, kwargs)
        with self._lock:
            self.nargs = named
            configs = self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs
        return [self.fn.run(*args, grid=grid, warmup=True, **kwargs, **config.all_kwargs()) for config in configs]

    def _named(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._defaults, **dict(zip(self.arg_names, args, strict=False)), **kwargs}

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """Values of the key's parameters, and dtypes of all tensors."""
        named = self._named(args, kwargs)
        values = [_hashable(named[name]) for name in self.keys if name in named]
        dtypes = [str(named[name].dtype) for name in self.arg_names if name in named and hasattr(named[name], "dtype")]
        return (*values, *dtypes)

    # -- tuning --

    def prune_configs(self, kwargs: Mapping[str, Any]) -> list[Config]:
        """The configurations to try for the current arguments.

        Raises:
            AutotunerError: `early_config_prune` leaves none.
        """
        named = self.nargs or {}
        configs = list(self.configs)
        if self.early_config_prune is not None:
            configs = list(self.early_config_prune(configs, named, **kwargs))
            if not configs:
                raise AutotunerError(
                    f"{self._name}: early_config_prune left no configuration",
                    help="let it return at least one of the configurations it is given",
                )
        if self.perf_model is None:
            return configs
        top_k = self.configs_top_k
        if isinstance(top_k, float) and top_k <= 1.0:
            top_k = max(1, int(len(self.configs) * top_k))
        elif not isinstance(top_k, int):
            raise InvalidArgument(f"{self._name}: top_k is a whole number, or a share of at most 1.0; got {top_k!r}")
        if len(configs) > top_k:
            model = self.perf_model
            estimates = [model(**{**named, **config.all_kwargs()}) for config in configs]
            order = sorted(range(len(configs)), key=lambda index: estimates[index])
            configs = [configs[index] for index in order[: int(top_k)]]
        return configs

    @property
    def _name(self) -> str:
        return str(getattr(self.base_fn, "__name__", "kernel"))

    def _tune(self, key: tuple[Any, ...], args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> Config:
        """The best configuration for a key that is new: from the disk, or measured."""
        with self._lock:
            if key in self.cache:
                return self.cache[key]
            start = time.perf_counter()
            self.nargs = self._named(args, kwargs)
            try:
                configs = self.prune_configs(kwargs)
                config, origin = self._choose(key, configs, args, grid, kwargs)
            finally:
                self.nargs = None
                self._copies.clear()
            self.bench_time = time.perf_counter() - start
            self.cache[key] = config
            if prints_results():
                self._print_summary(key, config, origin)
            return config

    def _choose(
        self, key: tuple[Any, ...], configs: list[Config], args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]
    ) -> tuple[Config, str]:
        """The configuration and where the choice came from."""
        if len(configs) == 1:
            self.configs_timings, self.failures = {}, {}
            return configs[0], "the only one"
        store = ResultStore() if self.cache_results or caches_by_default() else None
        stored_under = result_key(kernel_of(self.fn), key, configs) if store is not None else ""
        if store is None:
            return self._measure(configs, args, grid, kwargs)
        with store.locked(stored_under):  # another process that tunes the same waits here, and then reads
            found = store.load(stored_under, configs)
            if found is not None:
                self.configs_timings, self.failures = {**found.timings, **_never(found.failures)}, found.failures
                return found.best, "from the cache"
            best, origin = self._measure(configs, args, grid, kwargs)
            if origin == "measured":
                store.save(stored_under, self._name, key, configs, best, self.configs_timings, self.failures)
            return best, origin

    def _measure(
        self, configs: list[Config], args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]
    ) -> tuple[Config, str]:
        """Compile all, then measure those that compiled.

        Raises:
            AutotunerError: No configuration works.
            CompilationError: All have the same error of the kernel.
        """
        self._check_names()
        progress = Progress(self._name, len(configs))
        measurer = Measurer(self.num_warmups, self.num_reps, self.use_cuda_graph, self._do_bench)
        timings: dict[Config, Any] = {}
        failures: dict[Config, str] = {}
        errors: list[Exception] = []
        compiled: Compilations | None = None
        if measurer.has_clock:  # else the first that works is taken, and the others need not be compiled
            compiled = compile_all(configs, lambda config: self._compile(config, args, grid, kwargs), progress.compiled)
        try:
            for index, config in enumerate(configs):
                error = compiled.failure(config) if compiled is not None else None
                if error is None:
                    progress.trying(index, config)
                    result, error = self._bench(measurer, config, args, grid, kwargs)
                if error is not None:
                    failures[config] = first_line(error)
                    errors.append(error)
                    timings.update(_never((config,)))
                    continue
                timings[config] = result
                progress.measured(config, _first(result))
                if not measurer.has_clock:
                    break
        finally:
            if compiled is not None:
                compiled.cancel()
            progress.finish()
            self.configs_timings, self.failures = timings, failures
        working = [config for config in timings if config not in failures]
        if not working:
            raise _shared_refusal(errors) or self._nothing_works(failures, _shared_place(errors))
        self.pre_hook({**(self.nargs or {}), **kwargs}, reset_only=True)
        if not measurer.has_clock:
            return working[0], "the first that works: kernels run on the CPU, which has no clock for them"
        return min(working, key=lambda config: _first(timings[config])), "measured"

    def _compile(self, config: Config, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> None:
        self.fn.run(*args, grid=grid, warmup=True, **kwargs, **config.all_kwargs())

    def _bench(
        self, measurer: Measurer, config: Config, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]
    ) -> tuple[Any, Exception | None]:
        """Milliseconds of one configuration, or None and why it failed.

        Raises:
            InterpreterError: The kernel is at fault, on the CPU: it accesses what it must not, waits forever, or the like.
            EmulationError: The same.
        """
        chosen = config.all_kwargs()
        named = {**(self.nargs or {}), **kwargs, **chosen}

        def call() -> None:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self.pre_hook(named, reset_only=False) if self.user_defined_pre_hook else self.pre_hook(named)
            try:
                self.fn.run(*args, grid=grid, **kwargs, **chosen)
            except Exception as error:
                try:
                    self.post_hook(named, exception=error)
                finally:
                    raise
            self.post_hook(named, exception=None)

        try:
            return measurer.measure(call, _QUANTILES), None
        except (KeyboardInterrupt, SystemExit, UnknownGridName):  # no configuration has other names
            raise
        except (InterpreterError, EmulationError) as error:
            error.facts = (*error.facts, f"configuration: {config}")
            raise
        except Exception as error:
            measurer.check_device(error, self._name, config)
            return None, error

    def _refuse_conflicts(self, kwargs: Mapping[str, Any]) -> None:
        """Refuse a launch that gives a constant which the configurations give.

        Raises:
            InvalidArgument: It does.
        """
        names = {name for config in self.configs for name in config.all_kwargs()} if kwargs else set()
        conflicts = sorted(names & kwargs.keys())
        if conflicts:
            raise InvalidArgument(
                f"{self._name}: the launch passes {', '.join(f'`{name}`' for name in conflicts)}, which autotune chooses",
                help="leave it out of the launch, or out of the configurations",
            )

    def _check_names(self) -> None:
        """Refuse names of tensors to keep that the kernel does not have; nothing is kept where hooks take our place.

        Raises:
            InvalidArgument: There are such names.
        """
        if self.user_defined_pre_hook:
            return
        for option, names in (("reset_to_zero", self.reset_to_zero), ("restore_value", self.restore_value)):
            for name in names:
                if name not in self.arg_names:
                    raise InvalidArgument(
                        f"{self._name}: {option} names {name!r}, which is not a parameter",
                        facts=(f"parameters: {', '.join(self.arg_names)}",),
                    )

    def _nothing_works(self, failures: Mapping[Config, str], place: Span | None) -> AutotunerError:
        return AutotunerError(
            f"{self._name}: none of {len(failures)} configurations works",
            place,
            facts=tuple(f"{config}: {reason}" for config, reason in failures.items()),
        )

    def _print_summary(self, key: tuple[Any, ...], config: Config, origin: str) -> None:
        import sys

        timings = {c: _first(t) for c, t in self.configs_timings.items() if c not in self.failures}
        shown = timings if origin in ("measured", "from the cache") else {}
        print(summary(self._name, key, config, shown, self.failures, self.bench_time, origin), file=sys.stderr)

    # -- tensors that measuring must not spoil --

    def _reset(self, named: Mapping[str, Any], reset_only: bool = False) -> None:
        """Zero what is to be zeroed; keep a copy of what is to be restored."""
        for name in self.reset_to_zero:
            _zero(named[name])
        if not reset_only:
            self._copies = {name: _copy(named[name]) for name in self.restore_value}

    def _restore(self, named: Mapping[str, Any], exception: Exception | None = None) -> None:
        """Put back what is to be restored."""
        for name, copy in self._copies.items():
            _assign(named[name], copy)
        self._copies = {}


def _never(configs: Iterable[Config]) -> dict[Config, list[float]]:
    """The timings of configurations that failed."""
    return {config: [float("inf")] * len(_QUANTILES) for config in configs}


def _first(timing: Any) -> float:
    return float(timing[0] if isinstance(timing, (list, tuple)) else timing)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _python_function(fn: Any) -> Any:
    inner = fn
    for _ in range(16):
        if not hasattr(inner, "fn"):
            break
        inner = inner.fn
    return inner


def _shared_refusal(errors: Sequence[Exception]) -> CompilationError | None:
    """The error that the front end has for every configuration, when it is one and the same; facts may tell sizes."""
    first = errors[0]
    if not isinstance(first, CompilationError) or len({_identity(error, True) for error in errors}) != 1:
        return None
    note = f"all {len(errors)} configurations of the tuner give this error"
    first.facts = (*first.facts, note)
    return first


def _shared_place(errors: Sequence[Exception]) -> Span | None:
    """Where the front end refuses the kernel with every configuration, each with its own numbers."""
    first = errors[0]
    same = isinstance(first, CompilationError) and len({_identity(error, False) for error in errors}) == 1
    return first.span if isinstance(first, CompilationError) and same else None


def _identity(error: Exception, with_message: bool) -> tuple[Any, ...]:
    """What tells errors of a kernel apart: their classes, where they stand, what they say."""
    if isinstance(error, CompilationErrors):
        return tuple(_identity(one, with_message) for one in error.errors)
    span = getattr(error, "span", None)
    place = (span.file, span.line, span.column) if span is not None else ()
    return (type(error), place, first_line(error) if with_message else "")


def _zero(tensor: Any) -> None:
    if hasattr(tensor, "zero_"):
        tensor.zero_()
    elif tensor is not None:
        tensor.fill(0)


def _copy(tensor: Any) -> Any:
    if tensor is None:
        return None
    return tensor.clone() if hasattr(tensor, "clone") else tensor.copy()


def _assign(tensor: Any, copy: Any) -> None:
    if copy is None:
        return
    if hasattr(tensor, "copy_"):
        tensor.copy_(copy)
    else:
        tensor[...] = copy


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Hook | None = None,
    post_hook: Hook | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
) -> Callable[[Any], Autotuner]:
    """Chooses among configurations of a kernel by measuring them, anew for each value of `key`.

    A measured kernel runs many times: one that adds to its outputs names them in `reset_to_zero` or `restore_value`.

    Args:
        configs: What to try.
        key: Names of the parameters that matter.
        prune_configs_by: ``early_config_prune``, ``perf_model`` and ``top_k``; see `Autotuner`.
        reset_to_zero: Tensors to zero before every measured launch.
        restore_value: Tensors to put back after every measured launch.
        pre_hook: Called before every measured launch.
        post_hook: Called after every measured launch.
        warmup: Milliseconds of runs that do not count.
        rep: Milliseconds of runs that do.
        use_cuda_graph: Measure inside a CUDA graph.
        do_bench: Another function that measures.
        cache_results: Keep results on disk for other processes.

    Example:
        >>> @tle2cuda.autotune([tle2cuda.Config({"BLOCK": 256}), tle2cuda.Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
        ... @tle2cuda.jit
        ... def kernel(x, n, BLOCK: tl.constexpr): ...
    """

    def wrap(fn: Any) -> Autotuner:
        return Autotuner(
            fn,
            kernel_below("autotune", fn).arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return wrap

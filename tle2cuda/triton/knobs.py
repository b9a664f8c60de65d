"""`triton.knobs`: settings that packages read and set.

Those with a meaning here are `autotuning`, `cache.dir`, `runtime.debug`, `runtime.interpret` and the hooks of `runtime`;
the others keep what they are set to, since packages set them for Triton's own compiler.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from tle2cuda.runtime.cache import default_cache_dir
from tle2cuda.runtime.device import TRITON_VARIABLE, asks_for_eager
from tle2cuda.runtime.hooks import HOOKS, HookChain
from tle2cuda.runtime.options import DebugSetting


class Knobs:
    """Settings of one part; read as attributes."""

    def __init__(self, **defaults: Any) -> None:
        self.__dict__.update(defaults)  # behind what a class defines as a property
        self._defaults = defaults

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Settings made inside are undone at the end."""
        before = {name: getattr(self, name) for name in self._defaults}
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def reset(self) -> Knobs:
        """Every setting at its default."""
        for name, value in self._defaults.items():
            setattr(self, name, value)
        return self

    def copy(self) -> Knobs:
        """Settings of its own, equal to these."""
        return Knobs(**{name: getattr(self, name) for name in self._defaults})


class _Autotuning(Knobs):
    """Settings of tuning, which the environment gives until they are set."""

    @property
    def print(self) -> bool:
        """Whether every tuning says what it chose."""
        from tle2cuda.tuning.progress import prints_results

        return prints_results()

    @print.setter
    def print(self, value: bool) -> None:
        os.environ["TRITON_PRINT_AUTOTUNING"] = "1" if value else "0"

    @property
    def cache(self) -> bool:
        """Whether results of every tuner are kept on disk."""
        from tle2cuda.tuning.store import caches_by_default

        return caches_by_default()

    @cache.setter
    def cache(self, value: bool) -> None:
        os.environ["TRITON_CACHE_AUTOTUNING"] = "1" if value else "0"


class _Cache(Knobs):
    """Where files are kept."""

    @property
    def dir(self) -> str:
        """The cache directory."""
        return str(default_cache_dir())

    @dir.setter
    def dir(self, value: str) -> None:
        os.environ["TLE2CUDA_CACHE_DIR"] = value


class _Runtime(Knobs):
    """Hooks around launches and compilations."""

    _interpret_before: tuple[()] | tuple[str | None] = ()  # the variable before it was set here, when it was

    @property
    def launch_enter_hook(self) -> Any:
        """Called before every launch."""
        return HOOKS.enter

    @launch_enter_hook.setter
    def launch_enter_hook(self, value: Any) -> None:
        HOOKS.enter = value

    @property
    def launch_exit_hook(self) -> Any:
        """Called after every launch."""
        return HOOKS.exit

    @launch_exit_hook.setter
    def launch_exit_hook(self, value: Any) -> None:
        HOOKS.exit = value

    @property
    def debug(self) -> bool:
        """Whether kernels that do not say are compiled with device assertions; set it before their first launch."""
        return DebugSetting.default()

    @debug.setter
    def debug(self, value: Any) -> None:
        DebugSetting.chosen = None if value is None else bool(value)

    @property
    def interpret(self) -> bool:
        """Whether `TRITON_INTERPRET` asks for eager mode; setting it sets the variable, None puts it back."""
        return asks_for_eager()

    @interpret.setter
    def interpret(self, value: Any) -> None:
        if not self._interpret_before:
            self._interpret_before = (os.environ.get(TRITON_VARIABLE),)
        text = self._interpret_before[0] if value is None else "1" if value else "0"
        if text is None:
            os.environ.pop(TRITON_VARIABLE, None)
        else:
            os.environ[TRITON_VARIABLE] = text
        if value is None:
            self._interpret_before = ()

    @property
    def jit_post_compile_hook(self) -> Any:
        """Called after every compilation."""
        return HOOKS.compiled

    @jit_post_compile_hook.setter
    def jit_post_compile_hook(self, value: Any) -> None:
        HOOKS.compiled = value


autotuning = _Autotuning()
build = Knobs(cc=None, cudacrt_path=None, cudart_path=None, impl=None, backend_dirs=set())
cache = _Cache(home_dir=None, dump_dir=None, override_dir=None, manager_class=None, remote_manager_class=None)
compilation = Knobs(
    allow_non_constexpr_globals=False,
    always_compile=False,
    disable_line_info=False,
    dump_ir=False,
    enable_asan=False,
    front_end_debugging=False,
    instrumentation_mode="",
    listener=None,
    override=False,
    store_binary_only=False,
    use_ir_loc=None,
)
language = Knobs(default_fp_fusion=True, fp32_default=None)
nvidia = Knobs(
    cuobjdump=None,
    disable_ptxas_opt=False,
    dump_nvptx=False,
    dump_ptxas_log=False,
    libcuda_path=None,
    libdevice_path=None,
    mock_ptx_version=None,
    nvdisasm=None,
    ptxas=None,
    ptxas_blackwell=None,
    ptxas_options="",
)
amd = Knobs(
    dump_amdgcn=False,
    libhip_path=None,
    scalarize_packed_fops=False,
    use_async_copy=False,
    use_block_pingpong=False,
    use_buffer_atomics=False,
    use_buffer_ops=False,
    use_in_thread_transpose=False,
)
proton = Knobs(cupti_lib_dir=None, disable=False, enable_nvtx=False)
redis = Knobs(host=None, key_format=None, port=None)
runtime = _Runtime(
    add_stages_inspection_hook=None,
    debug=None,
    interpret=None,
    jit_cache_hook=None,
    kernel_load_end_hook=HookChain(reversed=True),
    kernel_load_start_hook=HookChain(),
    override_arch=None,
)

__all__ = [
    "HookChain",
    "Knobs",
    "amd",
    "autotuning",
    "build",
    "cache",
    "compilation",
    "language",
    "nvidia",
    "proton",
    "redis",
    "runtime",
]

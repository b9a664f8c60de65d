"""`import triton` served by tle2cuda: `install()`, and the importer behind it.

While it is installed, `triton` and every module below it come from here, whether Triton is installed or not. The
language is `tle2cuda.language` itself; the host side lies in `tle2cuda.triton`, laid out as Triton lays it out. What
is not served raises the ImportError that scripts expect where a part of Triton is missing.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

LANGUAGE_LEVEL = "3.6.0"
"""The release of Triton whose language and host interface are followed; `triton.__version__` while installed."""

_TLE = "tle2cuda.language.tle"
# Modules whose names differ from Triton's; every other one is the module of the same path in `tle2cuda.triton`.
_ALIASES: Mapping[str, str] = {
    "triton.language": "tle2cuda.language",
    "triton.language.core": "tle2cuda.language.core",
    "triton.language.math": "tle2cuda.language.math",
    "triton.language.random": "tle2cuda.language.random",
    "triton.language.semantic": "tle2cuda.language.semantic",
    "triton.language.standard": "tle2cuda.language.standard",
    "triton.language.target_info": "tle2cuda.language.target_info",
    "triton.language.libdevice": "tle2cuda.language.extra.libdevice",
    "triton.language.extra": "tle2cuda.language.extra",
    "triton.language.extra.libdevice": "tle2cuda.language.extra.libdevice",
    "triton.language.extra.cuda": "tle2cuda.language.extra.cuda",
    "triton.language.extra.cuda.gdc": "tle2cuda.language.extra.cuda",
    "triton.language.extra.cuda.libdevice": "tle2cuda.language.extra.libdevice",
    "triton.language.extra.cuda.utils": "tle2cuda.language.extra.cuda",
    "triton.experimental.tle": _TLE,
    "triton.experimental.tle.language": _TLE,
    "triton.experimental.tle.language.gpu": f"{_TLE}.gpu",
    "triton.experimental.tle.language.gpu.semantic": f"{_TLE}.gpu.semantic",
    "triton.experimental.tle.language.raw": f"{_TLE}.raw",
    "triton.experimental.tle.language.distributed": f"{_TLE}.distributed",
    "triton.experimental.tle.language.communication": f"{_TLE}.communication",
    "triton.experimental.tle.raw": f"{_TLE}.raw",
    "triton.experimental.tle.raw.mlir": f"{_TLE}.mlir",
}

_OTHER_VENDOR = "it belongs to another vendor's GPUs; tle2cuda compiles for NVIDIA"
# Parts of Triton that are missing for a reason worth telling, by the beginning of their name.
_MISSING: Mapping[str, str] = {
    "triton.experimental.gluon": "kernels are written in triton.language, with triton.experimental.tle for shared memory",
    "triton.language.extra.hip": _OTHER_VENDOR,
    "triton.language.extra.xpu": _OTHER_VENDOR,
    "triton.language.extra.intel": _OTHER_VENDOR,
    "triton.language.extra.mlu": _OTHER_VENDOR,
    "triton.language.extra.cann": _OTHER_VENDOR,
    "triton.language.extra.ascend": _OTHER_VENDOR,
    "triton.backends.amd": _OTHER_VENDOR,
    "triton.backends.intel": _OTHER_VENDOR,
    "triton.backends.mlu": _OTHER_VENDOR,
    "triton.backends.ascend": _OTHER_VENDOR,
    "triton.backends.enflame": _OTHER_VENDOR,
    "triton._C": "it is Triton's compiled library; tle2cuda emits CUDA and calls NVRTC",
    "triton.compiler.code_generator": "tle2cuda traces kernels itself: tle2cuda.emit gives the CUDA of one",
    "triton.compiler.make_launcher": "kernel[grid](...) launches, and tle2cuda.compile gives a cupy.RawKernel",
    "triton.tools.compile": "write the CUDA of a kernel with `tle2cuda compile FILE::KERNEL --signature S --dump-cu FILE`",
    "triton.tools.link": "build the emitted .cu files yourself, as examples/cpp does with CMake",
    "triton.tools.experimental_descriptor": "it is of Triton 3.3 and older; use triton.tools.tensor_descriptor",
    "triton.common": "it is of Triton 2; its parts are triton.runtime.build and triton.backends.nvidia.driver",
    "triton.ops": "it is of Triton 2.1 and older; the kernels moved to the project triton-lang/kernels",
    "triton.runtime._async_compile": "kernels are compiled at their first launch; kernel.warmup(...) compiles ahead",
    "triton.profiler.language": "nothing records scopes inside kernels; profile with Nsight Compute",
    "triton.profiler.viewer": "no profile is recorded; profile with Nsight Systems or Nsight Compute",
}


def served_name(name: str) -> str:
    """Name of our module for a module of Triton; empty when there is none."""
    found = _ALIASES.get(name)
    if found is not None:
        return found
    if name != "triton" and (not name.startswith("triton.") or name in _MISSING):
        return ""
    ours = f"tle2cuda.{name}"
    try:
        return ours if importlib.util.find_spec(ours) is not None else ""
    except ModuleNotFoundError:
        return ""


def missing_message(name: str) -> str:
    """Why a module of Triton cannot be imported from tle2cuda."""
    for prefix, why in _MISSING.items():
        if name == prefix or name.startswith(prefix + "."):
            return f"tle2cuda serves triton, without {prefix}: {why}"
    return f"tle2cuda serves triton, and has no module {name}"


class _Loader(importlib.abc.Loader):
    """Puts our module under Triton's name; it stays one module, with its own spec."""

    def __init__(self, ours: str) -> None:
        self.ours = ours

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """None: the module that Python makes is exchanged for ours once it would be filled."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Exchange the empty module for ours, as a module may do to itself while it is imported."""
        ours = importlib.import_module(self.ours)
        sys.modules[module.__name__] = ours
        # Who made the module by hand (`importlib.util.module_from_spec`) keeps the empty one: it answers with ours.
        vars(module)["__getattr__"] = functools.partial(getattr, ours)


class TritonImporter(importlib.abc.MetaPathFinder):
    """Finds `triton` and all below it, before anything else is asked."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of Triton's name.

        Raises:
            ModuleNotFoundError: It is Triton's, and not served.
        """
        if fullname != "triton" and not fullname.startswith("triton."):
            return None
        ours = served_name(fullname)
        if not ours:
            raise ModuleNotFoundError(missing_message(fullname), name=fullname)
        # Every module counts as a package: what lies below it is found here, wherever ours lies.
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(ours), origin="tle2cuda", is_package=True)
        found = importlib.util.find_spec(ours)
        spec.origin = found.origin if found is not None else "tle2cuda"
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """The installed package `triton`, for `importlib.metadata.version("triton")`."""
        if context is not None and context.name not in (None, "triton"):
            return ()
        return (_distribution(),)


def _distribution() -> Any:
    import importlib.metadata

    class TritonDistribution(importlib.metadata.Distribution):
        """What package metadata says of the Triton that tle2cuda stands for."""

        def read_text(self, filename: str) -> str | None:
            if filename == "METADATA":
                return f"Metadata-Version: 2.1\nName: triton\nVersion: {LANGUAGE_LEVEL}\nSummary: served by tle2cuda\n"
            return None

        def locate_file(self, path: Any) -> Any:
            raise FileNotFoundError(f"triton is served by tle2cuda and has no file {path}")

    return TritonDistribution()


class Installation:
    """One `install()`: ended by `uninstall()`, or by leaving its `with` block."""

    def __init__(self) -> None:
        self._active = True

    def uninstall(self) -> None:
        """Stop serving; the modules of Triton that were imported before are as they were."""
        if self._active:
            self._active = False
            _remove()

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.uninstall()


_lock = threading.RLock()
_importer = TritonImporter()
_installations = 0
_set_aside: dict[str, ModuleType] = {}


def install() -> Installation:
    """Let `import triton` and every import below it give tle2cuda, with Triton installed or not.

    Install it before the modules that import triton are imported: one that holds Triton's own objects already keeps
    them. It may be installed several times, and lasts until each is uninstalled.

    Returns:
        An object with `uninstall()` that is a context manager too.

    Example:
        >>> with tle2cuda.install():
        ...     import package_with_triton_kernels
    """
    global _installations
    with _lock:
        _installations += 1
        if _installations == 1:
            _set_aside.update(_take_modules())
            sys.meta_path.insert(0, _importer)
        elif sys.meta_path[0] is not _importer:  # something was put before it meanwhile
            sys.meta_path.remove(_importer)
            sys.meta_path.insert(0, _importer)
    return Installation()


def is_installed() -> bool:
    """Whether `import triton` gives tle2cuda."""
    return _installations > 0


def _remove() -> None:
    global _installations
    with _lock:
        _installations -= 1
        if _installations == 0:
            sys.meta_path.remove(_importer)
            _take_modules()
            sys.modules.update(_set_aside)
            _set_aside.clear()


def _take_modules() -> dict[str, ModuleType]:
    """Takes every module of Triton's name out of `sys.modules`."""
    names = [name for name in sys.modules if name == "triton" or name.startswith("triton.")]
    return {name: sys.modules.pop(name) for name in names}

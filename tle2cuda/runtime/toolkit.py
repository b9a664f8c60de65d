"""Finding the CUDA pieces of this machine: CuPy, NVRTC, headers, disassemblers."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tle2cuda.errors import ToolchainError

_PROBE_HEADERS = ("cuda_runtime.h", "cuda_fp16.h")
_CCCL_PROBE = "cuda/std/type_traits"


def require_cupy() -> Any:
    """The `cupy` module.

    Raises:
        ToolchainError: CuPy is not installed, or cannot be imported.
    """
    try:
        import cupy
    except ImportError as error:
        if importlib.util.find_spec("cupy") is None:
            raise ToolchainError(
                "CuPy is not installed; it is needed to compile and launch kernels",
                help="pip install 'tle2cuda[cuda12]' (CUDA 12) or 'tle2cuda[cuda13]' (driver 580 or later)",
            ) from None
        raise ToolchainError(
            f"CuPy is installed but cannot be imported: {error}",
            help="reinstall it: pip install --force-reinstall cupy-cuda12x (or cupy-cuda13x)",
        ) from None
    return cupy


@functools.cache
def require_nvrtc() -> Any:
    """CuPy's NVRTC binding, with the library loaded; needs no GPU and no driver.

    Raises:
        ToolchainError: CuPy or NVRTC is missing.
    """
    require_cupy()
    from cupy_backends.cuda.libs import nvrtc

    try:
        nvrtc.getVersion()
    except Exception as error:
        raise ToolchainError(
            f"NVRTC cannot be loaded: {str(error).splitlines()[0] if str(error) else type(error).__name__}",
            help=f"pip install {_package('nvrtc')}",
        ) from None
    return nvrtc


def cuda_major() -> int:
    """CUDA major version that the installed CuPy was built for."""
    return int(require_cupy().cuda.driver.get_build_version()) // 1000


def _package(what: str) -> str:
    """Name of NVIDIA's wheel for the CUDA version of the installed CuPy."""
    try:
        major = cuda_major()
    except ToolchainError:
        major = 12
    return f"nvidia-cuda-{what}-cu12" if major <= 12 else f"nvidia-cuda-{what}"


def nvrtc_version() -> tuple[int, int]:
    """Version of NVRTC, such as (12, 9)."""
    major, minor = require_nvrtc().getVersion()
    return int(major), int(minor)


@functools.cache
def nvrtc_library() -> str:
    """Path of the NVRTC library that this process has loaded; empty when it cannot be told."""
    require_nvrtc()
    try:
        maps = Path("/proc/self/maps").read_text()
    except OSError:
        return ""
    for line in maps.splitlines():
        path = line.rpartition(" ")[2]
        name = os.path.basename(path)
        if name.startswith("libnvrtc.so") and path.startswith("/"):
            return path
    return ""


def nvrtc_identity() -> str:
    """What distinguishes this NVRTC from others in cache keys: version, and size of the library file."""
    major, minor = nvrtc_version()
    path = nvrtc_library()
    size = os.path.getsize(path) if path and os.path.exists(path) else 0
    return f"nvrtc {major}.{minor} {os.path.basename(os.path.realpath(path)) if path else ''} {size}"


def _site_roots() -> Iterator[Path]:
    """Directories in which `nvidia` wheels lie."""
    for entry in sys.path:
        root = Path(entry or ".") / "nvidia"
        if root.is_dir():
            yield root


def toolkit_roots() -> list[Path]:
    """Toolkits installed on the machine: CUDA_HOME, CUDA_PATH, that of nvcc on PATH, /usr/local/cuda."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    nvcc = shutil.which("nvcc")
    if nvcc:
        roots.append(Path(nvcc).resolve().parent.parent)
    roots.append(Path("/usr/local/cuda"))
    return [root for root in dict.fromkeys(roots) if root.is_dir()]


def _header_candidates(major: int) -> Iterator[list[Path]]:
    """Sets of include directories, those made for CuPy's CUDA version first."""
    for root in _site_roots():
        if major <= 12:
            yield [root / "cuda_runtime" / "include", root / "cuda_cccl" / "include"]
        yield [root / f"cu{major}" / "include", root / f"cu{major}" / "include" / "cccl"]
    for root in toolkit_roots():
        include = root / "include"
        target = root / "targets" / "x86_64-linux" / "include"
        yield [include, include / "cccl"]
        yield [target, target / "cccl"]


@functools.cache
def include_directories() -> tuple[str, ...]:
    """Directories of the CUDA headers, then of CCCL's when those are elsewhere and installed.

    Wheels of CuPy's CUDA version come first, then the machine's toolkits; each of the two is looked for by
    itself, as the runtime headers may come from a wheel and CCCL from a toolkit.

    Raises:
        ToolchainError: The runtime headers are missing.
    """
    major = cuda_major()
    runtime = cccl = None
    for candidate in _header_candidates(major):
        if runtime is None and all((candidate[0] / header).is_file() for header in _PROBE_HEADERS):
            runtime = candidate[0]
        if cccl is None:
            cccl = next((path for path in candidate if (path / _CCCL_PROBE).is_file()), None)
    if runtime is not None:
        return tuple(str(path) for path in dict.fromkeys((runtime, cccl)) if path is not None)
    raise ToolchainError(
        f"the CUDA headers ({', '.join(_PROBE_HEADERS)}) are missing",
        help=f"pip install {_package('runtime')} {_package('cccl')}, or set CUDA_HOME to a CUDA toolkit",
    )


def has_cccl() -> bool:
    """Whether the CCCL headers (CUB, libcu++, and so cooperative groups) are there."""
    return any((Path(directory) / _CCCL_PROBE).is_file() for directory in include_directories())


def missing_header_help(header: str) -> str:
    """What to install when NVRTC cannot open `header`."""
    if header.startswith(("cub/", "cuda/", "thrust/", "nv/")):
        return f"pip install {_package('cccl')}"
    return f"pip install {_package('runtime')} {_package('cccl')}"


def find_tool(name: str) -> str | None:
    """Path of `cuobjdump` or `nvdisasm`: from NVIDIA's wheels, a toolkit, or PATH."""
    for root in _site_roots():
        for directory in sorted(root.glob("cu*/bin"), reverse=True):
            if os.access(directory / name, os.X_OK):
                return str(directory / name)
        for directory in (root / "cuda_nvcc" / "bin", root / name / "bin"):
            if os.access(directory / name, os.X_OK):
                return str(directory / name)
    for root in toolkit_roots():
        if os.access(root / "bin" / name, os.X_OK):
            return str(root / "bin" / name)
    return shutil.which(name)


def require_tool(*names: str) -> str:
    """Path of the first tool of `names` that exists.

    Raises:
        ToolchainError: None is there.
    """
    for name in names:
        path = find_tool(name)
        if path:
            return path
    raise ToolchainError(
        f"{' or '.join(names)} is not installed; it is needed to show SASS",
        help=f"pip install {' or '.join(f'nvidia-cuda-{name}' for name in names)}, "
        "or put a CUDA toolkit's bin directory on PATH",
    )


def missing_driver() -> str:
    """Why no driver can be asked: its library is not there; empty when it is."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        ctypes.CDLL(library)
    except OSError:
        return f"{library} is not installed (no NVIDIA driver)"
    return ""


def require_gpu() -> None:
    """Check that a GPU can be used.

    Raises:
        ToolchainError: There is no driver or no device.
    """
    cupy = require_cupy()
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        raise ToolchainError(
            f"no GPU: {missing_driver() or error}",
            help="kernels compile here; to launch them, use a machine with an NVIDIA driver, or pass NumPy arrays to run "
            "them on the CPU",
        ) from None
    if count == 0:
        raise ToolchainError(
            "no GPU: the driver lists no device",
            help="check nvidia-smi and CUDA_VISIBLE_DEVICES",
        )

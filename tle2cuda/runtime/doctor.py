"""`tle2cuda doctor`: what is installed, what works, and what to do about the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tle2cuda.errors import KernelError, ToolchainError
from tle2cuda.runtime import nvrtc, toolkit
from tle2cuda.runtime.build import default_cache
from tle2cuda.runtime.cubin import read_cubin
from tle2cuda.runtime.nvrtc import CompileOptions
from tle2cuda.targets import DEFAULT_TARGET, target_of_capability
from tle2cuda.version import __version__

_PROBE = 'extern "C" __global__ void probe(int* out) { out[threadIdx.x] = threadIdx.x; }\n'
_PROBE_CCCL = (
    "#include <cooperative_groups.h>\n"
    'extern "C" __global__ void probe(int* out) { cooperative_groups::this_grid().sync(); out[0] = 1; }\n'
)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report.

    Attributes:
        name: What was looked at.
        state: ``ok``, ``absent`` (optional, or needed only to launch) or ``missing`` (nothing compiles
            without it).
        text: What was found.
        help: What to do.
    """

    name: str
    state: str
    text: str
    help: str = ""

    def render(self) -> str:
        """The line, with the advice below it."""
        line = f"{self.state:<8}{self.name:<22}{self.text}"
        return f"{line}\n{'':<8}{'':<22}{self.help}" if self.help else line


def examine() -> Iterator[Check]:
    """Look at everything, in the order in which things are needed."""
    yield Check("tle2cuda", "ok", f"{__version__}, Python {platform.python_version()}")
    for package, extra in (("numpy", "numpy"), ("jinja2", "jinja2")):
        yield _package(package, "missing", f"pip install {extra}")
    yield _guard("CuPy", _cupy, "missing")
    yield _guard("NVRTC", _nvrtc, "missing")
    yield _guard("CUDA headers", _headers, "missing")
    yield _guard("CCCL headers", _cccl, "absent")
    yield _guard("NVRTC compiles", lambda: _compile(_PROBE), "missing")
    yield _guard("cooperative groups", lambda: _compile(_PROBE_CCCL), "absent")
    yield _cache()
    yield _tool("nvdisasm")
    yield _guard("C++ compiler", _host_compiler, "absent")
    yield _guard("GPU", _gpu, "absent")
    yield _package("torch", "absent", "only to pass torch tensors: pip install torch")
    yield _package("ml_dtypes", "absent", "only for bf16 and fp8 in the interpreter: pip install ml_dtypes")


def healthy(checks: list[Check]) -> bool:
    """Whether kernels can be compiled here."""
    return not any(check.state == "missing" for check in checks)


def _guard(name: str, look: Callable[[], str], state: str) -> Check:
    """Turn what a look raises into a line of the report."""
    try:
        return Check(name, "ok", look())
    except KernelError as error:
        return Check(name, state, error.message, error.help)


def _package(name: str, state: str, advice: str) -> Check:
    if importlib.util.find_spec(name) is None:
        return Check(name, state, "not installed", advice)
    try:
        return Check(name, "ok", importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Check(name, "ok", "installed")


def _cupy() -> str:
    cupy = toolkit.require_cupy()
    return f"{cupy.__version__} for CUDA {toolkit.cuda_major()}"


def _nvrtc() -> str:
    major, minor = toolkit.nvrtc_version()
    return f"{major}.{minor}, {toolkit.nvrtc_library() or 'library path unknown'}"


def _host_compiler() -> str:
    from tle2cuda.emulator.toolchain import find_compiler

    compiler = find_compiler()
    return f"{compiler.path}, for the emulator"


def _headers() -> str:
    return toolkit.include_directories()[0]


def _cccl() -> str:
    if not toolkit.has_cccl():
        raise ToolchainError("not installed", help=toolkit.missing_header_help("cub/cub.cuh"))
    return toolkit.include_directories()[-1]


def _compile(source: str) -> str:
    """Compile a tiny kernel for the default target, and check that the result is one."""
    start = time.perf_counter()
    result = nvrtc.compile_source(
        source, "probe.cu", CompileOptions(DEFAULT_TARGET), pch_directory=default_cache().directory / "pch"
    )
    elapsed = time.perf_counter() - start
    registers = read_cubin(result.cubin, "probe").registers
    how = ", with a precompiled header" if result.used_pch else ""
    return f"{DEFAULT_TARGET} cubin in {elapsed:.2f} s{how}, {registers} registers"


def _cache() -> Check:
    cache = default_cache()
    problem = cache.writable()
    if problem:
        return Check(
            "cache",
            "absent",
            f"{cache.directory} cannot be written: {problem}",
            "set TLE2CUDA_CACHE_DIR to a writable directory; until then every process compiles anew",
        )
    return Check("cache", "ok", str(cache.directory))


def _tool(name: str) -> Check:
    path = toolkit.find_tool(name) or toolkit.find_tool("cuobjdump")
    if path is None:
        return Check(
            name, "absent", "not installed", f"only for --dump-sass and --report --inputs: pip install nvidia-cuda-{name}"
        )
    return Check(name, "ok", path)


def _gpu() -> str:
    toolkit.require_gpu()
    runtime = toolkit.require_cupy().cuda.runtime
    names = []
    for device in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(device)
        target = target_of_capability(properties["major"], properties["minor"])
        names.append(f"{properties['name'].decode()} ({target.name}, {properties['multiProcessorCount']} SMs)")
    driver = runtime.driverGetVersion()
    return f"{', '.join(names)}; driver for CUDA {driver // 1000}.{driver % 1000 // 10}"

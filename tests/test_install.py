"""`import triton` served by tle2cuda: `install()`, and scripts under `tle2cuda run`, with Triton installed and without."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import errors, triton_imports
from tle2cuda.triton_imports import LANGUAGE_LEVEL, served_name

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture(params=["absent", "present"])
def triton_folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder for the path of scripts: empty, or with an installed Triton that says so when it is imported."""
    if request.param == "present":
        for module in ("triton", "triton/language", "triton/runtime"):
            (tmp_path / module).mkdir()
            (tmp_path / module / "__init__.py").write_text("raise RuntimeError('the installed Triton was imported')\n")
    return str(tmp_path)


@pytest.fixture
def installed() -> Iterator[Any]:
    with tle2cuda.install() as installation:
        yield installation


def run(*arguments: str, path: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """`tle2cuda run`, with a folder before all others on Python's path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, str(ROOT)))), **environment}
    command = [sys.executable, "-m", "tle2cuda", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


SCRIPT_OUTPUTS = {
    "matmul.py": "the product is right\n",
    "vector_add.py": f"triton {LANGUAGE_LEVEL}: 3000 sums are right\n",
    "import_styles.py": "every import is right\n",
}


@pytest.mark.parametrize("script", SCRIPT_OUTPUTS)
def test_scripts_run_unchanged(script: str, triton_folder: str) -> None:
    done = run("--on", "interpreter", str(SCRIPTS / script), path=triton_folder)
    assert (done.stdout, done.stderr, done.returncode) == (SCRIPT_OUTPUTS[script], "", 0)


def test_a_script_that_sizes_its_grid_by_the_device(triton_folder: str) -> None:
    pytest.importorskip("torch")
    done = run("--on", "interpreter", str(SCRIPTS / "softmax.py"), path=triton_folder)
    assert (done.stdout, done.returncode) == ("softmax ok\n", 0), done.stderr


def test_scripts_run_in_the_emulator() -> None:
    done = run("--on", "emulator", str(SCRIPTS / "vector_add.py"), "100")
    assert (done.stdout, done.stderr, done.returncode) == (f"triton {LANGUAGE_LEVEL}: 100 sums are right\n", "", 0)


def test_scripts_that_start_pythons_and_have_a_sitecustomize_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.customized = True\n")
    (tmp_path / "child.py").write_text("import triton\nprint(triton.__name__, customized)\n")
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess, sys, sitecustomize\n"
        "print(sys.path[0] == sys.argv[1], customized, sitecustomize.__file__ == sys.argv[1] + '/sitecustomize.py')\n"
        "sys.stdout.flush()\n"
        "subprocess.run([sys.executable, sys.argv[1] + '/child.py'], check=True)\n"
    )
    done = run(str(script), str(tmp_path), path=str(tmp_path))
    assert (done.stdout, done.stderr) == ("True True True\ntle2cuda.triton True\n", "")


def test_errors_of_kernels_are_those_of_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import triton.experimental.gluon.language as gl\n")
    done = run(str(script))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: tle2cuda serves triton, without triton.experimental.gluon: kernels are written in "
        "triton.language, with triton.experimental.tle for shared memory"
    )


def test_no_such_script() -> None:
    done = run("missing.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tle2cuda: cannot read the script 'missing.py': No such file or directory\n"


def test_install_and_uninstall() -> None:
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "triton"}
    finders = list(sys.meta_path)
    with tle2cuda.install() as outer:
        import triton
        import triton.language as language

        assert triton.jit is tle2cuda.jit and language is tl
        inner = tle2cuda.install()
        inner.uninstall()
        inner.uninstall()  # once is enough
        assert triton_imports.is_installed()
        assert sys.modules["triton"] is triton
        assert tl.__name__ == "tle2cuda.language", "a module keeps its own name"
        assert tl.__spec__ is not None and tl.__spec__.name == "tle2cuda.language"
    outer.uninstall()
    assert not triton_imports.is_installed()
    assert sys.meta_path == finders
    assert {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "triton"} == before


def test_modules_that_were_imported_before_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    theirs = types.ModuleType("triton")
    monkeypatch.setitem(sys.modules, "triton", theirs)
    with tle2cuda.install():
        assert importlib.import_module("triton") is not theirs
    assert sys.modules["triton"] is theirs


def test_package_metadata(installed: Any) -> None:
    assert importlib.metadata.version("triton") == LANGUAGE_LEVEL
    assert importlib.util.find_spec("triton") is not None
    assert importlib.util.find_spec("triton.language") is not None
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("triton-not-there")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("triton._C.libtriton", "triton._C: it is Triton's compiled library; tle2cuda emits CUDA and calls NVRTC"),
        ("triton.language.extra.hip", "triton.language.extra.hip: it belongs to another vendor's GPUs; "),
        ("triton.profiler.language", "triton.profiler.language: nothing records scopes inside kernels; profile with "),
        ("triton.tools.compile", "with `tle2cuda compile FILE::KERNEL --signature S --dump-cu FILE`"),
        ("triton.nothing.at.all", "tle2cuda serves triton, and has no module triton.nothing"),
    ],
)
def test_what_is_not_served(installed: Any, module: str, reason: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(module)
    assert reason in str(caught.value)


def test_profiler_without_a_session(installed: Any) -> None:
    import triton.profiler as proton

    @proton.scope("function", {"flops": 1.0})
    def computes() -> int:
        with proton.scope("inner"), proton.cpu_timed_scope("timed"), proton.state("state"):
            return 3

    assert computes() == 3
    assert proton.enter_scope("a") is proton.exit_scope("a") is proton.finalize() is None
    with pytest.raises(tle2cuda.NotSupported, match="no session can be started"):
        proton.start("name", hook="triton")


def test_microscaling_formats(installed: Any) -> None:
    torch = pytest.importorskip("torch")
    from triton.tools.mxfp import MXFP4Tensor, MXScaleTensor

    values = torch.tensor([0.0, -0.25, 0.75, 2.5, -5.0, 100.0])
    fp4 = MXFP4Tensor(values)
    assert fp4.to(torch.float32).tolist() == [0, 0, 1, 2, -4, 6]
    packed = fp4.to_packed_tensor(0)
    assert torch.equal(fp4.unpack_packed_tensor(packed, 0, (6,)), fp4.data)
    scales = MXScaleTensor(torch.tensor([3.0, 0.5, -1.0]))
    assert scales.data.tolist() == [128, 126, 255]


@tle2cuda.jit
def moves_parts(x, y, first, size, MODULE: tl.constexpr, ROWS: tl.constexpr):
    for row in range(0, size, ROWS):
        tile = MODULE.load_ragged(x, first, size, [row, 1, 0])
        MODULE.store_ragged(y, first, size, [1, row, 0], tile.trans(1, 0, 2) + 100, ragged_dim=-2)
        MODULE.atomic_add_ragged(x, first, size, [row, 0, 0], tile, ragged_dim=0)


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_parts_of_tensors_are_clipped(installed: Any, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from triton.tools import ragged_tma

    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.arange(12 * 2 * 4, dtype=np.float32).reshape(12, 2, 4)
    y = np.zeros((2, 12, 4), np.float32)
    before = x.copy()
    of_x = ragged_tma.create_ragged_descriptor(x, [4, 1, 4])
    of_y = ragged_tma.create_ragged_descriptor(y, [1, 4, 4], ragged_dim=1)
    moves_parts[(1,)](of_x, of_y, 3, 6, ragged_tma, 4)
    expected, sums = np.zeros_like(y), before.copy()
    expected[1, 3:9] = before[3:9, 1] + 100
    sums[3:9, 0] += before[3:9, 1]
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(x, sums)
    with pytest.raises(errors.InvalidArgument, match="ragged_dim is 3, the tensor has 3 dimensions"):
        ragged_tma.create_ragged_descriptor(x, [4, 1, 4], ragged_dim=3)


def test_unknown_attributes_say_who_serves(installed: Any) -> None:
    import triton

    assert not hasattr(triton, "frobnicate")
    with pytest.raises(AttributeError, match=r"tle2cuda serves triton, and has nothing named triton\.frobnicate"):
        triton.frobnicate  # noqa: B018


def test_names_beside_the_language_itself(installed: Any) -> None:
    import triton.language.semantic
    import triton.testing
    from triton.backends.driver import GPUDriver
    from triton.language.core import item, must_use_result
    from triton.language.extra.cuda.gdc import gdc_wait
    from triton.language.extra.cuda.utils import convert_custom_float8_sm80, globaltimer
    from triton.language.random import N_ROUNDS_DEFAULT
    from triton.language.standard import _argmax_combine_tie_break_left, _compare_and_swap, sort_impl

    assert triton.testing.runtime is triton.runtime and triton.testing.tl is triton.language
    assert issubclass(triton.language.semantic.IncompatibleTypeErrorImpl, TypeError)
    assert isinstance(triton.runtime.driver.active, GPUDriver)
    assert all(map(callable, (item, must_use_result, gdc_wait, convert_custom_float8_sm80, globaltimer)))
    assert all(map(callable, (_argmax_combine_tie_break_left, _compare_and_swap, sort_impl)))
    assert N_ROUNDS_DEFAULT.value == 10
    assert {"load", "sum", "_sum_combine"} <= set(dir(triton.language.standard)) and "compile" in dir(triton)
    assert {"load", "constexpr", "float32"} <= set(dir(triton.language.core))


def test_every_alias_exists() -> None:
    assert all(served_name(name) for name in triton_imports._ALIASES if name != "triton.language.random")


def test_what_compilers_are_asked(installed: Any) -> None:
    pytest.importorskip("cupy")
    import triton
    from triton.backends.nvidia.compiler import min_dot_size
    from triton.compiler.compiler import ASTSource, make_backend

    target = triton.runtime.driver.active.get_current_target()
    assert min_dot_size(target)(tl.float16, tl.float16) == (1, 1, 16) and min_dot_size(target)(tl.int8, tl.int8)[2] == 32
    assert make_backend(target).parse_options({"num_warps": 8}).num_warps == 8

    def copy(x, out, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

    signature = {"x": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    attributes = {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]}
    source = ASTSource(triton.jit(copy), signature, {(3,): 64}, attributes)
    compiled = triton.compile(source, target=target, options={"num_warps": 2})
    assert compiled.metadata.num_warps == 2 and compiled.contract.target == "sm_90a"
    assert [spec.type_string for spec in compiled.contract.args] == ["*fp32:16", "*fp32:16", "i32"]
    assert isinstance(compiled, triton.compiler.CompiledKernel)
    with pytest.raises(errors.ArgumentError, match=r"triton\.compile takes an ASTSource, got str"):
        triton.compile("kernel.ttir")


def test_raw_functions_are_declared_and_refused_when_used(installed: Any) -> None:
    from triton.experimental.tle.raw import InOut, Input, dialect

    @dialect(name="cuda", file="kernel.cu")
    def scale(x: Input["memref<?xf32>"], y: InOut["memref<?xf32>"]) -> None: ...  # type: ignore[type-arg]  # noqa: F722

    with pytest.raises(NotImplementedError, match="scale is a raw function, which is not supported"):
        scale()


def test_modules_made_by_hand_answer_as_ours(installed: Any) -> None:
    """Packages look for a module that has a function, and execute its spec themselves."""
    spec = importlib.util.find_spec("triton.language.extra.libdevice")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.rsqrt is tl.extra.libdevice.rsqrt


def test_parts_of_the_language_are_attributes() -> None:
    assert tl.standard._log2(64) == 6
    assert tl.target_info is importlib.import_module("tle2cuda.language.target_info")
    with pytest.raises(AttributeError, match="nothing"):
        _ = tl.nothing

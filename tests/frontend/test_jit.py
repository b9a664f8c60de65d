"""Launching through `kernel[grid]`: binding, specialisation, options, grids; all of it without a GPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import errors
from tle2cuda.jit_function import JitFunction
from tle2cuda.runtime.options import LaunchOptions


def fresh(function: Any, **options: Any) -> JitFunction:
    """A jit object of its own, so that tests do not share compiled kernels."""
    return tle2cuda.jit(**options)(function) if options else tle2cuda.jit(function)


def fill(out, value, n, BLOCK: tl.constexpr = 8):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, value, mask=i < n)


def is_one(out, n):
    tl.store(out, 2 if isinstance(n, tl.tensor) else 1)


def where_am_i(out):
    index = tl.program_id(0) + tl.num_programs(0) * (tl.program_id(1) + tl.num_programs(1) * tl.program_id(2))
    tl.store(out + index, index)


def zeros(n: int = 8) -> np.ndarray:
    return np.zeros(n, dtype=np.float32)


def test_attributes() -> None:
    kernel = fresh(fill)
    assert kernel.fn is fill
    assert kernel.__name__ == "fill"
    assert kernel.__module__ == __name__
    assert kernel.arg_names == ["out", "value", "n", "BLOCK"]
    assert "fill" in repr(kernel)


def test_positions_keywords_and_defaults() -> None:
    out = zeros()
    fresh(fill)[(1,)](out, 3.0, n=5)
    assert out.tolist() == [3, 3, 3, 3, 3, 0, 0, 0]
    out = zeros()
    fresh(fill)[(2,)](value=2.0, out=out, BLOCK=4, n=7, num_warps=1)
    assert out.tolist() == [2, 2, 2, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("grid", [(3, 2, 1), [3, 2], (np.int64(6),), 6, (1, 2, 3), lambda bound: (6,)])
def test_grids(grid: Any) -> None:
    out = np.full(6, -1, dtype=np.int32)
    fresh(where_am_i)[grid](out)
    assert out.tolist() == [0, 1, 2, 3, 4, 5]


def test_grid_function_sees_all_bound_arguments() -> None:
    seen: dict[str, Any] = {}

    def grid(bound: dict[str, Any]) -> tuple[int]:
        seen.update(bound)
        return (tle2cuda.cdiv(bound["n"], bound["BLOCK"]),)

    out = zeros()
    fresh(fill)[grid](out, 1.0, 8, BLOCK=2, num_warps=2)
    assert out.tolist() == [1] * 8
    assert seen["out"] is out
    assert {name: value for name, value in seen.items() if name != "out"} == {"value": 1.0, "n": 8, "BLOCK": 2}


@pytest.mark.parametrize("grid", [(0,), (2, 0), (1, 1, 0)])
def test_empty_grid_launches_nothing(grid: tuple[int, ...]) -> None:
    out = zeros()
    fresh(fill)[grid](out, 1.0, 8)
    assert not out.any()


@pytest.mark.parametrize("grid", [(), (1, 1, 1, 1), (1.5,), (-1,), (1, 1 << 20)])
def test_bad_grids(grid: tuple[Any, ...]) -> None:
    with pytest.raises(errors.LaunchError, match="grid"):
        fresh(fill)[grid](zeros(), 1.0, 8)


def test_run_is_a_launch() -> None:
    out = zeros()
    fresh(fill).run(out, 1.0, 8, grid=(1,))
    assert out.all()


def test_one_compilation_per_specialisation() -> None:
    kernel = fresh(fill)
    out = zeros()
    for value, n in ((1.0, 5), (2.0, 7), (3.0, 8)):
        kernel[(1,)](out, value, n)
    assert len(kernel._launches) == 1
    kernel[(1,)](out, 1.0, 16)
    assert len(kernel._launches) == 2, "divisibility by 16 is part of the key"
    kernel[(1,)](out.astype(np.float64), 1.0, 5)
    kernel[(1,)](out, 1.0, 5, BLOCK=4)
    kernel[(1,)](out, 1.0, 5, num_warps=8)
    assert len(kernel._launches) == 5
    kernel[(1,)](out, 1.0, 5, num_warps=8)
    assert len(kernel._launches) == 5


def test_integer_one_is_a_constant() -> None:
    out = np.zeros(1, dtype=np.int32)
    kernel = fresh(is_one)
    kernel[(1,)](out, 1)
    assert out[0] == 1
    kernel[(1,)](out, 2)
    assert out[0] == 2
    fresh(is_one, do_not_specialize=["n"])[(1,)](out, 1)
    assert out[0] == 2
    fresh(is_one, do_not_specialize=[1])[(1,)](out, 1)
    assert out[0] == 2


def test_do_not_specialize_on_alignment() -> None:
    kernel = fresh(fill, do_not_specialize_on_alignment=["n"])
    kernel[(1,)](zeros(), 1.0, 5)
    kernel[(1,)](zeros(), 1.0, 16)
    assert len(kernel._launches) == 1


def test_none_and_wide_integers() -> None:
    def k(out, n, other):
        if other is None:
            tl.store(out, n + 1)

    out = np.zeros(1, dtype=np.int64)
    fresh(k)[(1,)](out, 2**40, None)
    assert out[0] == 2**40 + 1


def test_annotated_dtype_fixes_the_type() -> None:
    def k(out, n: tl.int64):
        tl.store(out, 1 if n.dtype == tl.int64 else 2)

    out = np.zeros(1, dtype=np.int32)
    fresh(k)[(1,)](out, 1)
    assert out[0] == 1


def test_accepted_options() -> None:
    out = zeros()
    fresh(fill)[(1,)](
        out, 1.0, 8, num_warps=2, num_stages=2, num_ctas=2, launch_cooperative_grid=True, cluster_dims=(1, 1, 1),
        enable_fp_fusion=False, maxnreg=64, launch_pdl=True, debug=False, sanitize_overflow=True,
    )  # fmt: skip
    assert out.all()


def test_cluster_option_multiplies_the_grid() -> None:
    out = np.full(6, -1, dtype=np.int32)
    fresh(where_am_i)[(3,)](out, cluster_dims=[2, 1, 1])
    assert out.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_warps": 3}, "num_warps must be a power of two from 1 to 32, got 3"),
        ({"num_warps": 64}, "num_warps must be a power of two from 1 to 32, got 64"),
        ({"num_warps": "4"}, "num_warps must be a power of two from 1 to 32, got '4'"),
        ({"num_ctas": 3}, "fill: num_ctas must be a power of two from 1 to 16, got 3"),
        (
            {"num_ctas": 2, "cluster_dims": (2, 1, 1)},
            "fill: a launch whose CTAs form clusters or wait for each other requires num_ctas=1, got 2",
        ),
        ({"maxnreg": 256}, "fill: maxnreg must be a number of registers from 1 to 255, got 256"),
        ({"cluster_dims": (2, 1)}, r"fill: cluster_dims must be three positive ints, got \(2, 1\)"),
        ({"cluster_dims": (0, 1, 1)}, r"fill: cluster_dims must be three positive ints, got \(0, 1, 1\)"),
    ],
)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fresh(fill)[(1,)](zeros(), 1.0, 8, **options)


def test_clusters_need_sm_90() -> None:
    with pytest.raises(ValueError, match=r"fill: cluster_dims=\(2, 1, 1\) requires NVIDIA SM90\+, the target is sm_80"):
        LaunchOptions("fill", (("cluster_dims", (2, 1, 1)),), "sm_80")
    with pytest.raises(ValueError, match=r"fill: num_ctas=2 requires NVIDIA SM90\+, the target is sm_80"):
        LaunchOptions("fill", {"num_ctas": 2}, "sm_80")


def error_text(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(errors.ArgumentError) as caught:
        fresh(fill)[(1,)](*args, **kwargs)
    return str(caught.value)


def test_unknown_keyword() -> None:
    assert error_text(zeros(), 1.0, 8, BLOK=8) == (
        "fill has no parameter or launch option `BLOK`\n"
        "  parameters: out, value, n, BLOCK\n"
        "  launch options: num_warps, num_stages, num_ctas, cluster_dims, launch_cooperative_grid, launch_pdl, "
        "enable_fp_fusion, maxnreg, debug, sanitize_overflow\n"
        "  help: did you mean `BLOCK`?"
    )
    assert "did you mean `num_warps`?" in error_text(zeros(), 1.0, 8, num_wraps=8)


def test_missing_and_surplus_arguments() -> None:
    assert error_text(zeros()) == ("fill: missing a required argument: 'value'\n  parameters: out, value, n, BLOCK")
    assert "too many positional arguments" in error_text(1, 2, 3, 4, 5)
    with pytest.raises(TypeError, match=r"fill\(\) got multiple values for argument 'n'"):
        fresh(fill)[(1,)](zeros(), 1.0, 8, n=3)


def test_arguments_of_no_type() -> None:
    assert error_text(zeros(), "text", 8).splitlines()[0] == (
        "argument `value`: a value of type builtins.str cannot be a run-time argument"
    )
    assert "argument `out`" in error_text(np.zeros(4, dtype=np.complex64), 1.0, 8) or "complex64" in error_text(
        np.zeros(4, dtype=np.complex64), 1.0, 8
    )
    assert "cannot be hashed" in error_text(zeros(), 1.0, 8, BLOCK=[8])


def test_failed_launch_leaves_the_kernel_usable() -> None:
    kernel = fresh(fill)
    out = zeros()
    with pytest.raises(errors.ArgumentError):
        kernel[(1,)](out)
    with pytest.raises(errors.InvalidArgument):
        kernel[(1,)](out, 1.0, 8, BLOCK=3)
    assert not out.any()
    kernel[(1,)](out, 1.0, 8)
    assert out.all()


def test_kernels_are_not_called() -> None:
    with pytest.raises(errors.LaunchError) as caught:
        fresh(fill)(zeros(), 1.0, 8)
    assert str(caught.value) == (
        "fill is a kernel and cannot be called from Python\n  help: launch it with fill[grid](...)"
    )


def test_language_functions_need_a_kernel() -> None:
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        tl.program_id(0)


def test_jit_decorates_functions_only() -> None:
    with pytest.raises(errors.ArgumentError, match="decorates a Python function, got int"):
        tle2cuda.jit(3)  # type: ignore[call-overload]
    with pytest.raises(errors.ArgumentError, match=r"cannot take `\*args`"):
        fresh(lambda *args: None)[(1,)](1)


def test_launch_costs_little_python() -> None:
    """The path of a launch that was seen before, the work of the launch itself left out."""
    import time

    class Nothing:
        def __call__(self, grid: Any, values: Any) -> None:
            pass

    kernel = fresh(fill)
    out = zeros()
    kernel[(1,)](out, 1.0, 8, BLOCK=8, num_warps=4)
    for key in kernel._launches:
        kernel._launches[key] = Nothing()  # type: ignore[assignment]
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(500):
            kernel[(1,)](out, 1.0, 8, BLOCK=8, num_warps=4)
        best = min(best, (time.perf_counter() - start) / 500)
    assert best < 10e-6


class FakeLauncher:
    """Records what a launch hands to the driver."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, ...]] = []

    def launch(self, *arguments: Any) -> None:
        self.launches.append(arguments)


def test_gpu_launch_hands_over_ctas_and_run_time_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU path, with the driver replaced: constants left out, the grid multiplied by the cluster."""
    import types

    from tle2cuda.runtime import launches
    from tle2cuda.runtime.args import BoundArguments
    from tle2cuda.runtime.contract import ArgSpec, LaunchContract
    from tle2cuda.runtime.signature import Specialization

    monkeypatch.setattr("tle2cuda.runtime.launcher.stream_getter", lambda library: lambda device: (library, device))
    args = (ArgSpec("out", "pointer", "fp32", 16), ArgSpec("n", "scalar", "i32"))
    contract = LaunchContract("fill", "k.py", 1, "sm_90a", args, cluster=(2, 1, 1))
    launcher = FakeLauncher()
    compiled = types.SimpleNamespace(contract=contract, launcher=launcher)
    bound = BoundArguments(Specialization(args, (("B", 8),)), 3, "torch", (0, 2))
    launch = launches.GPULaunch(compiled, bound)
    for grid in ((5, 2), [5, 2], (5, 2)):
        launch(grid, (0x1000, 8, 77))
    assert launcher.launches == [((10, 2, 1), (0x1000, 77), ("torch", 3), 3)] * 3
    with pytest.raises(errors.LaunchError, match="beyond the limit"):
        launch((1, 1 << 17), (0x1000, 8, 77))


def test_import_is_light() -> None:
    code = (
        "import sys, tle2cuda\n"
        "heavy = {'numpy', 'cupy', 'torch', 'jinja2', 'triton'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert tle2cuda.cdiv(7, 2) == 4 and tle2cuda.next_power_of_2(5) == 8 and tle2cuda.next_power_of_2(0) == 0\n"
        "assert tle2cuda.CompilationError and tle2cuda.jit and tle2cuda.emit and tle2cuda.compile\n"
        "import tle2cuda.language as tl\n"
        "assert not {'cupy', 'torch', 'jinja2', 'triton'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attribute_of_the_package() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tle2cuda.nothing  # noqa: B018
    assert dir(tle2cuda) == sorted(tle2cuda.__all__)
    assert all(hasattr(tle2cuda, name) for name in dir(tle2cuda))

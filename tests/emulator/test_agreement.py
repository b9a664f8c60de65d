"""`tools/agreement.py`: what it runs, how it compares, and, with the interpreter in the GPU's place, that it passes."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from tests.devices import find_devices
from tests.opcases import cases, spread
from tests.opcases.gpu import emulated
from tle2cuda.emulator import toolchain
from tools import agreement
from tools.agreement_jobs import (
    ORDER_DEPENDENT,
    UNIT,
    Job,
    Output,
    canonical_slots,
    compare_bits,
    compare_floats,
    jobs,
    layer_norm_bounds,
    softmax_bounds,
    unit_in_the_last_place,
)
from tools.bench.publish import PARTS, put
from tools.launching import EXIT_MACHINE, EmulatorDevice
from tools.shipped import shipped_kernels

BF16 = cases()["add_bf16"].inputs()["x"].dtype
SEED = 7
BEGIN, END = "<!-- results: agreement -->\n", "<!-- end: agreement -->"
JOBS = jobs(SEED, ops_per_family=1)


def find(kernel: str, inputs: str, dtype: str = "") -> Job:
    """The job of a kernel on certain inputs."""
    return next(j for j in JOBS if j.kernel == kernel and inputs in j.inputs and dtype in ("", j.dtype))


# ---- what is run ----------------------------------------------------------------------------------------------------


def test_every_shipped_kernel_is_compared() -> None:
    compared = {emitted.contract.kernel_name for job in JOBS for emitted in job.kernels("sm_90a")}
    assert {kernel.function for kernel in shipped_kernels()} <= compared


def test_moe_kernels_get_both_routing_data_sets_and_wide_ids() -> None:
    for name in {job.kernel for job in JOBS if job.kernel.startswith("moe_align")}:
        inputs = [job.inputs for job in JOBS if job.kernel == name]
        assert any("top1_e512" in text for text in inputs) and any("top8_e256" in text for text in inputs)
        assert any(job.dtype == "int64" for job in JOBS if job.kernel == name)


def test_inputs_are_fresh_with_each_seed() -> None:
    first, again, other = (jobs(seed, 0, "vector_add")[4].values["x"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_small_kernels_come_from_all_over_each_family() -> None:
    chosen = spread(3)
    families = {case.family for case in cases().values()}
    assert {case.family for case in chosen} == families
    assert all(sum(case.family == family for case in chosen) <= 3 for family in families)


# ---- comparing ------------------------------------------------------------------------------------------------------


def test_one_wrong_bit_of_an_integer_is_found() -> None:
    want = np.arange(10, dtype=np.int32)
    got = want.copy()
    got[3] ^= 1 << 20
    assert compare_bits("out", want, want) == Output("out", 10)
    assert compare_bits("out", got, want).problem == "out: 1 of 10 differ, first [3]: 1048579 and 3"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, BF16])
def test_neighbours_differ_by_one_ulp(dtype: Any) -> None:
    want = np.array([1.0, 1.5, -3.0, 700.0], dtype)
    raw = np.dtype(f"u{want.dtype.itemsize}")
    got = (want.view(raw) + 1).view(want.dtype)
    assert compare_floats("out", got, want).problem
    unit = unit_in_the_last_place(np.abs(want.astype(np.float64)), want.dtype)
    allowed = compare_floats("out", got, want, unit)
    assert (allowed.max_ulp, allowed.share, allowed.differing, allowed.problem) == (1.0, 1.0, 4, "")


def test_special_values() -> None:
    nan, other_nan = np.array([0x7FC00000, 0x7FFFFFFF], np.uint32).view(np.float32)
    want = np.array([nan, np.inf, 0.0, 1.0], np.float32)
    assert not compare_floats("out", np.array([other_nan, np.inf, 0.0, 1.0], np.float32), want).problem
    assert compare_floats("out", np.array([nan, np.inf, -0.0, 1.0], np.float32), want).problem
    for wrong in ([1.0, np.inf, 0.0, 1.0], [nan, 3e38, 0.0, 1.0], [nan, -np.inf, 0.0, 1.0], [nan, np.inf, 0.0, nan]):
        assert compare_floats("out", np.array(wrong, np.float32), want, allowed=1.0).problem, wrong


def test_slots_of_one_expert_may_come_in_any_order_but_not_leave_it() -> None:
    held = {"sorted_ids": np.array([5, 1, 9, 9, 2, 0, 9, 9]), "expert_ids": np.array([0, 1]), "numel": 9}
    assert canonical_slots(held, 4).tolist() == [1, 5, 9, 9, 0, 2, 9, 9]
    swapped = {**held, "sorted_ids": np.array([5, 2, 9, 9, 1, 0, 9, 9])}
    assert canonical_slots(swapped, 4).tolist() != canonical_slots(held, 4).tolist()


def _softmax_with(values: dict[str, Any], error_of_exp: np.ndarray, error_of_division: float) -> np.ndarray:
    """Softmax in fp32 whose intrinsics are wrong by so much."""
    argument = values["x"].astype(np.float64) - values["x"].astype(np.float64).max(axis=1, keepdims=True)
    weight = (np.exp(argument) * (1 + error_of_exp)).astype(np.float32)
    quotient = weight.astype(np.float64) / weight.sum(axis=1, dtype=np.float32, keepdims=True)
    return (quotient * (1 + error_of_division)).astype(np.float32)


def test_softmax_bound_admits_what_cuda_documents_and_no_more() -> None:
    job = find("softmax", "3 x 3001", "float32")
    argument = job.values["x"] - job.values["x"].max(axis=1, keepdims=True)
    documented = (2 + np.floor(1.173 * np.abs(argument))) * UNIT / 2
    exact = _softmax_with(job.values, np.zeros_like(argument), 0.0)
    values = {**job.values, "out": exact}
    allowed, _ = softmax_bounds(values, additions=20)["out"]
    worst = _softmax_with(
        job.values, documented * np.where(np.arange(argument.size).reshape(argument.shape) % 2, 1, -1), UNIT
    )
    assert compare_floats("out", worst, exact, allowed).problem == ""
    assert compare_floats("out", exact * np.float32(1 + 1e-4), exact, allowed).problem


def test_layer_norm_bounds_admit_other_roundings_and_no_more() -> None:
    job = find("layer_norm", "3 x 3001", "float32")
    held = job.run(EmulatorDevice())
    bounds = layer_norm_bounds(held, additions=20, same_order=True)
    for name, (allowed, scale) in bounds.items():
        assert compare_floats(name, held[name], held[name], allowed, scale) == Output(name, held[name].size)
        wrong = (held[name].astype(np.float64) * (1 + 1e-4)).astype(np.float32)
        assert compare_floats(name, wrong, held[name], allowed, scale).problem
    rstd = np.nextafter(np.nextafter(held["rstd_out"], np.float32(9)), np.float32(9))
    assert not compare_floats("rstd_out", rstd, held["rstd_out"], *bounds["rstd_out"]).problem


# ---- running --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["moe_align_three_kernel", "moe_align_cooperative"])
def test_scratch_does_not_depend_on_the_schedule_but_where_it_says_so(name: str) -> None:
    job = find(name, "1000 slots")
    forward, reverse = (job.run(EmulatorDevice(schedule=schedule)) for schedule in ("forward", "reverse"))
    assert not [one.problem for one in job.compare(reverse, forward, True) if one.problem]
    for scratch in ORDER_DEPENDENT.get(name.removeprefix("moe_align_"), ()):
        assert (forward[scratch] != reverse[scratch]).any()


def test_emulated_case_gives_what_numpy_computes() -> None:
    for case in spread(1):
        assert not case.differences(emulated(case), case.reference(case.inputs())), case.name


def test_interpreter_takes_the_place_of_the_gpu(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agreement.json"
    options = ["--against", "interpreter", "--only", "moe_align_single_cta", "--seed", "3", "--json", str(path)]
    assert agreement.main(options) == 0
    printed = capsys.readouterr().out
    assert "2 of 2 kernels and types agree between interpreter and emulator in 6 runs" in printed
    report = json.loads(path.read_text())
    assert report["seed"] == 3 and report["device"] == {"against": "interpreter"}
    assert [record["dtype"] for record in report["records"]] == ["int32", "int64"]
    assert all(record["problems"] == [] and record["elements"] for record in report["records"])
    page = put(f"{BEGIN}old{END}", "agreement", PARTS["agreement"][1](report["records"]))
    assert page.startswith(f"{BEGIN}\n2 of 2 kernels and types agree, in 6 runs on ") and page.endswith(
        f" agree |\n\n{END}"
    )
    with pytest.raises(ValueError, match="no place for mutants_gpu"):
        put(page, "mutants_gpu", "")


def test_disagreement_is_shown_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    original = EmulatorDevice.run

    def off_by_one(self: EmulatorDevice, *arguments: Any) -> dict[str, Any]:
        return {name: array + array.dtype.type(1) for name, array in original(self, *arguments).items()}

    monkeypatch.setattr(EmulatorDevice, "run", off_by_one)
    chosen = [find("vector_add", "1021", "int32")]
    monkeypatch.setattr(agreement, "jobs", lambda *options: chosen)
    assert agreement.main(["--against", "interpreter"]) == 1
    printed = capsys.readouterr().out
    assert "DISAGREE vector_add int32: 1021: out: 1021 of 1021 differ, first [0]: " in printed
    assert "0 of 1 kernels and types agree" in printed


@pytest.mark.skipif(bool(find_devices().capabilities), reason="this machine has a GPU")
def test_machine_without_gpu_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert agreement.main([]) == EXIT_MACHINE
    said = capsys.readouterr().err
    assert said.startswith("agreement.py: no GPU: ")
    assert said.endswith("agreement.py: without a GPU, --against interpreter compares with the interpreter\n")


def test_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(toolchain.COMPILER_VARIABLE, "no-such-compiler")
    assert agreement.main(["--against", "interpreter"]) == EXIT_MACHINE
    assert "TLE2CUDA_CXX names 'no-such-compiler', which is not installed" in capsys.readouterr().err


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["vector_add", "softmax", "layer_norm", "moe_align_single_cta"])
def test_gpu_agrees_with_the_emulator(name: str) -> None:
    assert agreement.main(["--only", name, "--ops", "0"]) == 0


@pytest.mark.parametrize("name", PARTS)
def test_every_part_has_its_place(name: str) -> None:
    page, _ = PARTS[name]
    assert "made here" in put(page.read_text(encoding="utf-8"), name, "made here")

"""A kernel that spills a little is compiled once more with other launch bounds, which are kept when nothing spills."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.runtime import samples
from tle2cuda.runtime import CompileOptions, KernelCache, build_artifact
from tle2cuda.runtime.nvrtc import CompileResult
from tle2cuda.runtime.spills import compile_without_needless_spills

SOURCE = 'extern "C" __global__ void __launch_bounds__(128)\nadd()\n{\n}\n'
FREE, TWO = SOURCE.replace("(128)", "(128, 1)"), SOURCE.replace("(128)", "(128, 2)")


def log(registers: int, spilled: int) -> str:
    return (
        f"ptxas info    : Compiling entry function 'add' for 'sm_90a'\n    {spilled} bytes stack frame, "
        f"{spilled} bytes spill stores, {spilled} bytes spill loads\nptxas info    : Used {registers} registers\n"
    )


@pytest.fixture
def ptxas(monkeypatch: pytest.MonkeyPatch):
    """Answers by text, and the texts that were compiled."""
    answers: dict[str, str] = {}
    asked: list[str] = []

    def compile_source(source: str, *_: object) -> CompileResult:
        asked.append(source)
        return CompileResult(source.encode(), "", answers[source], (), False)

    monkeypatch.setattr("tle2cuda.runtime.nvrtc.compile_source", compile_source)
    return answers, asked


@pytest.mark.parametrize(
    ("first", "second", "taken", "texts"),
    [
        pytest.param((72, 76), (116, 0), FREE, 2, id="registers were left"),
        pytest.param((72, 76), (255, 12), SOURCE, 2, id="spills all the same"),
        pytest.param((255, 76), (228, 0), TWO, 2, id="no registers left"),
        pytest.param((32, 9000), (255, 0), SOURCE, 1, id="far too large"),
        pytest.param((72, 0), (116, 0), SOURCE, 1, id="no spills"),
    ],
)
def test_which_text_is_taken(ptxas, first, second, taken, texts) -> None:
    answers, asked = ptxas
    answers |= {SOURCE: log(*first), FREE: log(*second), TWO: log(*second)}
    options = CompileOptions("sm_90a")
    text, result, used = compile_without_needless_spills(SOURCE, "add.cu", options, samples.ADD.contract)
    assert (text, result.cubin, len(asked)) == (taken, taken.encode(), texts)
    assert used.registers == (first if taken == SOURCE else second)[0]


def test_two_large_ctas_would_have_fewer_registers(ptxas) -> None:
    answers, asked = ptxas
    source = SOURCE.replace("128", "256")
    answers[source] = log(255, 76)
    contract = replace(samples.ADD.contract, cta_threads=256)
    assert compile_without_needless_spills(source, "add.cu", CompileOptions("sm_90a"), contract)[0] == source
    assert asked == [source]


def test_the_text_that_was_compiled_is_kept(ptxas, tmp_path: Path) -> None:
    answers, asked = ptxas
    answers |= {SOURCE: log(72, 76), FREE: log(116, 0)}
    sample, cache = replace(samples.ADD, source=SOURCE), KernelCache(tmp_path)
    for from_cache in (False, True):
        artifact = build_artifact(sample, cache=cache)
        assert (artifact.from_cache, artifact.source, artifact.source_path.read_text()) == (from_cache, FREE, FREE)
    assert len(asked) == 2

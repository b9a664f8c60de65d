"""`autotune` and `heuristics`: what is chosen, what a launch with it does, and what configurations may do wrong."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import Config, errors
from tle2cuda.tuning.autotuner import Autotuner, AutotunerError


def scale(x, out, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * FACTOR, mask=i < n)


def accumulate(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path / "cache"))


class Stopwatch:
    """A `do_bench` that runs a call and answers from a list; keeps how often it was asked."""

    def __init__(self, *milliseconds: float) -> None:
        self.milliseconds = list(milliseconds)
        self.asked = 0

    def __call__(self, call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
        call()
        self.asked += 1
        return [self.milliseconds[(self.asked - 1) % len(self.milliseconds)]] * len(quantiles)


def blocks(*sizes: int, **options: Any) -> list[Config]:
    return [Config({"BLOCK": size}, **options) for size in sizes]


def arrays(n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n, dtype=np.float32), np.zeros(n, dtype=np.float32)


def tuned(fn: Any, configs: Sequence[Config], key: Sequence[str] = ("n",), **options: Any) -> Autotuner:
    return tle2cuda.autotune(list(configs), key=list(key), **options)(tle2cuda.jit(fn))


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (tle2cuda.cdiv(meta["n"], meta["BLOCK"]),)


def test_the_fastest_is_chosen_once_for_each_key() -> None:
    watch = Stopwatch(3.0, 1.0, 2.0)
    kernel = tuned(scale, blocks(16, 32, 64), do_bench=watch)
    x, out = arrays()
    kernel[grid](x, out, 100, FACTOR=2)
    assert kernel.best_config.kwargs == {"BLOCK": 32}
    assert out.tolist() == (2 * x).tolist()
    assert [timing[0] for timing in kernel.configs_timings.values()] == [3.0, 1.0, 2.0]
    kernel[grid](x, out, 100, FACTOR=3)
    assert watch.asked == 3, "nothing that the key names has changed"
    assert out.tolist() == (3 * x).tolist()
    kernel[grid](x, out, 90, FACTOR=3)
    assert watch.asked == 6
    kernel[grid](x.astype(np.float64), out, 90, FACTOR=3)
    assert watch.asked == 9, "dtypes of tensors are part of the key"
    assert list(kernel.cache) == [(100, "float32", "float32"), (90, "float32", "float32"), (90, "float64", "float32")]
    assert kernel.bench_time > 0


def test_one_configuration_is_not_measured() -> None:
    watch = Stopwatch(1.0)
    kernel = tuned(scale, blocks(32), do_bench=watch)
    x, out = arrays()
    kernel[grid](x, out, 100, 2)
    assert (watch.asked, out[5], kernel.best_config.num_warps) == (0, 10.0, 4)
    without = tuned(scale, [])
    without[(1,)](x, out, 100, 3, BLOCK=128)
    assert out[5] == 15.0


def test_configurations_that_fail_are_left_out_with_their_reason(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_PRINT_AUTOTUNING", "1")

    def explode(arguments: dict[str, Any]) -> None:
        raise RuntimeError("the hook\nhas failed")

    configs = [*blocks(24), *blocks(16, num_warps=3), *blocks(8, pre_hook=explode), *blocks(64, 32)]
    kernel = tuned(scale, configs, do_bench=Stopwatch(2.0, 1.0))
    x, out = arrays()
    kernel[grid](x, out, 100, 2)
    assert kernel.best_config is configs[4]
    reasons = [re.sub(r"^.*\.py:", "PY:", kernel.failures[config]) for config in configs[:3]]
    assert reasons[0].endswith("tl.arange: the length is a power of two, got 24 (0 to 24)") or "24" in reasons[0]
    assert reasons[1] == "num_warps must be a power of two from 1 to 32, got 3"
    assert reasons[2] == "RuntimeError: the hook"
    assert kernel.configs_timings[configs[0]] == [float("inf")] * 3
    printed = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"tle2cuda: tuned scale for \(100, 'float32', 'float32'\) in \d+\.\d\d s \(measured\): "
        r"BLOCK: 32, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None",
        printed[0],
    )
    assert printed[1:3] == [
        "       1 ms  BLOCK: 32, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None",
        "       2 ms  BLOCK: 64, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None",
    ]
    assert printed[-1] == (
        "     failed  BLOCK: 8, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None: RuntimeError: the hook"
    )


def test_no_configuration_works() -> None:
    kernel = tuned(scale, blocks(24, 48), do_bench=Stopwatch(1.0))
    with pytest.raises(AutotunerError) as caught:
        kernel[grid](*arrays(), 100, 2)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(": scale: none of 2 configurations works")
    assert "|     i = tl.program_id(0) * BLOCK" in lines[2], "the place that all have in common"
    assert lines[4].startswith("  BLOCK: 24, num_warps: 4, ")
    assert len(lines) == 6


def misspelt(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, lx + i, mask=i < n)  # noqa: F821


@pytest.mark.parametrize("clock", [Stopwatch(1.0), None])
def test_an_error_of_the_kernel_is_raised_once(clock: Stopwatch | None) -> None:
    kernel = tuned(misspelt, blocks(16, 32), **({"do_bench": clock} if clock else {}))
    with pytest.raises(errors.UndefinedName) as caught:
        kernel[grid](*arrays(), 100)
    lines = str(caught.value).splitlines()
    assert lines[0].endswith(": `lx` is not defined")
    assert "|     tl.store(out + i, lx + i, mask=i < n)" in lines[2]
    assert lines[3] == " " * lines[2].index("|") + "|" + " " * 23 + "^^"
    assert lines[4] == "  all 2 configurations of the tuner give this error"
    if sys.version_info >= (3, 11):
        assert [entry.name for entry in caught.traceback] == ["test_an_error_of_the_kernel_is_raised_once"]


@pytest.mark.parametrize(
    "decorator", [tle2cuda.heuristics({"BLOCK": lambda named: 16}), tle2cuda.autotune(blocks(16), key=[])]
)
def test_decorators_in_the_wrong_order(decorator: Any) -> None:
    with pytest.raises(errors.InvalidArgument, match="a kernel, and `scale` is none yet\n  help: put @jit below it"):
        tle2cuda.jit(decorator(scale))
    with pytest.raises(errors.ArgumentError, match="help: put @jit right above the function"):
        tle2cuda.jit(decorator(tle2cuda.jit(scale)))


def test_without_a_clock_the_first_that_works_is_taken(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    kernel = tuned(scale, blocks(24, 64, 32))
    x, out = arrays()
    kernel[grid](x, out, 100, 2)
    assert kernel.best_config.kwargs == {"BLOCK": 64}
    assert out.tolist() == (2 * x).tolist()
    assert "(the first that works: kernels run on the CPU, which has no clock for them)" in capsys.readouterr().err


def fill(x, n, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK) + n, 1.0)


@pytest.mark.parametrize("device", ["interpreter", "eager", "emulator"])
def test_a_configuration_that_shows_a_fault_of_the_kernel_is_an_error(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    kernel = tuned(fill, blocks(8, 4))
    with pytest.raises((errors.OutOfBounds, errors.EmulationError)) as caught:
        kernel[(1,)](np.zeros(4, np.float32), 0)
    text = str(caught.value)
    assert "tl.store(x + tl.arange(0, BLOCK) + n, 1.0)" in text and "\n  configuration: BLOCK: 8, " in text
    kernel[(1,)](np.zeros(8, np.float32), 0)
    assert kernel.best_config.kwargs == {"BLOCK": 8}, "what failed was not remembered"


def test_reset_and_restore() -> None:
    x, out = arrays()
    for option in ("reset_to_zero", "restore_value"):
        out[:] = 0
        kernel = tuned(accumulate, blocks(16, 32, 64), do_bench=Stopwatch(3.0, 1.0, 2.0), **{option: ["out"]})
        kernel[grid](x, out, 100)
        assert out.tolist() == x.tolist(), "measuring leaves no trace"
    out[:] = 1
    kernel[grid](x, out, 100)
    assert out.tolist() == (x + 1).tolist()
    with pytest.raises(errors.InvalidArgument, match="reset_to_zero names 'y', which is not a parameter"):
        tuned(accumulate, blocks(16, 32), reset_to_zero=["y"])[grid](x, out, 100)
    with pytest.raises(errors.InvalidArgument, match="restore_value names 'y', which is not a parameter"):
        tuned(accumulate, blocks(16, 32), restore_value=["y"])[grid](x, out, 100)
    tuned(accumulate, blocks(16), reset_to_zero=["y"])[grid](x, out, 100)
    assert out.tolist() == (2 * x + 1).tolist(), "one configuration is not measured"


def test_hooks() -> None:
    calls: list[tuple[Any, ...]] = []
    kernel = tuned(
        scale,
        blocks(16, 32),
        do_bench=Stopwatch(2.0, 1.0),
        pre_hook=lambda named, reset_only=False: calls.append(("pre", named.get("BLOCK"), reset_only)),
        post_hook=lambda named, exception=None: calls.append(("post", named["BLOCK"], exception)),
    )
    kernel[grid](*arrays(), 100, 2)
    assert calls == [
        ("pre", 16, False),
        ("post", 16, None),
        ("pre", 32, False),
        ("post", 32, None),
        ("pre", None, True),
    ]
    seen: list[Any] = []
    configs = [Config({"BLOCK": 16}, pre_hook=lambda named: seen.append((named["n"], named["BLOCK"], named["num_warps"])))]
    hooked = tuned(scale, configs)
    hooked[grid](*arrays(), 100, 2)
    hooked[grid](*arrays(), 100, 2)
    assert seen == [(100, 16, 4)] * 2, "called before every launch"


def test_post_hook_hears_of_failures() -> None:
    heard: list[Any] = []
    kernel = tuned(
        scale,
        blocks(16, 32),
        do_bench=Stopwatch(1.0),
        post_hook=lambda named, exception=None: heard.append(type(exception).__name__),
    )
    with pytest.raises(AutotunerError, match="none of 2 configurations works"):
        kernel[(1.5,)](*arrays(), 100, 2)
    assert heard == ["LaunchError"] * 2


def test_pruning() -> None:
    seen: list[Any] = []

    def early(configs: list[Config], named: dict[str, Any], **kwargs: Any) -> list[Config]:
        seen.append((len(configs), named["n"], kwargs))
        return [config for config in configs if config.kwargs["BLOCK"] <= 64]

    def model(BLOCK: int, n: int, num_warps: int, **others: Any) -> float:
        return abs(BLOCK - 32) + num_warps

    watch = Stopwatch(1.0)
    pruned = tuned(
        scale,
        blocks(8, 16, 32, 64, 128),
        do_bench=watch,
        prune_configs_by={"early_config_prune": early, "perf_model": model, "top_k": 2},
    )
    pruned[grid](*arrays(), 100, FACTOR=2)
    assert seen == [(5, 100, {"FACTOR": 2})]
    assert [config.kwargs["BLOCK"] for config in pruned.configs_timings] == [32, 16]
    share = tuned(scale, blocks(8, 16, 32, 64, 128), prune_configs_by={"perf_model": model, "top_k": 0.4}, do_bench=watch)
    share[grid](*arrays(), 100, 2)
    assert len(share.configs_timings) == 2
    none = tuned(scale, blocks(8, 16), prune_configs_by={"early_config_prune": lambda configs, named, **kwargs: []})
    with pytest.raises(AutotunerError, match="early_config_prune left no configuration"):
        none[grid](*arrays(), 100, 2)
    wrong = tuned(scale, blocks(8, 16), prune_configs_by={"perf_model": model, "top_k": 1.5})
    with pytest.raises(errors.InvalidArgument, match=r"top_k is a whole number, or a share of at most 1\.0; got 1\.5"):
        wrong[grid](*arrays(), 100, 2)


def test_what_is_no_configuration_is_refused_at_once() -> None:
    with pytest.raises(errors.InvalidArgument, match="scale: a configuration of autotune is a Config, got dict"):
        tuned(scale, [{"BLOCK": 64}])  # type: ignore[list-item]
    assert tle2cuda.autotune(blocks(64, 128), key="n")(tle2cuda.jit(scale)).keys == ["n"]


def test_a_constant_given_twice_is_refused() -> None:
    kernel = tuned(scale, blocks(16, 32))
    kernel[grid](*arrays(), 100, 2)  # also where the choice is made already
    with pytest.raises(errors.InvalidArgument) as caught:
        kernel[grid](*arrays(), 100, 2, BLOCK=64)
    assert str(caught.value) == (
        "scale: the launch passes `BLOCK`, which autotune chooses\n"
        "  help: leave it out of the launch, or out of the configurations"
    )


def test_heuristics_see_earlier_ones_and_work_in_both_orders() -> None:
    rules = {
        "BLOCK": lambda named: tle2cuda.next_power_of_2(named["n"]),
        "FACTOR": lambda named: named["BLOCK"] // 32,
    }
    x, out = arrays()
    plain = tle2cuda.heuristics(rules)(tle2cuda.jit(scale))
    plain[(1,)](x, out, 100)
    assert out.tolist() == (4 * x).tolist()
    assert plain.arg_names == ["x", "out", "n", "FACTOR", "BLOCK"] and plain.fn.fn is scale

    factor = {"FACTOR": lambda named: 1 if named.get("BLOCK") is None else named["BLOCK"]}
    inside = tle2cuda.autotune(blocks(16, 32), key=["n"], do_bench=Stopwatch(2.0, 1.0))(
        tle2cuda.heuristics(factor)(tle2cuda.jit(scale))
    )
    inside[grid](x, out, 100)
    assert out.tolist() == (32 * x).tolist(), "heuristics inside see what the tuner chose"
    assert inside.best_config.kwargs["BLOCK"] == 32 and inside.base_fn is scale
    outside = tle2cuda.heuristics(factor)(
        tle2cuda.autotune(blocks(16, 32), key=["n"], do_bench=Stopwatch(2.0, 1.0))(tle2cuda.jit(scale))
    )
    outside[grid](x, out, 100)
    assert out.tolist() == x.tolist(), "heuristics outside come first"
    assert outside.best_config.kwargs["BLOCK"] == 32


def test_configurations_compile_at_the_same_time() -> None:
    """Two compilations that wait for each other both end: they run at once."""
    meeting = threading.Barrier(2, timeout=20)
    kernel = tuned(scale, blocks(16, 32), do_bench=Stopwatch(2.0, 1.0))
    inner = kernel.fn
    real = inner._make_launch

    def wait_then_compile(*arguments: Any) -> Any:
        meeting.wait()
        return real(*arguments)

    inner._make_launch = wait_then_compile
    x, out = arrays()
    kernel[grid](x, out, 100, 2)
    assert kernel.failures == {}
    assert out.tolist() == (2 * x).tolist()


def test_several_threads_tune_once() -> None:
    watch = Stopwatch(2.0, 1.0)
    kernel = tuned(scale, blocks(16, 32), do_bench=watch)
    outs = [arrays() for _ in range(4)]
    threads = [threading.Thread(target=lambda pair=pair: kernel[grid](*pair, 100, 2)) for pair in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watch.asked == 2
    assert all(out.tolist() == (2 * x).tolist() for x, out in outs)


def test_interrupting_a_tuning_leaves_no_result() -> None:
    def interrupt(call: Any, quantiles: Any) -> Any:
        raise KeyboardInterrupt

    kernel = tuned(scale, blocks(16, 32), do_bench=interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernel[grid](*arrays(), 100, 2)
    assert kernel.cache == {}


def test_warmup_compiles_every_configuration() -> None:
    kernel = tuned(scale, blocks(16, 32))
    out = arrays()[1]
    compiled = kernel.warmup(*arrays(), 100, 2, grid=(1,))
    assert len(compiled) == 2 and not out.any()


def test_config() -> None:
    config = Config({"BLOCK": 16}, num_warps=8, maxnreg=64)
    assert config.all_kwargs() == {"BLOCK": 16, "num_warps": 8, "num_ctas": 1, "num_stages": 3, "maxnreg": 64}
    assert str(config) == "BLOCK: 16, num_warps: 8, num_ctas: 1, num_stages: 3, maxnreg: 64"
    assert config == Config({"BLOCK": 16}, num_warps=8, maxnreg=64) and config != Config({"BLOCK": 16})
    assert len({Config({"SIZES": [1, 2]}), Config({"SIZES": [1, 2]}), Config({"SIZES": [1, 3]})}) == 2
    assert len({config, Config({"BLOCK": 16}, num_warps=8, maxnreg=64)}) == 1
    assert Config({"BLOCK": 1}).all_kwargs() == {"BLOCK": 1, "num_warps": 4, "num_ctas": 1, "num_stages": 3}
    with pytest.raises(errors.InvalidArgument, match="ir_override"):
        Config({}, ir_override="x.ttir")


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    def slow(call: Any, quantiles: Any) -> list[float]:
        call()
        time.sleep(0.01)
        return [1.0] * 3

    tuned(scale, blocks(16, 32), do_bench=slow)[grid](*arrays(), 100, 2)
    shown = terminal.getvalue().split("\r\x1b[K")
    assert any(line.startswith("tuning scale: compiled ") for line in shown)
    assert any(line.startswith("tuning scale: 1 of 2: BLOCK=16") for line in shown)
    # How long is left depends on how long the first took, which on a busy machine may be seconds.
    assert any(re.search(r"2 of 2: BLOCK=32; best 1 ms \(BLOCK=16\); \d+ \w+ left", line) for line in shown)
    assert shown[-1] == "", "the line is cleared"


def test_nothing_is_shown_without_a_terminal(capfd: Any) -> None:
    tuned(scale, blocks(16, 32), do_bench=Stopwatch(1.0))[grid](*arrays(), 100, 2)
    assert capfd.readouterr().err == ""

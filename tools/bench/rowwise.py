"""What the bandwidth benchmarks share: run alternating rounds of rivals, check each, print GB/s."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from tools.bench.common import Bench, Report, format_table


@dataclasses.dataclass(frozen=True, slots=True)
class Contestant:
    """One implementation.

    Attributes:
        name: column of the table.
        launch: runs it once.
        outputs: the torch tensors it writes, poisoned before the check.
        wrong: says what is wrong with the outputs, "" if nothing.
        eager: timed by events around launches in a row even where others are timed in graphs.
    """

    name: str
    launch: Callable[[], Any]
    outputs: Sequence[Any]
    wrong: Callable[[], str]
    eager: bool = False


# On an H200 a graph's memcpy node of 128 MiB is as fast as a copy kernel; one of 512 MiB is not.
EAGER_COPY_BYTES = 256 << 20


def copy_contestant(name: str, out: Any, x: Any) -> Contestant:
    """A copy by torch of `x` to `out`, of one shape: what bandwidth is measured against.

    Captured in a graph it becomes a memcpy node, which on an H200 copied 2 GiB at 2.7 TB/s; outside of a graph the same
    copy runs at 4.2 TB/s, and a millisecond hides its launch.
    """
    return Contestant(name, lambda: out.copy_(x), [out], lambda: equal(out, x), eager=out.nbytes >= EAGER_COPY_BYTES)


def compete(
    bench: Bench, contestants: Sequence[Contestant], rounds: int, in_graphs: bool = False
) -> dict[str, float | str]:
    """Median microseconds of each, in alternation so that all meet the same clocks; or what was wrong.

    Arrays larger than the L2 cache need no flush between launches, and none is done. `in_graphs` keeps Python's share out,
    which shows in launches of less than a millisecond; contestants that are `eager` stay outside.
    """
    failures: dict[str, str] = {}
    for contestant in contestants:
        bench.poison(*contestant.outputs)
        try:
            bench.run(contestant.launch)
            wrong = contestant.wrong()
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong:
            failures[contestant.name] = wrong
    runners = [contestant for contestant in contestants if contestant.name not in failures]
    times: dict[str, list[float]] = {contestant.name: [] for contestant in runners}
    captured = [contestant for contestant in runners if in_graphs and not contestant.eager]
    graphs = {contestant.name: bench.graph_of(contestant.launch) for contestant in captured}
    for _ in range(rounds):
        for contestant in runners:
            name = contestant.name
            sample = bench.replay_us(graphs[name]) if name in graphs else bench.back_to_back_us(contestant.launch)
            times[name].append(sample)
    return {name: statistics.median(samples) for name, samples in times.items()} | failures


def show(
    report: Report,
    results: Sequence[tuple[dict[str, Any], int, dict[str, float | str]]],
    names: Sequence[str],
    ours: str,
) -> int:
    """Reports the results, prints GB/s of each and how `ours` compares; returns how many were wrong.

    Args:
        report: where to.
        results: of each case its description, the bytes it must move, and what `compete` gave.
        names: columns.
        ours: the column that is compared with each other one.
    """
    rows, wrong = [], 0
    for case, moved_bytes, outcome in results:
        speeds: dict[str, float] = {}
        for name in names:
            value = outcome.get(name)
            if isinstance(value, float):
                speeds[name] = moved_bytes / value * 1e-3
                report.add(**case, kernel=name, us=round(value, 2), gb_per_s=round(speeds[name], 1))
            elif value is not None:
                wrong += 1
                report.add(**case, kernel=name, error=value)
                print(f"WRONG {name} {case}: {value[:800]}")
        label = " ".join(str(value) for value in case.values())
        rivals = [name for name in names if name != ours]
        row = [label, *(f"{speeds[name]:.0f}" if name in speeds else "-" for name in names)]
        row += [f"{speeds[ours] / speeds[name]:.3f}" if ours in speeds and name in speeds else "-" for name in rivals]
        rows.append(row)
    ratios = [f"{ours}/{name}" for name in names if name != ours]
    print(format_table(["GB/s", *names, *ratios], rows), flush=True)
    return wrong


UNITS = {"GB/s": ("gb_per_s", 1e-3), "TFLOP/s": ("tflops", 1e-6)}  # name in JSON; factor of bytes or operations by us


def show_against(
    report: Report,
    results: Sequence[tuple[dict[str, Any], float, dict[str, float | str]]],
    baseline: str,
    unit: str = "GB/s",
) -> int:
    """Reports the results, prints for each case a line per contestant: time, speed, and the share of `baseline`'s speed.

    Args:
        report: where to.
        results: of each case its description, the bytes or operations it takes, and what `compete` gave.
        baseline: name of the contestant that others are compared with.
        unit: of the speeds, a key of `UNITS`.

    Returns:
        How many were wrong.
    """
    key, factor = UNITS[unit]
    rows, wrong = [], 0
    for case, amount, outcome in results:
        label = " ".join(str(value) for value in case.values())
        base = outcome.get(baseline)
        for name, value in outcome.items():
            if isinstance(value, str):
                wrong += 1
                report.add(**case, kernel=name, error=value)
                print(f"WRONG {name} {case}: {value[:800]}")
                continue
            speed = amount / value * factor
            report.add(**case, kernel=name, us=round(value, 2), **{key: round(speed, 1)})
            share = f"{base / value:.3f}" if isinstance(base, float) else "-"
            rows.append([label, name, f"{value:.1f}", f"{speed:.0f}", share])
    print(format_table(["case", "kernel", "us", unit, f"of {baseline}"], rows), flush=True)
    return wrong


def unless_absent(name: str, make: Callable[[], Callable[[], Any]]) -> dict[str, Callable[[], Any]]:
    """The launch of a rival, or nothing, with a note, where this machine's libraries lack it."""
    try:
        launch = make()
        launch()
    except (AttributeError, ImportError, RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        print(f"no {name}: {str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__}")
        return {}
    return {name: launch}


def equal(actual: Any, expected: Any) -> str:
    """Compares torch tensors bit by bit; says how many elements differ."""
    import torch

    raw = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[actual.element_size()]
    differ = int((actual.view(raw) != expected.view(raw)).sum())
    return f"{differ} of {actual.numel()} elements differ" if differ else ""


def relative_error(actual: Any, expected: Any, limit: float) -> str:
    """Compares torch tensors by norm, in float64; NaN never passes."""
    wide = actual.double()
    error = float((wide - expected.double()).norm() / expected.double().norm())
    return "" if error <= limit else f"relative error {error:.3g}, limit {limit:.3g}"

"""How the benchmarks measure: CUDA-graph and cold-cache medians, poisoned outputs, one JSON file, one table.

Everything runs on one non-blocking CuPy stream, which other libraries are given as their current stream.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import platform
import shlex
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
POISON_BYTE = 0x7B  # as int32 2071690107, as float32 1.3e36, as float16 63296: never a right answer
L2_FLUSH_BYTES = 256 << 20  # several times the L2 of any current GPU

Launch = Callable[[], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Timing:
    """Medians in microseconds.

    Attributes:
        graph_us: time per launch inside a replayed CUDA graph of many launches (caches warm, no launch cost).
        eager_us: time between two events around one launch, after the L2 cache was flushed.
    """

    graph_us: float
    eager_us: float


class Bench:
    """One GPU, one stream, and the buffers that measuring needs."""

    def __init__(self, launches_per_graph: int = 20, repeats: int = 30) -> None:
        import cupy

        self.cupy = cupy
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.launches_per_graph = launches_per_graph
        self.repeats = repeats
        self._flush = cupy.empty(L2_FLUSH_BYTES, cupy.uint8)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Makes the stream current for CuPy and, when it is loaded, for torch (and so for Triton)."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.stream)
            torch = sys.modules.get("torch")
            if torch is not None:
                stack.enter_context(torch.cuda.stream(torch.cuda.ExternalStream(self.stream.ptr)))
            yield

    def poison(self, *arrays: Any) -> None:
        """Overwrites every byte, so that an element a kernel forgets cannot look right."""
        with self.current():
            for array in arrays:
                self._bytes_of(array)[:] = POISON_BYTE
        self.stream.synchronize()

    def _bytes_of(self, array: Any) -> Any:
        if not isinstance(array, self.cupy.ndarray):
            array = self.cupy.asarray(array)  # a torch tensor, by the CUDA array interface
        return array.reshape(-1).view(self.cupy.uint8)

    def run(self, launch: Launch) -> None:
        """Launches once and waits, raising whatever went wrong."""
        with self.current():
            launch()
        self.stream.synchronize()

    def time(self, launch: Launch) -> Timing:
        """Measures one launch both ways. The launch must not allocate and must be repeatable."""
        return Timing(self.graph_us(launch), self.eager_us(launch))

    def graph_us(self, launch: Launch) -> float:
        """Median over replays of a graph of `launches_per_graph` launches, per launch."""
        replay = self.graph_of(launch)
        with self.current():
            times = [self._event_us(replay) for _ in range(self.repeats)]
        return statistics.median(times) / self.launches_per_graph

    def graph_of(self, launch: Launch) -> Launch:
        """What replays a graph of `launches_per_graph` launches, after three replays to warm up."""
        with self.current():
            launch()
            launch()
            self.stream.synchronize()
            self.stream.begin_capture()
            try:
                for _ in range(self.launches_per_graph):
                    launch()
            finally:
                graph = self.stream.end_capture()
            replay = lambda: graph.launch(self.stream)  # noqa: E731
            for _ in range(3):
                replay()
        return replay

    def replay_us(self, replay: Launch) -> float:
        """One sample of a graph made by `graph_of`, per launch."""
        with self.current():
            return self._event_us(replay) / self.launches_per_graph

    def eager_us(self, launch: Launch) -> float:
        """Median over single launches, each after a flush of the L2 cache."""
        times = []
        with self.current():
            launch()
            for _ in range(self.repeats):
                self._flush.fill(0)
                times.append(self._event_us(launch))
        return statistics.median(times)

    def back_to_back_us(self, launch: Launch, launches: int = 5) -> float:
        """One sample of launches in a row, per launch: for work that is long beside its launch."""

        def several() -> None:
            for _ in range(launches):
                launch()

        with self.current():
            launch()
            return self._event_us(several) / launches

    def _event_us(self, work: Launch) -> float:
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record(self.stream)
        work()
        end.record(self.stream)
        end.synchronize()
        return 1e3 * float(self.cupy.cuda.get_elapsed_time(begin, end))

    def describe_device(self) -> dict[str, Any]:
        """What the numbers were measured on."""
        runtime = self.cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self.cupy.cuda.Device().id)
        return {
            "gpu": properties["name"].decode(),
            "multiprocessors": properties["multiProcessorCount"],
            "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(),
            "python": platform.python_version(),
            "cupy": self.cupy.__version__,
        }


class Report:
    """Collects records, prints them as one table, and writes them as JSON."""

    def __init__(self, title: str, device: dict[str, Any]) -> None:
        self.title = title
        self.device = device
        self.records: list[dict[str, Any]] = []

    def add(self, **record: Any) -> None:
        """Keeps one measurement."""
        self.records.append(record)

    def write(self, path: pathlib.Path | None) -> None:
        """Writes everything measured so far; nothing without a path."""
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"title": self.title, "command": command_line(), "device": self.device, "records": self.records}
        path.write_text(json.dumps(content, indent=1) + "\n")


def command_line() -> str:
    """How this program was started, for a shell, without where its results go; with the target that Triton was told."""
    arguments = list(sys.argv[1:])
    if "--json" in arguments:
        place = arguments.index("--json")
        del arguments[place : place + 2]
    target = os.environ.get("TRITON_OVERRIDE_ARCH")
    setting = f"TRITON_OVERRIDE_ARCH={target} " if target else ""
    return setting + shlex.join(["python", "-m", f"tools.bench.{pathlib.Path(sys.argv[0]).stem}", *arguments])


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligns columns: the first left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def add_common_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every measurement to FILE")
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="samples per median (default 30)")
    parser.add_argument("--only", type=comma_list, metavar="GROUPS", help="comma-separated groups of kernels to run")


def comma_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def comma_ints(text: str) -> list[int]:
    return [int(part) for part in comma_list(text)]

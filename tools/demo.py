"""The main job from end to end: every MoE Align Block Size kernel emitted, compiled, run and verified.

    python tools/demo.py                     on the GPU when there is one; else the emitted CUDA on the CPU, in the
                                             emulator; without a C++ compiler in the interpreter
    python tools/demo.py --on interpreter    there in any case
    python tools/demo.py --tokens 16384 --block 64 --kernels cluster,cooperative

Writes the CUDA files and their launch contracts to build/cu/. Exits with 1 when a kernel fails
or gives a wrong result.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
from numpy.typing import NDArray

try:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table
except ImportError:
    raise SystemExit("demo.py: its table needs rich: pip install rich") from None

from kernels.moe_align_block_size import algorithms
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Algorithm, Recipe, Sizes
from kernels.moe_align_block_size.reference import MAX_BLOCK_SIZE, AlignedBlocks, verify
from tle2cuda.emulator.toolchain import find_compiler
from tle2cuda.errors import KernelError, ToolchainError
from tle2cuda.runtime.device import DEVICE_VARIABLE, DEVICES
from tle2cuda.runtime.toolkit import require_gpu, require_nvrtc
from tools import shipped
from tools.bench.moe_align import routing
from tools.bench.moe_rivals import Outputs, Problem, rivals_of

ARCH = "sm_90a"
CUDA_FOLDER = ROOT / "build" / "cu"
DATA = {  # data sets of tools/bench, and what the table calls them
    "top1_e512": "text\n1/512",
    "top8_e256": "text\n8/256",
    "zipf512": "Zipf\n1/512",
}
SHOWN_DATA = "top1_e512"
"""The data set whose sizes the emitted files are specialised for."""
OUTPUTS = ("sorted_ids", "expert_ids", "num_post_pad")
DEFAULT_SLOTS = 8192
HOST_MULTIPROCESSORS = 16
"""What tunings are chosen for where there are none."""
EXIT_MACHINE = 3  # as of the command line: the machine lacks something
POISON = 0x7B7B7B7B  # what an output holds before a kernel writes it: never a right answer


@dataclasses.dataclass(slots=True)
class Row:
    """What the table says of one algorithm: lines of all its kernels, the most that one of them takes of the rest."""

    name: str
    num_kernels: int = 0
    cuda_lines: int = 0
    registers: int = 0
    shared_bytes: int = 0
    attempted: int = 0
    verified: int = 0
    times: dict[str, str] = dataclasses.field(default_factory=dict)
    error: str = ""


class GpuMachine:
    """Runs algorithms on the GPU, and times them by CUDA graph."""

    def __init__(self) -> None:
        from tools.bench.common import Bench

        self.bench = Bench()
        description = self.bench.describe_device()
        self.name = str(description["gpu"])
        self.multiprocessors = int(description["multiprocessors"])

    def to_array(self, values: NDArray[np.int32]) -> Any:
        return self.bench.cupy.asarray(values)

    def run(self, launch: Callable[[], None]) -> None:
        self.bench.run(launch)

    def time(self, launch: Callable[[], None]) -> str:
        return f"{self.bench.graph_us(launch):.1f} µs"

    def to_host(self, array: Any) -> NDArray[np.int32]:
        return np.asarray(array.get())


class HostMachine:
    """Runs algorithms on NumPy arrays: their emitted CUDA in the emulator, or what it means in the interpreter.

    Args:
        name: ``emulator`` or ``interpreter``.
    """

    multiprocessors = HOST_MULTIPROCESSORS

    def __init__(self, name: str) -> None:
        self.name = name
        self._last_s = 0.0
        os.environ[DEVICE_VARIABLE] = name

    def to_array(self, values: NDArray[np.int32]) -> Any:
        return values.copy()

    def run(self, launch: Callable[[], None]) -> None:
        began = time.perf_counter()
        launch()
        self._last_s = time.perf_counter() - began

    def time(self, launch: Callable[[], None]) -> str:
        """The time of a second run, without compiling; in the interpreter that of the first, which tells as much."""
        if self.name == "emulator":
            self.run(launch)
        return f"{1e3 * self._last_s:.0f} ms"

    def to_host(self, array: Any) -> NDArray[np.int32]:
        return np.asarray(array)


Machine = GpuMachine | HostMachine


def choose_machine(wanted: str) -> tuple[Machine, str]:
    """The machine to run on, and a line that says why when it is not the GPU.

    Args:
        wanted: ``cuda``, ``emulator``, ``interpreter``, or empty for the best that is there.
    """
    if wanted == "cuda":
        require_gpu()
        return GpuMachine(), ""
    if wanted:
        if wanted == "emulator":
            find_compiler()
        return HostMachine(wanted), "as asked for"
    try:
        require_gpu()
        return GpuMachine(), ""
    except Exception as error:
        why = error.message if isinstance(error, ToolchainError) else f"no GPU: {describe(error)}"
    try:
        find_compiler()
    except ToolchainError as error:
        return HostMachine("interpreter"), f"{why}; {error.message}"
    return HostMachine("emulator"), why


def emit_and_compile(row: Row, sizes: Sizes, tuning: Any, *, is_compiled: bool) -> None:
    """Writes an algorithm's .cu files and contracts, and reads its resources from the cubins."""
    for kernel in shipped.kernels_of(ALGORITHMS[row.name], sizes, tuning):
        emitted = kernel.emit(ARCH)
        (CUDA_FOLDER / f"{kernel.name}.cu").write_text(emitted.source, encoding="utf-8")
        (CUDA_FOLDER / f"{kernel.name}.json").write_text(emitted.contract.to_json(), encoding="utf-8")
        row.num_kernels += 1
        row.cuda_lines += emitted.source.count("\n")
        if is_compiled:
            report = kernel.compile(ARCH).report
            row.registers = max(row.registers, report.registers)
            row.shared_bytes = max(row.shared_bytes, report.shared_bytes)


def new_arrays(machine: Machine, ids: NDArray[np.int32], sizes: Sizes, recipe: Recipe) -> dict[str, Any]:
    """Inputs, poisoned outputs and zeroed scratch, by the names that recipes use."""
    lengths = {"sorted_ids": sizes.sorted_capacity, "expert_ids": sizes.expert_capacity, "num_post_pad": 1}
    arrays = {"topk_ids": machine.to_array(ids)}
    arrays |= {name: machine.to_array(np.full(size, POISON, np.int32)) for name, size in lengths.items()}
    arrays |= {name: machine.to_array(np.zeros(size, np.int32)) for name, size in recipe.scratch.items()}
    return arrays


def run_and_verify(row: Row, machine: Machine, data: str, options: argparse.Namespace) -> None:
    """Runs an algorithm on one data set, compares it with the NumPy reference, and times it."""
    row.attempted += 1
    ids, num_experts = routing(data, options.tokens)
    sizes = Sizes(ids.size, options.block, num_experts)
    algorithm = ALGORITHMS[row.name]
    recipe = algorithm.recipe(sizes, next(algorithm.tunings(sizes, machine.multiprocessors)))
    arrays = new_arrays(machine, ids, sizes, recipe)

    def launch() -> None:
        algorithms.run_steps(recipe, arrays, sizes)

    machine.run(launch)
    outputs = (machine.to_host(arrays[name]) for name in OUTPUTS)
    verify(AlignedBlocks(*outputs), ids, sizes.block_size, sizes.num_experts)
    row.verified += 1
    row.times[data] = machine.time(launch)


def why_not_compiled() -> str:
    """Empty when kernels can be compiled here, else the reason."""
    try:
        require_nvrtc()
    except ToolchainError as error:
        return str(error).splitlines()[0]
    return ""


def describe(error: Exception) -> str:
    """The error's class and first line; --traceback shows the rest."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def process(
    row: Row, machine: Machine, options: argparse.Namespace, is_compiled: bool, tell: Callable[[str], None]
) -> None:
    """All steps of one algorithm; the first that fails ends them and is kept in the row."""
    step = "emit and compile"
    try:
        tell(step)
        ids, num_experts = routing(SHOWN_DATA, options.tokens)
        sizes = Sizes(ids.size, options.block, num_experts)
        # Emitted for the H200 whatever this machine is, so that build/cu/ is the same everywhere.
        tuning = next(ALGORITHMS[row.name].tunings(sizes, shipped.H200_MULTIPROCESSORS))
        emit_and_compile(row, sizes, tuning, is_compiled=is_compiled)
        for data in DATA:
            step = f"run on {data}"
            tell(step)
            run_and_verify(row, machine, data, options)
    except Exception as error:
        if options.traceback:
            raise
        row.error = f"{step}: {describe(error)}"


def run_rivals(machine: GpuMachine, options: argparse.Namespace) -> list[Row]:
    """Runs, verifies and times the dispatcher and the hand-written CUDA baselines."""
    rows: dict[str, Row] = {}
    for data in DATA:
        ids, num_experts = routing(data, options.tokens)
        sizes = Sizes(ids.size, options.block, num_experts)
        problem = Problem(machine.to_array(ids), options.block, num_experts)
        arrays = new_arrays(machine, ids, sizes, Recipe(()))
        outputs = Outputs(*(arrays[name] for name in OUTPUTS))
        for rival in rivals_of(("dispatcher", "baseline"), problem, sweep=False):
            row = rows.setdefault(rival.name, Row(rival.name))
            if row.error or data in row.times:
                continue
            row.attempted += 1
            try:
                machine.bench.poison(*outputs)
                launch = rival.prepare(problem, outputs)
                machine.run(launch)
                verify(AlignedBlocks(*map(machine.to_host, outputs)), ids, options.block, num_experts)
                row.verified += 1
                row.times[data] = machine.time(launch)
            except Exception as error:
                if options.traceback:
                    raise
                row.error = f"run on {data}: {describe(error)}"
    return list(rows.values())


def solvable(machine: Machine, options: argparse.Namespace) -> list[Algorithm]:
    """The algorithms asked for that can take problems of this size."""
    chosen = [ALGORITHMS[name] for name in options.kernels or ALGORITHMS]
    sizes = [Sizes(options.tokens, options.block, routing(data, 1)[1]) for data in DATA]
    multiprocessors = (shipped.H200_MULTIPROCESSORS, machine.multiprocessors)
    return [
        algorithm
        for algorithm in chosen
        if all(any(algorithm.tunings(size, count)) for size in sizes for count in multiprocessors)
    ]


def table_of(rows: Sequence[Row], machine: Machine, options: argparse.Namespace) -> Table:
    """The closing table."""
    title = f"MoE Align Block Size: {options.tokens} slots, blocks of {options.block}, compiled for {ARCH}"
    caption = (
        "runs right: those that gave NumPy's result; times by data: text is real text, 1/512 sends a token to 1 of 512 "
        "experts, Zipf follows Zipf 1.2; lines, registers and bytes are those for text 1/512; n/k is n lines in k "
        "kernels"
    )
    table = Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("kernel", no_wrap=True)
    table.add_column("ran on", no_wrap=True)
    for column in ("runs\nright", "CUDA\nlines", "regis-\nters", "shared\nbytes", *DATA.values()):
        table.add_column(column, justify="right")
    for row in rows:
        verified = f"{row.verified}/{row.attempted}"
        is_right = row.verified == row.attempted > 0
        table.add_row(
            row.name,
            machine.name,
            f"[green]{verified}[/]" if is_right else f"[bold red]{verified}[/]",
            f"{row.cuda_lines or '-'}" + (f"/{row.num_kernels}" if row.num_kernels > 1 else ""),
            str(row.registers or "-"),
            str(row.shared_bytes) if row.registers else "-",
            *(row.times.get(data, "-") for data in DATA),
        )
    return table


def parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="demo.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--on", choices=DEVICES, default="", help="where to run; default the first that is there")
    parser.add_argument("--tokens", type=int, default=DEFAULT_SLOTS, help="token slots (default %(default)s)")
    parser.add_argument("--block", type=int, default=16, help="block size (default %(default)s)")
    parser.add_argument("--kernels", default="", help="comma-separated names; default all")
    parser.add_argument("--traceback", action="store_true", help="stop at the first failure, and show where")
    options = parser.parse_args(arguments)
    options.kernels = [name.strip() for name in options.kernels.split(",") if name.strip()]
    unknown = set(options.kernels) - set(ALGORITHMS)
    if unknown:
        parser.error(f"no kernel {', '.join(sorted(unknown))}; there are {', '.join(ALGORITHMS)}")
    if options.tokens < 1:
        parser.error("--tokens must be at least 1")
    if not 1 <= options.block <= MAX_BLOCK_SIZE:
        parser.error(f"--block must be 1 to {MAX_BLOCK_SIZE}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_options(arguments)
    console = Console()
    try:
        machine, why_host = choose_machine(options.on)
    except KernelError as error:
        console.print(escape(f"demo.py: {error}"), highlight=False)
        return EXIT_MACHINE
    why_uncompiled = why_not_compiled()
    CUDA_FOLDER.mkdir(parents=True, exist_ok=True)

    rows = [Row(algorithm.name) for algorithm in solvable(machine, options)]
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(rows) * (1 + len(DATA)))
        for index, row in enumerate(rows):

            def tell(step: str, name: str = row.name) -> None:
                progress.update(task, description=f"{name}: {step}")
                progress.advance(task)

            process(row, machine, options, not why_uncompiled, tell)
            progress.update(task, completed=(index + 1) * (1 + len(DATA)))

    if isinstance(machine, GpuMachine) and not options.kernels:
        rows += run_rivals(machine, options)
    console.print(table_of(rows, machine, options))
    for row in rows:
        if row.error:
            console.print(f"[bold red]{row.name}[/] {escape(row.error)}", highlight=False)
    notes = [f"CUDA and launch contracts: {CUDA_FOLDER.relative_to(ROOT)}/"]
    if isinstance(machine, HostMachine):
        what = (
            "the emitted CUDA ran on the CPU, in the emulator" if machine.name == "emulator" else "ran in the interpreter"
        )
        notes.append(f"{what} ({why_host}): its times say nothing about a GPU")
    if why_uncompiled:
        notes.append(f"not compiled, so no registers and shared bytes: {why_uncompiled}")
    console.print(*(escape(note) for note in notes), sep="\n", highlight=False)
    return int(not rows or any(row.error for row in rows))


if __name__ == "__main__":
    sys.exit(main())

"""Compiles the development set of public Triton kernels, and says what passed and what did not.

    python tools/corpus.py fetch                      download the packages, about 250 MB
    python tools/corpus.py run [--every N] [--only TEXT] [--failed FILE] [--jobs N] [--json FILE] [--sources DIR]
    python tools/corpus.py show HASH                  one record: its message, or the emitted file

`--pairs FILE` in front of the command takes the records that `tools.public_kernels.harvest` found in place of the
development set; a `run` with `--cache FILE` compiles only those that have not passed in an earlier one. With `--triton
PYTHON`, a Python that has Triton 3.6, the table says what Triton's own cubins spill of the records that spill here.

Packages and the kernels cut out of them lie outside the repository, under `--root` (by default
`~/.cache/tle2cuda-corpus`). Each record is compiled in a process of its own, past all caches, with a time limit.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.public_kernels import packages, table, triton_cubins, worker
from tools.public_kernels.records import Record, load_records, records_of_pairs
from tools.public_kernels.worker import Outcome

_DEFAULT_ROOT = Path(os.environ.get("TLE2CUDA_CORPUS", "~/.cache/tle2cuda-corpus")).expanduser()
_CACHED = 20  # outcomes between two writings of the cache
# Loaded once, before the processes of the records are forked off.
_PRELOADED = ["tools.public_kernels.worker", "tools.public_kernels.loaded"]


def _in_child(record: Record, options: argparse.Namespace, answer: Connection) -> None:
    worker.silence()
    target = options.sources / f"{record.hash}_{record.function[:60]}.cu" if options.sources else None
    answer.send(worker.compile_record(record, options.packages, options.cut, options.arch, target))


def run_all(records: Sequence[Record], options: argparse.Namespace) -> Iterator[tuple[Record, Outcome]]:
    """Compiles records in processes of their own, `options.jobs` at once; yields them as they end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    waiting = list(reversed(records))
    running: dict[Connection, tuple[Record, BaseProcess, float]] = {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            record = waiting.pop()
            here, there = context.Pipe(duplex=False)
            process = context.Process(target=_in_child, args=(record, options, there), daemon=True)
            process.start()
            there.close()
            running[here] = (record, process, time.monotonic() + options.limit)
        first_limit = min(limit for _, _, limit in running.values())
        ready = wait(list(running), max(0.0, first_limit - time.monotonic()))
        late = [c for c, (_, _, limit) in running.items() if c not in ready and limit <= time.monotonic()]
        for connection in [*ready, *late]:
            assert isinstance(connection, Connection)
            record, process, _ = running.pop(connection)
            yield record, _take(connection, process, connection in late, options.limit)


def _take(connection: Connection, process: BaseProcess, is_late: bool, limit: float) -> Outcome:
    """The outcome of a process that answered, died or took too long."""
    if is_late:
        process.kill()
        process.join()
        return Outcome("timeout", f"more than {limit:.0f} s")
    try:
        outcome: Outcome = connection.recv()
    except EOFError:
        process.join()
        return Outcome("crashed", f"the process died with {process.exitcode}")
    process.join()
    return outcome


def _records(options: argparse.Namespace) -> list[Record]:
    return records_of_pairs(options.pairs) if options.pairs else load_records()


def _selected(options: argparse.Namespace) -> list[Record]:
    records = _records(options)
    if options.failed:
        rows = table.from_json(options.failed)
        records = [r for r in records if r.hash in rows and rows[r.hash]["status"] != "passed"]
    if options.only:
        records = [r for r in records if any(text in f"{r.hash} {r.title} {r.kind}" for text in options.only)]
    return records[options.offset :: options.every]


def _run(options: argparse.Namespace) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    records = _selected(options)
    results: dict[str, tuple[Record, Outcome]] = {}
    if options.cache and options.cache.exists():
        rows = table.from_json(options.cache)
        results = {r.hash: (r, table.outcome_of(rows[r.hash])) for r in records if r.hash in rows}
        results = {key: (r, outcome) for key, (r, outcome) in results.items() if outcome.status == "passed"}
    waiting = [r for r in records if r.hash not in results]
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(waiting))
        failures = 0
        for record, outcome in run_all(waiting, options):
            results[f"{record.hash}"] = (record, outcome)
            if options.cache and len(results) % _CACHED == 0:
                table.to_json(results, options.cache)
            failures += outcome.status != "passed"
            if outcome.status != "passed" and options.verbose:
                progress.console.print(f"{outcome.status} {record.hash} {record.title}: {outcome.reason}", markup=False)
            progress.update(task, advance=1, description=f"{failures} not passed, last {record.package}")
    in_order = {r.hash: results[r.hash] for r in records}
    spilling = [key for key, (_, outcome) in in_order.items() if outcome.spill_bytes or outcome.local_bytes]
    theirs: dict[str, dict[str, Any]] = {}
    if options.triton and spilling:
        theirs = triton_cubins.ask(options.triton, options.root, options.pairs, spilling)
    print(table.summary(in_order, theirs))
    for path in filter(None, (options.json, options.cache)):
        table.to_json(in_order, path, theirs)
    return 0 if all(outcome.status == "passed" for _, outcome in results.values()) else 1


def _show(options: argparse.Namespace) -> int:
    (record, *_) = [r for r in _records(options) if r.hash.startswith(options.hash)]
    options.cut.mkdir(parents=True, exist_ok=True)
    target = options.cut / "shown.cu"
    target.unlink(missing_ok=True)
    outcome = worker.compile_record(record, options.packages, options.cut, options.arch, target)
    print(record.title)
    print({**outcome.to_dict(), "detail": ""})
    print(outcome.detail)
    if options.cu and target.exists():
        print(target.read_text())
    return 0


def _fetch(options: argparse.Namespace) -> int:
    failed = 0
    for folder, problem in packages.fetch(load_records(), options.packages):
        failed += bool(problem)
        print(f"{folder}: {problem or 'there'}", flush=True)
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=_DEFAULT_ROOT, help="folder outside the repository")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--pairs", type=Path, help="records of `tools.public_kernels.harvest`")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("fetch").set_defaults(run=_fetch)
    run = commands.add_parser("run")
    run.set_defaults(run=_run)
    run.add_argument("--every", type=int, default=1, help="take every Nth record")
    run.add_argument("--offset", type=int, default=0, help="start with this one")
    run.add_argument("--only", nargs="*", help="records whose hash, package, file, function or kind contain a text")
    run.add_argument("--failed", type=Path, help="records that did not pass in this JSON of an earlier run")
    run.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    run.add_argument("--limit", type=float, default=60.0, help="seconds a record may take")
    run.add_argument("--json", type=Path, help="write all outcomes here")
    run.add_argument("--cache", type=Path, help="JSON of all outcomes so far: what passed there is not compiled again")
    run.add_argument("--sources", type=Path, help="write the emitted files into this folder")
    run.add_argument("--triton", metavar="PYTHON", help="a Python with Triton, for what its cubins spill")
    run.add_argument("--verbose", action="store_true", help="print failures as they come")
    show = commands.add_parser("show")
    show.set_defaults(run=_show)
    show.add_argument("hash")
    show.add_argument("--cu", action="store_true", help="print the emitted file")
    options = parser.parse_args()
    options.packages, options.cut = options.root / "src", options.root / "cut"
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())

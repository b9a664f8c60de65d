"""CTAs of a plain grid on all of the host's processors.

The grid is cut into ranges of clusters, each run by a process of its own on memory that is its own once it writes; what a
range changed is put together in the order of the ranges. So the result depends on the launch alone, not on the number of
processors or on who was quicker, and it is one that a GPU may give: nothing orders plain accesses of CTAs that share no
barrier, fence or atomic. Kernels that use one of these across CTAs run in one process.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tle2cuda.emulator import launch
from tle2cuda.emulator.counters import Counters
from tle2cuda.emulator.results import EmulationRun, Finding, Location
from tle2cuda.runtime.contract import Dim3, LaunchContract

MAX_RANGES = 16
MIN_RANGE_THREADS = 16384
"""Fewer threads are not worth a process: starting one and putting its changes together takes about 10 ms."""
MAX_BYTES = 16 * 1024 * 1024
"""With larger arguments a kernel mostly moves data, and putting the pages together takes as long as moving them."""

_LOCAL_DETECTORS = frozenset(("bounds", "alignment"))  # they look at each access by itself

# What lets CTAs see each other. Comments count too: that a kernel runs in one process does no harm.
_COMMUNICATION = re.compile(
    r"atomic|\bred[._]|cp\.reduce|volatile|fence|acquire|release|cuda::|ldcv|nanosleep|grid_sync|this_grid", re.I
)


def ranges(
    source: str, contract: LaunchContract, ctas: Dim3, bound: launch.Bound, options: launch.RunOptions
) -> list[tuple[int, int]]:
    """First cluster and number of clusters of each range; a single one when the launch must not be spread.

    Random schedules and most detectors look at how CTAs interleave, so they have one process for each seed.
    """
    clusters = prod(ctas) // prod(contract.cluster)
    whole = [(0, clusters)]
    if options.schedule == "random" or not _LOCAL_DETECTORS.issuperset(options.detect) or options.access_switch:
        return whole
    if contract.cooperative or contract.scratch or _communicates(source):
        return whole
    if sum(len(buffer.data) for buffer in bound.buffers) > MAX_BYTES:
        return whole
    count = min(MAX_RANGES, clusters, prod(ctas) * contract.cta_threads // MIN_RANGE_THREADS)
    if count < 2:
        return whole
    edges = [clusters * i // count for i in range(count + 1)]
    return [(first, last - first) for first, last in itertools.pairwise(edges)]


@cache
def _communicates(source: str) -> bool:
    return _COMMUNICATION.search(source) is not None


def run(execution: launch.Execution, parts: Sequence[tuple[int, int]]) -> EmulationRun:
    """All ranges, as one run. After a fatal finding the ranges behind it count as never started."""
    start = time.perf_counter()
    changes = [launch.anonymous_file("changes") for _ in parts]
    try:
        with launch.memory_file(execution.bound) as data:
            files = zip(parts, changes, strict=True)
            jobs = [launch.Part(first, count, file) for (first, count), file in files]
            with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
                done = list(pool.map(lambda part: execution.start(data, part), jobs))
            failed = (i for i, one in enumerate(done) if any(finding.fatal for finding in one.findings))
            counted = next(failed, len(done)) + 1
            _merge(data, changes[:counted])
            contents = launch.read_memory(execution.bound, data)
    finally:
        for file in changes:
            os.close(file)
    done = done[:counted]
    outcome = launch.Outcome(
        _merged([finding for one in done for finding in one.findings]),
        _sum_of([one.counters for one in done]),
        "".join(one.printed for one in done),
        time.perf_counter() - start,
    )
    return launch.result(execution, outcome, contents)


def _merged(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings of all ranges, those of one place as one that counts them all."""
    found: dict[tuple[str, Location | None, bool], Finding] = {}
    for finding in findings:
        key = (finding.kind, finding.location, finding.fatal)
        first = found.get(key)
        found[key] = finding if first is None else replace(first, count=first.count + finding.count)
    return tuple(found.values())


def _merge(data: int, changes: Sequence[int]) -> None:
    """Put every byte that some range changed into the file; what several changed is as the last of them left it."""
    record = np.dtype([("page", np.uint64), ("bytes", np.uint8, launch.PAGE_BYTES)])
    with mmap.mmap(data, os.fstat(data).st_size // launch.PAGE_BYTES * launch.PAGE_BYTES) as memory:
        pages: NDArray[np.uint8] = np.frombuffer(memory, np.uint8).reshape(-1, launch.PAGE_BYTES)
        records = [np.frombuffer(os.pread(file, os.fstat(file).st_size, 0), record) for file in changes]
        touched, counts = np.unique(np.concatenate([one["page"] for one in records]), return_counts=True)
        disputed = touched[counts > 1]
        original = pages[disputed]
        for one in records:
            is_disputed = np.isin(one["page"], disputed)
            where, after = one["page"][is_disputed], one["bytes"][is_disputed]
            before = original[np.searchsorted(disputed, where)]
            pages[where] = np.where(after != before, after, pages[where])
            if is_disputed.any():
                one = one[~is_disputed]
            pages[one["page"]] = one["bytes"]
        del pages


def _sum_of(counters: Sequence[Counters]) -> Counters:
    """What all processes did; a run that counts more than this is not spread."""
    return Counters(
        switches=sum(one.switches for one in counters),
        barriers=sum(one.barriers for one in counters),
        collectives=sum(one.collectives for one in counters),
    )

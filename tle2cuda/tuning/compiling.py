"""Compiling configurations in parallel, each by NVRTC in a process of its own with a time limit."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tle2cuda.errors import KernelError
from tle2cuda.runtime.active import uses_gpu
from tle2cuda.runtime.nvrtc import compile_apart
from tle2cuda.tuning.config import Config

JOBS_VARIABLE = "TLE2CUDA_TUNE_JOBS"
LIMIT_VARIABLE = "TLE2CUDA_TUNE_COMPILE_LIMIT_S"
_DEFAULT_LIMIT_S = 120.0
_MOST_JOBS = 16


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    text = error.message if isinstance(error, KernelError) else f"{type(error).__name__}: {error}"
    span = getattr(error, "span", None)
    where = f"{span.location()}: " if span is not None else ""
    return (where + text.strip().partition("\n")[0]) or type(error).__name__


def _number(variable: str, default: float) -> float:
    try:
        return max(float(os.environ.get(variable, "") or default), 0.0)
    except ValueError:
        return default


class Compilations:
    """The compilations of one tuning.

    Args:
        futures: One for each configuration.
        pool: What runs them.
    """

    def __init__(self, futures: dict[Config, Future[None]], pool: ThreadPoolExecutor) -> None:
        self.futures = futures
        self.pool = pool

    def failure(self, config: Config) -> Exception | None:
        """Waits for a configuration; why it failed, None when it compiled."""
        try:
            self.futures[config].result()
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:
            return error
        return None

    def cancel(self) -> None:
        """Drops what was not begun."""
        self.pool.shutdown(wait=False, cancel_futures=True)


def compile_all(
    configs: Sequence[Config], compile_one: Callable[[Config], None], done: Callable[[int], None]
) -> Compilations:
    """Starts compiling all configurations.

    Args:
        configs: What to compile.
        compile_one: Compiles one; called in several threads.
        done: Called with the number of those that are ready.

    Returns:
        The compilations, already running.
    """
    limit_s = _number(LIMIT_VARIABLE, _DEFAULT_LIMIT_S)
    jobs = int(_number(JOBS_VARIABLE, min(os.cpu_count() or 1, _MOST_JOBS)))
    lock = threading.Lock()
    finished = 0

    def work(config: Config) -> None:
        nonlocal finished
        try:
            with compile_apart(limit_s):
                compile_one(config)
        finally:
            with lock:
                finished += 1
                count = finished
            with contextlib.suppress(Exception):
                done(count)

    pool = ThreadPoolExecutor(max_workers=max(1, min(jobs, len(configs))), thread_name_prefix="tle2cuda-tune")
    run = _in_device(work)
    return Compilations({config: pool.submit(run, config) for config in configs}, pool)


def _in_device(work: Callable[[Config], None]) -> Callable[[Config], None]:
    """The work with the caller's device current in its thread."""
    if not uses_gpu():
        return work
    from cupy.cuda import runtime

    device = runtime.getDevice()

    def run(config: Config) -> Any:
        runtime.setDevice(device)
        return work(config)

    return run

"""Measuring one configuration, and giving up on it early when it is hopeless."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tle2cuda.errors import LaunchError
from tle2cuda.runtime.clock import clock

_HOPELESS = 10.0  # times slower than the best in its first run: not worth the other runs
_NOISE_MS = 0.2  # what the first run of a launch may cost besides


class Measurer:
    """Measures configurations of one tuning.

    Args:
        warmup: Milliseconds of runs that do not count.
        rep: Milliseconds of runs that do.
        use_cuda_graph: Measure inside a CUDA graph.
        do_bench: Another function that measures.

    Attributes:
        has_clock: Whether measuring means anything: not where kernels run on the CPU, unless the user measures.
    """

    def __init__(
        self, warmup: float, rep: float, use_cuda_graph: bool = False, do_bench: Callable[..., Any] | None = None
    ) -> None:
        self.warmup, self.rep, self.use_cuda_graph, self.do_bench = warmup, rep, use_cuda_graph, do_bench
        self.clock = clock()
        self.has_clock = self.clock.is_device or do_bench is not None
        self.best_ms = float("inf")

    def measure(self, call: Callable[[], Any], quantiles: Sequence[float]) -> Any:
        """Milliseconds of a call at the quantiles; on the CPU one run, and zero."""
        if not self.has_clock:
            call()
            return [0.0] * len(quantiles)
        if self.do_bench is not None:
            return self.do_bench(call, quantiles=quantiles)
        from tle2cuda.testing import do_bench, do_bench_cudagraph

        call()  # loads the kernel
        self.clock.synchronize()
        start = time.perf_counter()
        call()
        self.clock.synchronize()
        once_ms = (time.perf_counter() - start) * 1000
        if once_ms > _HOPELESS * self.best_ms + _NOISE_MS:
            return [once_ms] * len(quantiles)
        if self.use_cuda_graph:
            found = do_bench_cudagraph(call, rep=self.rep, quantiles=quantiles)
        else:
            found = do_bench(call, warmup=self.warmup, rep=self.rep, quantiles=quantiles)
        self.best_ms = min(self.best_ms, found[0])
        return found

    def check_device(self, error: Exception, kernel: str, config: Any) -> None:
        """Stop when a configuration has left the device unusable, as an illegal access does.

        Raises:
            LaunchError: Nothing can be launched any more.
        """
        if not self.clock.is_device:
            return
        try:
            self.clock.synchronize()
        except Exception as broken:
            raise LaunchError(
                f"{kernel}: a configuration left the GPU unusable for this process: {broken}",
                facts=(f"configuration: {config}", f"first error: {error}"),
                help="run the kernel with this configuration in the emulator (TLE2CUDA_DEVICE=emulator), which names the "
                "access; remove the configuration if it is not valid for these sizes",
            ) from error

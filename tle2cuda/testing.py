"""Timing kernels, comparing tensors, and tables of benchmarks: the names of `triton.testing`."""

from __future__ import annotations

import functools
import math
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from tle2cuda.errors import InvalidArgument, ToolchainError
from tle2cuda.runtime.clock import Clock, clock, torch_has_gpu
from tle2cuda.runtime.frames import warn_user

_RETURN_MODES = ("min", "max", "mean", "median", "all")
_MODE_HELP = f"one of {', '.join(_RETURN_MODES)}"
_MAX_HOST_RUNS = 10
_GRAPH_REPLAYS = 10


def _quantile(values: Sequence[float], quantiles: Sequence[float]) -> list[float]:
    """Quantiles with linear interpolation."""
    ordered = sorted(values)
    found = []
    for quantile in quantiles:
        if not 0 <= quantile <= 1:
            raise InvalidArgument(f"a quantile lies between 0 and 1, got {quantile}")
        place = quantile * (len(ordered) - 1)
        low, high = math.floor(place), math.ceil(place)
        found.append(ordered[low] + (ordered[high] - ordered[low]) * (place - low))
    return found


def _summarize_statistics(times: Sequence[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """The number or numbers that a benchmark returns."""
    if quantiles is not None:
        found = _quantile(times, quantiles)
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return list(times)
    functions: Mapping[str, Callable[[Sequence[float]], float]] = {
        "min": min,
        "max": max,
        "mean": statistics.mean,
        "median": statistics.median,
    }
    return functions[return_mode](times)


def _check_mode(return_mode: str) -> None:
    if return_mode not in _RETURN_MODES:
        raise InvalidArgument(f"return_mode must be {_MODE_HELP}, got {return_mode!r}")


def _clear_gradients(tensors: Sequence[Any] | None) -> None:
    for tensor in tensors or ():
        tensor.grad = None


@functools.cache
def _note_host_clock() -> None:
    """Says once what times on the CPU are worth."""
    warn_user("kernels run on the CPU here: times are those of the emulation, not of a GPU", RuntimeWarning)


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Times a function by the device's clock, with a cold L2 cache.

    Args:
        fn: What to time.
        warmup: Milliseconds of runs that do not count.
        rep: Milliseconds of runs that do.
        grad_to_none: Tensors whose gradient is dropped before each run.
        quantiles: Which quantiles to return.
        return_mode: What to return without quantiles: ``min``, ``max``, ``mean``, ``median`` or ``all``.

    Returns:
        Milliseconds: one number, or a list for several quantiles or ``all``.

    Raises:
        InvalidArgument: `return_mode` or a quantile is wrong.
    """
    _check_mode(return_mode)
    ticker = clock()
    fn()
    ticker.synchronize()
    if not ticker.is_device:
        _note_host_clock()
        return _summarize_statistics(_host_times(ticker, fn, rep, grad_to_none), quantiles, return_mode)
    estimate = statistics.mean(ticker.time(5, lambda: None, fn))
    for _ in range(max(1, int(warmup / max(estimate, 1e-4)))):
        fn()
    runs = max(1, int(rep / max(estimate, 1e-4)))
    times = ticker.time(runs, lambda: _clear_gradients(grad_to_none), fn)
    return _summarize_statistics(times, quantiles, return_mode)


def _host_times(ticker: Clock, fn: Callable[[], Any], rep: float, grad_to_none: Sequence[Any] | None) -> list[float]:
    """A few runs on the CPU: an emulated kernel is slow, and its time of no great interest."""
    times = ticker.time(1, lambda: _clear_gradients(grad_to_none), fn)
    runs = min(_MAX_HOST_RUNS, int(rep / max(times[0], 1e-4)))
    return times + ticker.time(max(0, runs - 1), lambda: _clear_gradients(grad_to_none), fn)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Sequence[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Times a function inside a CUDA graph of many runs, so that launching costs nothing.

    Args:
        fn: What to time.
        rep: Milliseconds of runs that count.
        grad_to_none: Tensors whose gradient is dropped before each run.
        quantiles: Which quantiles to return.
        return_mode: What to return without quantiles: ``min``, ``max``, ``mean``, ``median`` or ``all``.

    Returns:
        Milliseconds of one run; on the CPU, what `do_bench` gives.
    """
    _check_mode(return_mode)
    if not clock().is_device:
        return do_bench(fn, 0, rep, grad_to_none, quantiles, return_mode)
    times = _torch_graph_times(fn, rep, grad_to_none) if torch_has_gpu() else _cupy_graph_times(fn, rep)
    return _summarize_statistics(times, quantiles, return_mode)


def _torch_graph_times(fn: Callable[[], Any], rep: float, grad_to_none: Sequence[Any] | None) -> list[float]:
    import torch

    for tensor in grad_to_none or ():
        tensor.detach_()
        tensor.requires_grad_(True)
        tensor.grad = None

    def run() -> None:
        _clear_gradients(grad_to_none)
        fn()

    with torch.cuda.stream(torch.cuda.Stream()):
        run()
        ticker = clock()
        estimate = statistics.mean(ticker.time(5, lambda: None, run))
        runs = max(1, int(rep / max(estimate, 1e-4)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(runs):
                run()
        torch.cuda.synchronize()
        times = []
        for _ in range(_GRAPH_REPLAYS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / runs)
    return times


def _cupy_graph_times(fn: Callable[[], Any], rep: float) -> list[float]:
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        fn()
        estimate = statistics.mean(clock().time(5, lambda: None, fn))
        runs = max(1, int(rep / max(estimate, 1e-4)))
        stream.begin_capture()
        for _ in range(runs):
            fn()
        graph = stream.end_capture()
        times = []
        for _ in range(_GRAPH_REPLAYS):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            graph.launch()
            end.record()
            end.synchronize()
            times.append(float(cupy.cuda.get_elapsed_time(start, end)) / runs)
    return times


def assert_close(x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = "") -> None:
    """Compares two tensors, with a tolerance that their dtype gives.

    Args:
        x: torch tensor, array or number.
        y: What it should be.
        atol: Absolute tolerance; 1e-2 when None.
        rtol: Relative tolerance; 0 when None.
        err_msg: Added to the message.

    Raises:
        AssertionError: They differ by more.
    """
    import numpy as np

    arrays: list[Any] = [np.atleast_1d(_to_numpy(value)) for value in (x, y)]
    absolute = 1e-2 if atol is None else _tolerance(atol, x)
    relative = 0.0 if rtol is None else _tolerance(rtol, x)
    np.testing.assert_allclose(arrays[0], arrays[1], atol=absolute, rtol=relative, equal_nan=True, err_msg=err_msg)


def _tolerance(value: Any, tensor: Any) -> float:
    return float(value(getattr(tensor, "dtype", None)) if callable(value) else value)


def _to_numpy(value: Any) -> Any:
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        return value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
    return value.get() if hasattr(value, "get") and hasattr(value, "shape") else np.asarray(value)


class Benchmark:
    """What `perf_report` measures: a curve for each of some lines.

    Args:
        x_names: Arguments that vary along the x axis.
        x_vals: Their values: one for all names, or a tuple for each point.
        line_arg: Argument that tells the lines apart.
        line_vals: Its values.
        line_names: Names of the lines.
        plot_name: Title, and name of the files.
        args: Arguments that stay the same.
        xlabel: Label of the x axis; the first of `x_names` when empty.
        ylabel: Label of the y axis.
        x_log: Logarithmic x axis.
        y_log: Logarithmic y axis.
        styles: Colour and line style of each line.
    """

    def __init__(
        self,
        x_names: Sequence[str],
        x_vals: Sequence[Any],
        line_arg: str,
        line_vals: Sequence[Any],
        line_names: Sequence[str],
        plot_name: str,
        args: Mapping[str, Any],
        xlabel: str = "",
        ylabel: str = "",
        x_log: bool = False,
        y_log: bool = False,
        styles: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        self.x_names = list(x_names)
        self.x_vals = list(x_vals)
        self.line_arg = line_arg
        self.line_vals = list(line_vals)
        self.line_names = list(line_names)
        self.plot_name = plot_name
        self.args = dict(args)
        self.xlabel = xlabel
        self.ylabel = ylabel
        self.x_log = x_log
        self.y_log = y_log
        self.styles = styles


class Mark:
    """A function with the benchmarks that it is measured by; made by `perf_report`.

    Args:
        fn: Takes the arguments of a point and returns a number, or a number with its lowest and highest.
        benchmarks: One, or several.
    """

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks
        self.__name__ = getattr(fn, "__name__", "benchmark")
        self.__doc__ = fn.__doc__

    def rows(self, bench: Benchmark, **kwargs: Any) -> Iterator[list[Any]]:
        """For each point its x values, then value, lowest and highest of each line."""
        for point in bench.x_vals:
            values = point if isinstance(point, (list, tuple)) else [point] * len(bench.x_names)
            if len(values) != len(bench.x_names):
                raise InvalidArgument(f"{bench.plot_name}: expected {len(bench.x_names)} x values, got {len(values)}")
            means, lows, highs = [], [], []
            for line in bench.line_vals:
                arguments = {**dict(zip(bench.x_names, values, strict=True)), bench.line_arg: line}
                result = self.fn(**arguments, **bench.args, **kwargs)
                mean, low, high = result if isinstance(result, tuple) else (result, None, None)
                means.append(mean)
                lows.append(low)
                highs.append(high)
            yield [*values, *means, *lows, *highs]

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Measures every benchmark.

        Args:
            show_plots: Show a figure of each; needs matplotlib.
            print_data: Print a table of each.
            save_path: Folder for tables and figures.
            return_df: Return the tables as pandas frames.
            **kwargs: Passed on to the function.

        Returns:
            A table, or a list of them for several benchmarks, when `return_df`.
        """
        several = not isinstance(self.benchmarks, Benchmark)
        benchmarks = list(self.benchmarks) if not isinstance(self.benchmarks, Benchmark) else [self.benchmarks]
        frames = []
        for bench in benchmarks:
            table = _Table(bench, list(self.rows(bench, **kwargs)))
            if save_path or show_plots:
                table.draw(show_plots, save_path)
            if print_data:
                print(bench.plot_name + ":")
                print(table.text())
            if save_path:
                table.save(save_path)
            if return_df:
                frames.append(table.frame())
        if not return_df:
            return None
        return frames if several else frames[0]


class _Table:
    """The measurements of one benchmark.

    Args:
        bench: The benchmark.
        rows: What `Mark.rows` gave.
    """

    def __init__(self, bench: Benchmark, rows: Sequence[Sequence[Any]]) -> None:
        self.bench = bench
        unit = f" ({bench.ylabel})" if bench.ylabel else ""
        self.columns = [*bench.x_names, *(f"{name}{unit}" for name in bench.line_names)]
        first, lines = len(self.columns), len(bench.line_names)
        self.rows = [list(row[:first]) for row in rows]
        self.ranges = [(row[first : first + lines], row[first + lines :]) for row in rows]

    def text(self) -> str:
        """The table in columns."""
        cells = [["", *self.columns]]
        cells += [[str(index), *(_number(value) for value in row)] for index, row in enumerate(self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)

    def frame(self) -> Any:
        """The table as a pandas frame."""
        return _optional("pandas", "tables as data frames").DataFrame(self.rows, columns=self.columns)

    def save(self, folder: str) -> None:
        """Write the table as CSV."""
        os.makedirs(folder, exist_ok=True)
        lines = [",".join(self.columns), *(",".join(map(str, row)) for row in self.rows)]
        with open(os.path.join(folder, f"{self.bench.plot_name}.csv"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def draw(self, show: bool, folder: str) -> None:
        """Draw the lines, show them, and save the figure."""
        if folder and not show and not _has("matplotlib"):
            warn_user("no figure is saved: matplotlib is not installed", RuntimeWarning)
            return
        plot = _optional("matplotlib.pyplot", "figures")
        bench = self.bench
        plot.figure()
        axes = plot.subplot()
        x = [row[0] for row in self.rows]
        first = len(bench.x_names)
        for index, name in enumerate(bench.line_names):
            colour, style = bench.styles[index] if bench.styles else (None, None)
            axes.plot(x, [row[first + index] for row in self.rows], label=name, color=colour, ls=style)
            lows, highs = ([part[side][index] for part in self.ranges] for side in (0, 1))
            if all(value is not None for value in (*lows, *highs)):
                axes.fill_between(x, lows, highs, alpha=0.15, color=colour)
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if show:
            plot.show()
        if folder:
            os.makedirs(folder, exist_ok=True)
            plot.savefig(os.path.join(folder, f"{bench.plot_name}.png"))
        plot.close()


def _number(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _has(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def _optional(module: str, what: str) -> Any:
    """A module that is not a dependency.

    Raises:
        ToolchainError: It is not installed.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ToolchainError(f"{what} need {module}: {error}", help=f"pip install {module.partition('.')[0]}") from None


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Makes a function one that is measured by benchmarks: `function.run(print_data=True)`.

    Args:
        benchmarks: One, or several.
    """

    def wrap(fn: Callable[..., Any]) -> Mark:
        return Mark(fn, benchmarks)

    return wrap


# --- What a device can do ---


def _properties(device: int | None) -> Mapping[str, int]:
    from tle2cuda.runtime.active import ActiveDriver

    driver = ActiveDriver()
    return driver.utils.get_device_properties(driver.get_current_device() if device is None else device)


def get_dram_gbps(device: int | None = None) -> float:
    """Bandwidth of a device's memory in GB/s, by its clock and bus."""
    properties = _properties(device)
    return properties["mem_clock_rate"] * properties["mem_bus_width"] * 2 / 8 / 1e6  # two transfers a clock


def _capability(device: int | None) -> tuple[int, int]:
    from tle2cuda.runtime.active import ActiveDriver

    return ActiveDriver().get_device_capability(device)


def _dtype_bits(dtype: Any) -> tuple[str, int]:
    """Kind and width of a torch or language dtype: (``float``, 16)."""
    from tle2cuda.ir.types import DType
    from tle2cuda.runtime.descriptions import array_dtype

    found = dtype if isinstance(dtype, DType) else DType(array_dtype(str(dtype)))
    return found.kind, found.bits


def get_max_tensorcore_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """Dense TFLOP/s of the tensor cores.

    Args:
        dtype: Of the operands; float32 counts as TF32.
        clock_rate: In kHz.
        device: The current one when None.

    Raises:
        InvalidArgument: There are none for this dtype.
    """
    kind, bits = _dtype_bits(dtype)
    major, minor = _capability(device)
    # Operations of one SM in one clock on 16-bit operands: NVIDIA's architecture whitepapers.
    per_clock = {7: 1024, 8: 2048 if minor == 0 else 1024, 9: 4096, 10: 8192}.get(major, 2048)
    if (kind, bits) not in (("float", 32), ("float", 16), ("float", 8), ("int", 8)):
        raise InvalidArgument(f"tensor cores do not multiply {dtype.label}")
    if bits == 8 and kind == "float" and (major, minor) < (8, 9):
        raise InvalidArgument(f"tensor cores of compute capability {major}.{minor} do not multiply {dtype.label}")
    rate = {32: per_clock / 2, 16: per_clock, 8: per_clock * 2}[bits]
    return _properties(device)["multiprocessor_count"] * rate * clock_rate * 1e3 / 1e12


def get_max_simd_tflops(dtype: Any, clock_rate: float, device: int | None = None) -> float:
    """TFLOP/s without tensor cores, a multiply-add counted as two.

    Args:
        dtype: float32, float16 or bfloat16.
        clock_rate: In kHz.
        device: The current one when None.

    Raises:
        InvalidArgument: It is another dtype.
    """
    kind, bits = _dtype_bits(dtype)
    major, minor = _capability(device)
    lanes = 64 if major < 8 or (major, minor) == (8, 0) else 128  # fp32 lanes of an SM
    if kind != "float" or bits not in (16, 32):
        raise InvalidArgument(f"get_max_simd_tflops takes float32, float16 or bfloat16, got {dtype.label}")
    rate = lanes * 2 * (2 if bits == 16 else 1)
    return _properties(device)["multiprocessor_count"] * rate * clock_rate * 1e3 / 1e12


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """Numbers that `nvidia-smi` reports of the first GPU.

    Args:
        attrs: Names such as ``clocks.max.sm``.

    Raises:
        ToolchainError: It is not installed, or fails.
    """
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={','.join(attrs)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ToolchainError(f"nvidia-smi cannot be asked: {error}") from None
    return [int(value) for value in done.stdout.split(",")]


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Leaves a test as it is: run the whole of it under `compute-sanitizer` instead.

    Args:
        **target_kwargs: Accepted for compatibility.
    """
    return lambda test: test


def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> NoReturn:
    """Refuses: the clocks of a GPU are its administrator's.

    Args:
        ref_sm_clock: In MHz.
        ref_mem_clock: In MHz.

    Raises:
        ToolchainError: Always.
    """
    raise ToolchainError("the clocks of the GPU are not changed", help="lock them with nvidia-smi -lgc before the run")


__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "cuda_memcheck",
    "do_bench",
    "do_bench_cudagraph",
    "get_dram_gbps",
    "get_max_simd_tflops",
    "get_max_tensorcore_tflops",
    "nvsmi",
    "perf_report",
    "set_gpu_clock",
]

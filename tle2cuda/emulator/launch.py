"""Running a library: arguments go to the runner in one file, results come back in it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.emulator.counters import Counters, read_counters
from tle2cuda.emulator.locate import Locator
from tle2cuda.emulator.results import EmulationRun, Finding, OtherAccess
from tle2cuda.emulator.tensor_maps import TensorMap, encode_spec
from tle2cuda.emulator.toolchain import KernelLibrary
from tle2cuda.errors import ArgumentError
from tle2cuda.interpreter.arguments import as_array
from tle2cuda.interpreter.dtypes import storage_dtype, value_dtype
from tle2cuda.ir.types import DType
from tle2cuda.runtime.contract import ArgSpec, Dim3, LaunchContract
from tle2cuda.runtime.scalars import scalar_number

PAGE_BYTES = 4096
_ALIGNMENT_BYTES = 256  # of memory that `cudaMalloc` gives
_HOST_ALIGNMENT_BYTES = 16  # of memory that NumPy gives
_POISON = 0xA5
_OUTSIDE = re.compile(r"\belements? .* of argument (\w+), ")

RESIDENT_CLUSTERS = 4
"""Clusters that are alive together under a random schedule, though nothing but chance would make them."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """A piece of memory that arguments point into.

    Attributes:
        name: The arguments that do.
        address: Where it lies in this process; None for scratch.
        data: Its bytes.
        page_offset: Where in its first page it begins.
    """

    name: str
    address: int | None
    data: bytes
    page_offset: int

    @property
    def pages_bytes(self) -> int:
        """Bytes it takes in the file."""
        return -(-(self.page_offset + len(self.data)) // PAGE_BYTES) * PAGE_BYTES


@dataclass(frozen=True, slots=True)
class NamedArray:
    """An array in a buffer, for naming its elements.

    Attributes:
        name: The argument.
        buffer: Number of the buffer.
        offset_bytes: Where in it the array begins.
        size_bytes: Its size, from the first element to the last.
        element_bytes: Size of an element.
        is_uninitialized: The kernel must write an element before it reads it.
        is_dense: No bytes of others lie between its elements.
    """

    name: str
    buffer: int
    offset_bytes: int
    size_bytes: int
    element_bytes: int
    is_uninitialized: bool
    is_dense: bool = True


@dataclass(frozen=True, slots=True)
class Bound:
    """The arguments of a launch.

    Attributes:
        buffers: Memory.
        parameters: One line of the request for each kernel parameter.
        arrays: Array arguments by name, with their buffer and the offset of their first element in it.
        named: The same arrays, and scratch, as the runner names their elements.
    """

    buffers: tuple[Buffer, ...]
    parameters: tuple[str, ...]
    arrays: Mapping[str, tuple[NDArray[Any], int, int]]
    named: tuple[NamedArray, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run goes; see `emulate`."""

    schedule: str = "forward"
    seed: int = 0
    detect: tuple[str, ...] = ()
    access_switch: int = 0
    stall_s: float = 30.0
    limit_s: float = 1800.0
    delivery: str = "late"


def bind(
    contract: LaunchContract, args: Sequence[Any] | Mapping[str, Any], ctas: Dim3, uninitialized: Collection[str] = ()
) -> Bound:
    """Arrays and numbers as the runner takes them. Arrays that overlap share a buffer, as they do in memory.

    Raises:
        ArgumentError: The values do not fit the contract.
    """
    names = [spec.name for spec in contract.args]
    if isinstance(args, Mapping):
        unknown = [name for name in args if name not in names]
        missing = [name for name in names if name not in args]
        if unknown or missing:
            problem = f"argument {missing[0]} is missing" if missing else f"there is no argument {unknown[0]}"
            raise ArgumentError(f"{contract.kernel_name}: {problem}", facts=(f"arguments: {', '.join(names)}",))
        values = [args[name] for name in names]
    else:
        values = list(args)
    if len(values) != len(names):
        raise ArgumentError(
            f"{contract.kernel_name} takes {len(names)} arguments, {len(values)} given",
            facts=(f"arguments: {', '.join(names)}",),
        )
    arrays = {
        spec.name: _memory_of(spec, value)
        for spec, value in zip(contract.args, values, strict=True)
        if spec.kind != "scalar" and value is not None
    }
    for name in uninitialized:
        if name not in arrays:
            raise ArgumentError(
                f"{contract.kernel_name}: uninitialized names {name}, which is no array argument",
                facts=(f"array arguments: {', '.join(arrays)}",),
            )
    buffers, places = _buffers(arrays)
    named = []
    for name, array in arrays.items():
        number = places[name][0]
        low, high = extent_of(array)
        offset = low - (buffers[number].address or 0)
        named.append(
            NamedArray(name, number, offset, high - low, array.itemsize, name in uninitialized, high - low == array.nbytes)
        )
    lines = []
    for spec, value in zip(contract.args, values, strict=True):
        if not spec.is_passed:
            continue
        if spec.kind == "scalar":
            lines.append(f"value {_scalar(spec, value).hex()}")
        elif spec.kind == "tensor_map":
            lines.append("tensor_map {} {} {}".format(*places[spec.name], value.encode().hex()))
        elif value is None:
            lines.append(f"value {bytes(8).hex()}")
        else:
            lines.append("pointer {} {}".format(*places[spec.name]))
    for scratch in contract.scratch:
        size = scratch.size_bytes(prod(ctas))
        lines.append(f"pointer {len(buffers)} 0")
        named.append(NamedArray(scratch.name, len(buffers), 0, size, 4, not scratch.zero))
        buffers.append(Buffer(f"scratch {scratch.name}", None, bytes([0 if scratch.zero else _POISON]) * size, 0))
    scalars = {spec.name: value for spec, value in zip(contract.args, values, strict=True) if spec.kind == "scalar"}
    for made in contract.tensor_maps:
        if made.base not in arrays:
            raise ArgumentError(f"argument {made.base} is None, and the tensor map {made.name} leads to it")
        number, at = places[made.base]
        encoded, offset_bytes = encode_spec(made, scalars, arrays[made.base])
        lines.append(f"tensor_map {number} {at + offset_bytes} {encoded.hex()}")
    return Bound(tuple(buffers), tuple(lines), {name: (arrays[name], *places[name]) for name in arrays}, tuple(named))


def _memory_of(spec: ArgSpec, value: Any) -> NDArray[Any]:
    """The array of a pointer argument, or the one that a tensor map leads to."""
    if spec.kind == "pointer":
        return _checked(spec, as_array(value, spec.name))
    if not isinstance(value, TensorMap):
        raise ArgumentError(
            f"argument {spec.name} is a tensor map, got {type(value).__name__}",
            help="make one with tle2cuda.emulator.tensor_map(array, box)",
        )
    return value.array


def _checked(spec: ArgSpec, array: NDArray[Any]) -> NDArray[Any]:
    """The array, when its elements have the size of the pointer's."""
    dtype = DType(spec.dtype)
    if array.dtype.itemsize != storage_dtype(dtype).itemsize:
        raise ArgumentError(
            f"argument {spec.name} points to {dtype.label}, the array holds {array.dtype}",
            help=f"convert it: x.astype({value_dtype(dtype)})",
        )
    return array


def _scalar(spec: ArgSpec, value: Any) -> bytes:
    dtype = value_dtype(DType(spec.dtype))
    with np.errstate(all="ignore"):
        return np.array(scalar_number(spec.name, spec.dtype, value)).astype(dtype).tobytes()


def extent_of(array: NDArray[Any]) -> tuple[int, int]:
    """First address of an array's elements, and the one behind the last."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += stride * (extent - 1)
        else:
            high += stride * (extent - 1)
    return low, high + array.itemsize


def _buffers(arrays: Mapping[str, NDArray[Any]]) -> tuple[list[Buffer], dict[str, tuple[int, int]]]:
    extents = sorted((*extent_of(array), name) for name, array in arrays.items())
    groups: list[tuple[int, int, list[str]]] = []
    for low, high, name in extents:
        if groups and low < groups[-1][1]:
            first, last, names = groups[-1]
            groups[-1] = (first, max(last, high), [*names, name])
        else:
            groups.append((low, high, [name]))
    buffers, places = [], {}
    for number, (low, high, names) in enumerate(groups):
        size = high - low
        label = ("argument " if len(names) == 1 else "arguments ") + ", ".join(sorted(names))
        content = ctypes.string_at(low, size) if size else b""
        buffers.append(Buffer(label, low, content, _page_offset(device_address(arrays[names[0]], low), size)))
        for name in names:
            places[name] = (number, arrays[name].__array_interface__["data"][0] - low)
    return buffers, places


def device_address(array: NDArray[Any], address: int) -> int:
    """An address as far from the beginning of the array's allocation, were that aligned as on a GPU.

    So vectors and sectors lie in an argument as they do in an array of a GPU, wherever NumPy's allocator puts it. Memory
    that others gave to NumPy with less alignment keeps its address: the kernel was specialised for that.
    """
    while isinstance(array.base, np.ndarray):
        array = array.base
    allocation, _ = extent_of(array)
    return address if allocation % _HOST_ALIGNMENT_BYTES else address - allocation


def _page_offset(address: int, size: int) -> int:
    """Where in a page a buffer begins: aligned as an address is, its end as near to the page's end as that allows."""
    room = -size % PAGE_BYTES
    return (room - (room - address) % _ALIGNMENT_BYTES) % PAGE_BYTES


@dataclass(frozen=True, slots=True)
class Execution:
    """What every process of a run needs.

    Attributes:
        runner: The runner's executable.
        library: The kernel's library.
        contract: Its launch contract.
        ctas: The grid in CTAs.
        bound: The arguments.
        locator: Finds lines.
        options: How the run goes.
    """

    runner: Path
    library: KernelLibrary
    contract: LaunchContract
    ctas: Dim3
    bound: Bound
    locator: Locator
    options: RunOptions

    def start(self, data: int, part: Part | None = None) -> Outcome:
        """One process: a kernel that writes to wild addresses harms nothing else.

        Args:
            data: The file with the arguments' memory.
            part: The clusters that it runs; None for all.
        """
        report = anonymous_file("report")
        files = (data, report) if part is None else (data, report, part.changes)
        try:
            request = "\n".join(_request(self, data, report, part)) + "\n"
            start = time.perf_counter()
            done = subprocess.run(
                [str(self.runner)], input=request.encode(), capture_output=True, pass_fds=files, check=False
            )
            elapsed_s = time.perf_counter() - start
            text = os.pread(report, os.fstat(report).st_size, 0)
        finally:
            os.close(report)
        findings, counters = _read_report(text, done, self.locator, self.options)
        findings = [self._with_shape(finding) for finding in findings]
        return Outcome(tuple(findings), counters, done.stdout.decode(errors="replace"), elapsed_s)

    def _with_shape(self, finding: Finding) -> Finding:
        """Of an access outside of an argument, the extents that this has, too."""
        found = _OUTSIDE.search(finding.message) if finding.kind == "out_of_bounds" else None
        if found is None or found[1] not in self.bound.arrays:
            return finding
        (array, _, _), name = self.bound.arrays[found[1]], found[1]
        dtypes = (DType(spec.dtype).label for spec in self.contract.args if spec.name == name and spec.kind == "pointer")
        label = next(dtypes, str(array.dtype))
        strides = [stride // array.itemsize for stride in array.strides]
        text = f"{name}: array {label}{list(array.shape)}"
        if not array.flags.c_contiguous:
            text += f" with strides {strides}"
        return replace(finding, details=(text, *finding.details))


@dataclass(frozen=True, slots=True)
class Part:
    """Clusters that one of several processes runs.

    Attributes:
        first: The first, in the order of the schedule.
        count: How many.
        changes: File for the pages that it changes; the file of the arguments stays as it is.
    """

    first: int
    count: int
    changes: int = -1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one process says."""

    findings: tuple[Finding, ...]
    counters: Counters
    printed: str
    elapsed_s: float


def run(execution: Execution) -> EmulationRun:
    """One execution by one process."""
    with memory_file(execution.bound) as data:
        outcome = execution.start(data)
        return result(execution, outcome, read_memory(execution.bound, data))


@contextlib.contextmanager
def memory_file(bound: Bound) -> Iterator[int]:
    """A file with the memory of the arguments, buffer after buffer, each from a page on."""
    data = anonymous_file("arguments")
    try:
        offset = 0
        for buffer in bound.buffers:
            os.pwrite(data, buffer.data, offset + buffer.page_offset)
            offset += buffer.pages_bytes
        os.ftruncate(data, max(offset, 1))
        yield data
    finally:
        os.close(data)


def read_memory(bound: Bound, data: int) -> list[bytes]:
    """What each buffer holds."""
    contents, offset = [], 0
    for buffer in bound.buffers:
        contents.append(os.pread(data, len(buffer.data), offset + buffer.page_offset))
        offset += buffer.pages_bytes
    return contents


def result(execution: Execution, outcome: Outcome, contents: Sequence[bytes]) -> EmulationRun:
    """The run that ended so."""
    options = execution.options
    return EmulationRun(
        options.schedule,
        options.seed,
        outputs_of(execution.bound, contents),
        outcome.findings,
        outcome.counters,
        outcome.printed,
        outcome.elapsed_s,
    )


def outputs_of(bound: Bound, contents: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """The array arguments, as these contents of the buffers give them: those that overlap do so here too."""
    memories = [bytearray(content) for content in contents]
    return {name: _array_in(memories[number], array, at) for name, (array, number, at) in bound.arrays.items()}


def write_back(bound: Bound, outputs: Mapping[str, Any]) -> None:
    """Put a run's results into the caller's memory: what the kernel wrote between the elements of a view among them.

    Args:
        bound: The arguments.
        outputs: The arrays that `outputs_of` made for the run.

    Raises:
        ArgumentError: The kernel wrote to an array that is read-only.
    """
    writeable = {name for name, (array, _, _) in bound.arrays.items() if array.flags.writeable}
    for name in sorted(bound.arrays, key=lambda name: name not in writeable):  # these first: read-only ones may overlap
        array, number, _ = bound.arrays[name]
        buffer, (low, high) = bound.buffers[number], extent_of(array)
        if low == high or buffer.address is None:
            continue
        first, last = extent_of(outputs[name])
        after = ctypes.string_at(first, last - first)
        if name in writeable:
            _put_changes(low, buffer.data[low - buffer.address : high - buffer.address], after)
        elif ctypes.string_at(low, high - low) != after:
            raise ArgumentError(f"the kernel writes to argument {name}, which is a read-only array")


def _put_changes(address: int, before: bytes, after: bytes) -> None:
    """Write the bytes at an address that changed; others, between the elements of a view, may be somebody else's."""
    if before == after:
        return
    old, new = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    memory = np.ctypeslib.as_array((ctypes.c_uint8 * len(after)).from_address(address))
    np.copyto(memory, new, where=old != new)


def _array_in(memory: bytearray, like: NDArray[Any], offset: int) -> NDArray[Any]:
    if like.size == 0:
        return np.empty_like(like)
    array: NDArray[Any] = np.ndarray(like.shape, like.dtype, buffer=memory, offset=offset, strides=like.strides)
    return array


def anonymous_file(name: str) -> int:
    """A file that no folder lists, as a descriptor that the caller closes."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create(f"tle2cuda {name}")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _request(execution: Execution, data: int, report: int, part: Part | None) -> Iterator[str]:
    library, contract, options, bound = execution.library, execution.contract, execution.options, execution.bound
    yield f"library {library.path}"
    yield "grid {} {} {}".format(*execution.ctas)
    yield "cluster {} {} {}".format(*contract.cluster)
    yield f"cta_threads {contract.cta_threads}"
    yield f"cooperative {int(contract.cooperative)}"
    yield f"static_shared {contract.shared_static_bytes}"
    yield f"dynamic_shared {contract.dynamic_shared_bytes}"
    yield f"stack_bytes {library.stack_bytes}"
    yield f"schedule {options.schedule} {options.seed}"
    yield f"delivery {options.delivery}"
    yield f"resident_clusters {RESIDENT_CLUSTERS if options.schedule == 'random' else 1}"
    yield f"access_switch {options.access_switch}"
    yield f"stall_s {options.stall_s}"
    yield f"limit_s {options.limit_s}"
    if part is not None:
        yield f"clusters {part.first} {part.count} {part.changes}"
    yield f"detect {' '.join(options.detect)}"
    yield f"files {data} {report}"
    for buffer in bound.buffers:
        yield f"buffer {len(buffer.data)} {buffer.page_offset} {buffer.name}"
    for named in bound.named:
        yield (
            f"argument {named.buffer} {named.offset_bytes} {named.size_bytes} {named.element_bytes} "
            f"{int(named.is_uninitialized)} {int(named.is_dense)} {named.name}"
        )
    yield from bound.parameters


def _read_report(
    text: bytes, done: subprocess.CompletedProcess[bytes], locator: Locator, options: RunOptions
) -> tuple[list[Finding], Counters]:
    try:
        report = json.loads(text)
    except ValueError:
        code = -done.returncode
        how = signal.Signals(code).name if code in signal.valid_signals() else f"exit code {done.returncode}"
        said = done.stderr.decode(errors="replace").strip()
        message = f"the emulated kernel ended its process ({how})" + (f": {said.splitlines()[-1]}" if said else "")
        return [Finding("crash", message, fatal=True, schedule=options.schedule, seed=options.seed)], Counters()
    findings = [_finding(entry, locator, options) for entry in report["findings"]]
    if report["error"]:
        error = _finding(report["error"], locator, options, fatal=True)
        # What the detector says of an access in front of it says more than the fault in it.
        noted = next((one for one in findings if (one.kind, one.location) == (error.kind, error.location)), None)
        findings = [replace(noted, fatal=True) if noted else error, *(one for one in findings if one is not noted)]
    return findings, read_counters(report["counters"], locator)


def _finding(entry: Mapping[str, Any], locator: Locator, options: RunOptions, fatal: bool = False) -> Finding:
    location = locator.locate(entry["pcs"], entry.get("line", 0))
    details = []
    for state in entry.get("states", ()):
        at = locator.locate(state["pcs"], state["line"]) if state["state"] != "exited" else None
        threads = "1 thread" if state["threads"] == 1 else f"{state['threads']} threads"
        ctas = "1 CTA" if state["ctas"] == 1 else f"{state['ctas']} CTAs"
        first = f"first CTA {tuple(state['cta'])}, thread {state['thread'][0]}"
        details.append(f"{threads} of {ctas} ({first}): {state['state']}" + (f" at {at}" if at else ""))
        location = location or at
    other = None
    if "other" in entry:
        party = entry["other"]
        other = OtherAccess(locator.locate(party["pcs"]), tuple(party["cta"]), tuple(party["thread"]))
        details.append(str(other))
    return Finding(
        kind=entry["kind"],
        message=entry["message"],
        location=location,
        details=tuple(details),
        cta=tuple(entry["cta"]) if "cta" in entry else None,
        thread=tuple(entry["thread"]) if "thread" in entry else None,
        count=entry.get("count", 1),
        fatal=fatal,
        schedule=options.schedule,
        seed=options.seed,
        other=other,
    )

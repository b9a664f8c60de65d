"""What `tools/agreement.py` runs: every shipped kernel on several sizes and types, and small kernels of every operation.

A job is a launch, or several that hand arrays on, and how its results on two devices may differ: not at all for integers
and for floats that only additions, comparisons and conversions make; for other floats by what CUDA documents for the
intrinsics that the emitted file calls. The bounds are worked out for each element, to first order in the rounding unit.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.layer_norm import layer_norm
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Algorithm, Sizes
from kernels.moe_align_block_size.reference import AlignedBlocks, MismatchError, verify
from kernels.softmax import softmax, warps_for
from kernels.vector_add import vector_add
from tests.emulator.async_subjects import LAUNCHES
from tests.opcases import OpCase, spread
from tests.opcases.case import BF16, Array, epsilon, is_float, numbers, poison
from tle2cuda.compiler import EmittedKernel, emit_specialized
from tle2cuda.runtime.args import specialize
from tools.bench.moe_align import routing
from tools.launching import Device, memory_of
from tools.shipped import H200_MULTIPROCESSORS, kernels_of

Values = dict[str, Any]
Bounds = Mapping[str, Array]

UNIT = float(np.finfo(np.float32).eps)
"""Largest relative size of a unit in the last place of an fp32, the type that all float kernels compute in."""
SMALLEST = 2.0**-126  # below it, instructions with .ftz give zero
LANES = 32

BY_HAND = "by hand: "
EXACT = "bit for bit"
UP_TO_ORDER = "bit for bit, slots of an expert in ascending order"
SOFTMAX_BOUND = "__expf 2 + ⌊1.173 |x|⌋ ulp, div.full 2 ulp"
LAYER_NORM_BOUND = "div.full 2 ulp, rsqrtf 2 ulp, contraction to FMA"

VECTOR_LENGTHS = (1, 1021, 100_003)
VECTOR_DTYPES = (np.float32, np.float16, BF16, np.float64, np.int32, np.int64, np.int16, np.uint8)
ROW_DTYPES = (np.float32, np.float16, BF16)
ROW_SHAPES = ((3, 1), (2, 1000), (4, 4096), (3, 3001))
EPS = 1e-5
MOE_RANDOM = ((1, 1, 1), (1000, 16, 64), (2500, 7, 257))  # slots, block size, experts
MOE_ROUTING = (("top1_e512", 4096, 16), ("top8_e256", 8192, 64))  # data set, slots, block size
ORDER_DEPENDENT = {"three_kernel": ("counts",)}
"""Scratch that the order of atomics decides: which CTA's share of an expert comes first."""


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a job.

    Attributes:
        emit: The emitted kernel for an architecture.
        grid: As `kernel[grid]` counts it.
        roles: For each run-time argument, the value of the job it gets.
    """

    emit: Callable[[str], EmittedKernel]
    grid: tuple[int, ...]
    roles: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Output:
    """How one output compares.

    Attributes:
        name: The argument.
        elements: How many it has.
        differing: How many have other bits, or, where their order is free, differ behind sorting.
        max_ulp: Largest difference, in units of the last place of the magnitude that was rounded.
        share: Largest share of the bound that a difference takes; 0 when all are equal.
        problem: What is wrong; empty when the devices agree.
    """

    name: str
    elements: int
    differing: int = 0
    max_ulp: float = 0.0
    share: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to run on two devices.

    Attributes:
        kernel: What is compared; jobs of one kernel and dtype share a line of the table.
        dtype: Element type of its data.
        inputs: Which inputs.
        bound: The rule that results are compared by.
        steps: Launches, in order.
        values: Arrays and numbers by name.
        compare: The outputs of the device under test and of the other one, compared.
        written: Arrays that each round must write anew.
        rounds: How often all steps run; scratch is left as the round before had it.
    """

    kernel: str
    dtype: str
    inputs: str
    bound: str
    steps: tuple[Step, ...]
    values: Values
    compare: Callable[[Values, Values, bool], list[Output]]
    written: tuple[str, ...] = ()
    rounds: int = 1
    emitted: dict[tuple[str, int], EmittedKernel] = field(default_factory=dict)

    def kernels(self, arch: str) -> list[EmittedKernel]:
        """The emitted kernels, each written once."""
        for number, step in enumerate(self.steps):
            if (arch, number) not in self.emitted:
                self.emitted[arch, number] = step.emit(arch)
        return [self.emitted[arch, number] for number in range(len(self.steps))]

    def run(self, device: Device) -> Values:
        """All arrays after all rounds."""
        held = dict(self.values)
        for _ in range(self.rounds):
            held |= {name: self.values[name] for name in self.written}
            for step, emitted in zip(self.steps, self.kernels(device.arch), strict=True):
                args = {parameter: held[role] for parameter, role in step.roles.items()}
                outputs = device.run(emitted, emitted.contract.launch_grid(step.grid), args)
                held |= {step.roles[parameter]: array for parameter, array in outputs.items()}
        return held


def jobs(seed: int, ops_per_family: int, only: str = "") -> list[Job]:
    """Everything there is to run, with random inputs of a seed.

    Args:
        seed: Of the inputs.
        ops_per_family: Most small kernels of each operation family.
        only: Part of the name of the kernels that are wanted.
    """
    rng = np.random.default_rng(seed)
    made = (*_vector_add(rng), *_rows(rng), *_moe(rng), *_ops(ops_per_family), *_by_hand())
    return [job for job in made if only in job.kernel]


# ---- comparing ------------------------------------------------------------------------------------------------------


def compare_floats(name: str, got: Array, want: Array, allowed: Array | float = 0.0, scale: Array | float = 0.0) -> Output:
    """Compares floats element by element; NaN equals any NaN.

    Args:
        name: The output.
        got: From the device under test.
        want: From the other one.
        allowed: Largest absolute difference for each element.
        scale: Magnitude of what cancelled out, for stating differences in units of the last place.
    """
    a, b = got.astype(np.float64), want.astype(np.float64)
    raw = np.dtype(f"u{want.dtype.itemsize}")
    differs = np.ascontiguousarray(got).view(raw) != np.ascontiguousarray(want).view(raw)
    differs &= ~(np.isnan(a) & np.isnan(b))
    differing = int(differs.sum())
    if not differing:
        return Output(name, want.size)
    with np.errstate(all="ignore"):
        error = np.where(differs & (a != b), np.abs(a - b), 0.0)
        error = np.where(np.isfinite(a) & np.isfinite(b) | (a == b), error, np.where(differs, np.inf, 0.0))
        ulps = error / unit_in_the_last_place(np.abs(b) + scale, want.dtype)
        share = np.where(error > 0, error / np.maximum(np.broadcast_to(allowed, error.shape), 1e-300), 0.0)
        # Zeros of other signs are different results where nothing may differ.
        share = np.where(differs & (a == b) & (np.broadcast_to(allowed, error.shape) == 0), np.inf, share)
    worst = int(np.argmax(share))
    problem = ""
    if not share.flat[worst] <= 1.0:
        wrong = int((~(share <= 1.0)).sum())
        problem = f"{name}: {wrong} of {want.size} differ too much, first [{int(np.argmax(~(share <= 1.0)))}]: "
        problem += f"{got.flat[worst]!s} and {want.flat[worst]!s} at [{worst}]"
    return Output(name, want.size, differing, float(ulps.max()), float(share.flat[worst]), problem)


def compare_bits(name: str, got: Array, want: Array) -> Output:
    """Compares integers; floats too where nothing may differ but the payload of a NaN."""
    if is_float(want.dtype):
        return compare_floats(name, got, want)
    wrong = np.flatnonzero(got != want)
    problem = ""
    if wrong.size:
        place = int(wrong[0])
        problem = f"{name}: {wrong.size} of {want.size} differ, first [{place}]: {got.flat[place]} and {want.flat[place]}"
    return Output(name, want.size, int(wrong.size), problem=problem)


def unit_in_the_last_place(magnitude: Array, dtype: np.dtype[Any]) -> Array:
    """The distance of neighbouring values of a float type at a magnitude."""
    smallest = 2.0**-133 if dtype == BF16 else float(np.finfo(dtype).smallest_subnormal) if dtype.kind == "f" else 2.0**-16
    exponent = np.floor(np.log2(np.maximum(magnitude, 1e-300)))
    return np.maximum(np.exp2(exponent) * epsilon(dtype), smallest)


def _exactly(*names: str) -> Callable[[Values, Values, bool], list[Output]]:
    return lambda got, want, same_order: [compare_bits(name, got[name], want[name]) for name in names]


# ---- vector_add -----------------------------------------------------------------------------------------------------


def _of_jit(kernel: Any, given: Mapping[str, Any], num_warps: int) -> Callable[[str], EmittedKernel]:
    """Emits a jit object for the types and alignments of its arguments, as a launch does."""

    def emit(arch: str) -> EmittedKernel:
        values = [given[parameter.name] for parameter in kernel.parameters]
        bound = specialize(kernel.parameters, values, kernel.fn.__name__)
        return emit_specialized(kernel, bound.specialization, num_warps=num_warps, arch=arch)

    return emit


def _vector_add(rng: np.random.Generator) -> Iterator[Job]:
    for dtype in map(np.dtype, VECTOR_DTYPES):
        for n in VECTOR_LENGTHS:
            values = {
                "x": numbers(rng, n, dtype, special=n > 1),
                "y": numbers(rng, n, dtype),
                "out": poison(n, dtype),
                "n": n,
            }
            step = Step(
                _of_jit(vector_add, {**values, "BLOCK": 1024}, 4), (-(-n // 1024),), {name: name for name in values}
            )
            yield Job("vector_add", dtype.name, f"{n}", EXACT, (step,), values, _exactly("out"))


# ---- softmax and layer norm -----------------------------------------------------------------------------------------


def _rows(rng: np.random.Generator) -> Iterator[Job]:
    for dtype in map(np.dtype, ROW_DTYPES):
        for rows, cols in ROW_SHAPES:
            block = 1 << (cols - 1).bit_length()
            num_warps = warps_for(cols, dtype.itemsize)
            x = (rng.standard_normal((rows, cols)) * 3 + rng.standard_normal((rows, 1))).astype(dtype)
            sizes = {"row_stride": cols, "cols": cols}
            additions = sum_depth(block, num_warps)

            values: Values = {"out": poison((rows, cols), dtype), "x": x, **sizes}
            step = Step(_of_jit(softmax, {**values, "BLOCK": block}, num_warps), (rows,), {name: name for name in values})
            compare = _within(lambda v, same, n=additions: softmax_bounds(v, n if same else v["cols"]))
            yield Job("softmax", dtype.name, f"{rows} x {cols}", SOFTMAX_BOUND, (step,), values, compare)

            values = {
                "x": x,
                "weight": numbers(rng, cols, dtype),
                "bias": numbers(rng, cols, dtype),
                "out": poison((rows, cols), dtype),
                "mean_out": poison(rows, np.float32),
                "rstd_out": poison(rows, np.float32),
                **sizes,
                "eps": EPS,
            }
            step = Step(
                _of_jit(layer_norm, {**values, "BLOCK": block}, num_warps), (rows,), {name: name for name in values}
            )
            compare = _within(lambda v, same, n=additions: layer_norm_bounds(v, n if same else v["cols"], same))
            yield Job("layer_norm", dtype.name, f"{rows} x {cols}", LAYER_NORM_BOUND, (step,), values, compare)


def sum_depth(block: int, num_warps: int) -> int:
    """Additions that a term of a sum over a row goes through: in its thread, its warp, over the warps."""
    threads = num_warps * LANES
    return -(-block // threads) + (LANES - 1).bit_length() + num_warps


def _within(
    bounds: Callable[[Values, bool], Mapping[str, tuple[Array, Array | float]]],
) -> Callable[[Values, Values, bool], list[Output]]:
    def compare(got: Values, want: Values, same_order: bool) -> list[Output]:
        allowed = bounds(want, same_order)
        return [compare_floats(name, got[name], want[name], *allowed[name]) for name in allowed]

    return compare


def softmax_bounds(values: Values, additions: int) -> dict[str, tuple[Array, Array | float]]:
    """Largest difference of two softmaxes of the same text, one with exact intrinsics.

    weight = __expf(x - max), total = sum of the weights, out = div.full(weight, total); the exact side rounds each once.

    Args:
        values: Arguments behind the launch.
        additions: Roundings between a term and the sum, on each side.
    """
    x = values["x"].astype(np.float64)
    argument = x - x.max(axis=1, keepdims=True)
    weight = np.exp(argument)
    of_weight = (2 + np.floor(1.173 * np.abs(argument)) + 0.5) * UNIT
    share = weight / weight.sum(axis=1, keepdims=True)
    of_total = (share * of_weight).sum(axis=1, keepdims=True) + additions * UNIT
    out = values["out"].astype(np.float64)
    allowed = np.abs(out) * (of_weight + of_total + 2.5 * UNIT) + SMALLEST
    return {"out": (_rounded(allowed, out, values["out"].dtype), 0.0)}


def layer_norm_bounds(values: Values, additions: int, same_order: bool) -> dict[str, tuple[Array, Array | float]]:
    """Largest differences of two layer norms of the same text, one with exact intrinsics and without contraction.

    Args:
        values: Arguments behind the launch.
        additions: Roundings between a term and a sum, on each side.
        same_order: The sums of `x` are the same ones: additions in one order, all rounded to nearest.
    """
    x, cols = values["x"].astype(np.float64), values["cols"]
    mean = x.mean(axis=1, keepdims=True)
    of_mean = 2.5 * UNIT * np.abs(mean)
    if not same_order:
        of_mean = of_mean + additions * UNIT * np.abs(x).mean(axis=1, keepdims=True)
    centred = x - mean
    of_centred = of_mean + UNIT * np.abs(centred)
    squares = (centred**2).sum(axis=1, keepdims=True)
    of_squares = (2 * np.abs(centred) * of_centred + of_centred**2).sum(axis=1, keepdims=True)
    of_squares += (additions + 1) * UNIT * squares
    variance = squares / cols + EPS
    of_variance = (of_squares / cols + 2.5 * UNIT * squares / cols + UNIT * variance) / variance
    of_rstd = 0.5 * of_variance + 2.5 * UNIT
    rstd = variance**-0.5
    scale, shift = (np.abs(values[name].astype(np.float64)) for name in ("weight", "bias"))
    scaled = np.abs(centred) * rstd * scale
    allowed = rstd * scale * of_centred + scaled * (of_rstd + 2 * UNIT) + UNIT * (scaled + shift) + SMALLEST
    return {
        "out": (_rounded(allowed, scaled + shift, values["out"].dtype), scaled + shift),
        "mean_out": (of_mean[:, 0] + SMALLEST, 0.0 if same_order else np.abs(x).mean(axis=1)),
        "rstd_out": ((rstd * of_rstd)[:, 0], 0.0),
    }


def _rounded(allowed: Array, magnitude: Array, dtype: np.dtype[Any]) -> Array:
    """What a difference of fp32 values may become by rounding to the output's type."""
    return allowed if dtype == np.float32 else allowed + unit_in_the_last_place(np.abs(magnitude) + allowed, dtype)


# ---- MoE alignment --------------------------------------------------------------------------------------------------


def _moe(rng: np.random.Generator) -> Iterator[Job]:
    problems = []
    for slots, block_size, experts in MOE_RANDOM:
        ids = (rng.zipf(1.2, slots) % experts).astype(np.int32)
        problems.append((f"Zipf, {slots} slots, {experts} experts", ids, Sizes(slots, block_size, experts)))
    filtered = np.where(rng.random(1500) < 0.2, -1, rng.integers(0, 100, 1500)).astype(np.int64)
    problems.append(("int64, filtered slots kept", filtered, Sizes(1500, 16, 100, keep_filtered=True)))
    for data, slots, block_size in MOE_ROUTING:
        ids, experts = routing(data, 1 << 30)
        start = int(rng.integers(0, ids.size - slots + 1))
        piece = ids[start : start + slots]
        problems.append((f"{data}, {slots} slots", piece, Sizes(slots, block_size, experts)))
    for algorithm in ALGORITHMS.values():
        for inputs, ids, sizes in problems:
            yield moe_job(algorithm, ids, sizes, inputs)


def moe_job(algorithm: Algorithm, ids: Array, sizes: Sizes, inputs: str) -> Job:
    """All kernels of an algorithm, in the tuning that the library takes first on an H200, twice on one scratch."""
    tuning = next(algorithm.tunings(sizes, H200_MULTIPROCESSORS))
    recipe = algorithm.recipe(sizes, tuning)
    outputs = {"sorted_ids": sizes.sorted_capacity, "expert_ids": sizes.expert_capacity, "num_post_pad": 1}
    values: Values = {"topk_ids": ids, "numel": ids.size}
    values |= {"sorted_capacity": sizes.sorted_capacity, "expert_capacity": sizes.expert_capacity}
    values |= {name: poison(count, np.int32) for name, count in outputs.items()}
    values |= {name: np.zeros(words, np.int32) for name, words in recipe.scratch.items()}
    steps = []
    for step, shipped in zip(recipe.steps, kernels_of(algorithm, sizes, tuning), strict=True):
        values |= step.scalars
        names = [p for p in inspect.signature(step.kernel.fn).parameters if p not in step.constants]
        roles = dict(zip(names, step.arguments, strict=True))
        wide = {parameter: "*i64:16" for parameter, role in roles.items() if role == "topk_ids" and ids.dtype == np.int64}
        kernel = replace(shipped, signature={**shipped.signature, **wide})
        steps.append(Step(kernel.emit, step.grid, roles))
    scratch = [name for name in recipe.scratch if name not in ORDER_DEPENDENT.get(algorithm.name, ())]

    def compare(got: Values, want: Values, same_order: bool) -> list[Output]:
        # The interpreter keeps no order of atomics and leaves scratch as another schedule may.
        exact = ("expert_ids", "num_post_pad", *(scratch if same_order else ()))
        first, second = (canonical_slots(held, sizes.block_size) for held in (got, want))
        found = [compare_bits("sorted_ids", first, second)]
        try:
            aligned = AlignedBlocks(*(got[name] for name in outputs))
            verify(aligned, ids, sizes.block_size, sizes.num_experts, keep_filtered=sizes.keep_filtered)
        except MismatchError as error:
            found[0] = replace(found[0], problem=f"not what the definition says: {error}")
        return found + [compare_bits(name, got[name], want[name]) for name in exact]

    name = f"moe_align_{algorithm.name}"
    written = tuple(outputs)
    return Job(name, ids.dtype.name, inputs, UP_TO_ORDER, tuple(steps), values, compare, written, rounds=2)


def canonical_slots(held: Values, block_size: int) -> NDArray[np.int64]:
    """`sorted_ids` with the slots of each expert in ascending order, as the reference's `verify` does it."""
    slots = held["sorted_ids"].astype(np.int64)
    places = np.flatnonzero(slots != held["numel"])
    experts = held["expert_ids"][places // block_size].astype(np.int64)
    slots[places] = slots[places][np.lexsort((slots[places], experts))]
    return slots


# ---- small kernels of every operation -------------------------------------------------------------------------------


def _ops(per_family: int) -> Iterator[Job]:
    for case in spread(per_family):
        inputs = case.inputs()
        values = {name: value for name, value in inputs.items() if name not in case.constants}
        step = Step(_of_case(case), case.grid, {name: name for name in values})
        yield Job(f"ops: {case.family}", "", case.name, "as each case says", (step,), values, _as_the_case_says(case))


def _by_hand() -> Iterator[Job]:
    """Kernels that were written by hand, with tensor maps among their arguments."""
    for name, launch in LAUNCHES.items():
        emitted, ctas, values, _ = launch()
        names = [name for name, value in values.items() if memory_of(value) is not None]
        step = Step(lambda arch, emitted=emitted: emitted, ctas, {name: name for name in values})
        yield Job(f"{BY_HAND}{name}", "", "odd sizes", EXACT, (step,), values, _exactly(*names))


def _of_case(case: OpCase) -> Callable[[str], EmittedKernel]:
    # The two spellings of a kernel mostly agree; half of the cases take one, half the other.
    headers = ("minimal", "toolkit")[zlib.crc32(case.name.encode()) % 2]
    return lambda arch: case.emit(arch, headers)


def _as_the_case_says(case: OpCase) -> Callable[[Values, Values, bool], list[Output]]:
    def compare(got: Values, want: Values, same_order: bool) -> list[Output]:
        found = []
        for name, expected in want.items():
            if not isinstance(expected, np.ndarray):
                continue
            pair = (got[name], expected)
            if name in case.any_order:
                pair = tuple(np.sort(array, axis=None) for array in pair)
            output = compare_bits(name, *pair)
            if output.differing:
                problem = "; ".join(case.differences({name: got[name]}, {name: expected}))
                output = replace(output, share=0.0 if not problem else np.inf, problem=problem)
            found.append(output)
        return found

    return compare

"""How each MoE Align Block Size algorithm is launched: its kernels, their grids, constants and scratch.

An algorithm turns the sizes of a problem and a tuning into steps, without touching any array; `run_steps`
launches them. The dispatcher, the benchmarks, the tests and the tools that emit files all start from the
same steps.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernels.moe_align_block_size import staged
from kernels.moe_align_block_size.atomic_fused import moe_align_atomic_fused
from kernels.moe_align_block_size.cluster import CLUSTER_MESH, CLUSTER_SIZE, moe_align_cluster
from kernels.moe_align_block_size.cluster_fused import moe_align_cluster_fused
from kernels.moe_align_block_size.cooperative import (
    MAX_CTAS,
    MAX_SLOTS,
    SUM_BITS,
    cooperative_workspace_words,
    moe_align_cooperative,
)
from kernels.moe_align_block_size.reference import check_sizes, expert_capacity, sorted_capacity
from kernels.moe_align_block_size.replicated import moe_align_replicated
from kernels.moe_align_block_size.single_cta import moe_align_single_cta
from kernels.moe_align_block_size.wide import moe_align_wide, wide_workspace_words
from tle2cuda.language import tle

MAX_GROUPS_FUSED = 2048
MAX_GROUPS = 16384
MAX_BLOCKS_OF_RUN = 16
"""Blocks that one thread may have to write one after the other; more take longer than searching."""
OUTPUTS = ("topk_ids", "sorted_ids", "expert_ids", "num_post_pad")
SIZES = ("numel", "sorted_capacity", "expert_capacity")


def ceil_div(a: int, b: int) -> int:
    """Integer division, rounded up."""
    return -(-a // b)


def next_power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one problem."""

    num_slots: int
    block_size: int
    num_experts: int
    keep_filtered: bool = False

    def __post_init__(self) -> None:
        check_sizes(self.block_size, self.num_experts)

    @property
    def num_groups(self) -> int:
        """One for each expert, and one for the filtered slots if they are kept."""
        return self.num_experts + int(self.keep_filtered)

    @property
    def sorted_capacity(self) -> int:
        """Length of `sorted_token_ids`."""
        return sorted_capacity(self.num_slots, self.block_size, self.num_experts, self.keep_filtered)

    @property
    def expert_capacity(self) -> int:
        """Length of `expert_ids`."""
        return expert_capacity(self.num_slots, self.block_size, self.num_experts, self.keep_filtered)


@dataclasses.dataclass(frozen=True, slots=True)
class Tuning:
    """What may be chosen freely about a launch.

    Attributes:
        ctas: CTAs in the grid.
        threads: threads of a CTA, a power of two from 32 to 1024.
        slots_per_thread: a power of two; how many ids a thread holds at a time.
        prefill: write sentinels everywhere before the slots, instead of only to the places no slot takes
            (`cluster` only).
        runs: each group writes the experts of its blocks, instead of each block searching for its own
            (`single_cta` and `replicated` only).
    """

    ctas: int
    threads: int
    slots_per_thread: int
    prefill: bool = False
    runs: bool = False

    def __str__(self) -> str:
        options = "".join(f" {name}" for name in ("prefill", "runs") if getattr(self, name))
        return f"{self.ctas}x{self.threads}x{self.slots_per_thread}{options}"

    @property
    def slot_tile(self) -> int:
        """Slots a CTA holds at a time."""
        return self.threads * self.slots_per_thread


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One kernel launch, `kernel[grid](...)`.

    Attributes:
        kernel: the jit function.
        grid: CTAs, or clusters.
        num_warps: warps of a CTA.
        arguments: names of the run-time arguments, in order.
        constants: values of the constexpr parameters.
        cooperative: all CTAs must be resident.
        scalars: values of the arguments that are neither arrays nor sizes of the problem.
    """

    kernel: Any
    grid: tuple[int, ...]
    num_warps: int
    arguments: tuple[str, ...]
    constants: Mapping[str, Any]
    cooperative: bool = False
    scalars: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Recipe:
    """All launches of an algorithm for given sizes, and its scratch: int32 words, zero before first use."""

    steps: tuple[Step, ...]
    scratch: Mapping[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Algorithm:
    """One way to do it.

    Attributes:
        name: as the benchmarks print it.
        summary: one line.
        recipe: launches for given sizes and tuning.
        tunings: for given sizes and number of multiprocessors, the tunings worth trying, the likely best
            first; none when the algorithm cannot solve the problem.
    """

    name: str
    summary: str
    recipe: Callable[[Sizes, Tuning], Recipe]
    tunings: Callable[[Sizes, int], Iterator[Tuning]]


def run_steps(recipe: Recipe, arrays: Mapping[str, Any], sizes: Sizes) -> None:
    """Launches every step. `arrays` has the outputs and the scratch by name."""
    values = {
        **arrays,
        "numel": sizes.num_slots,
        "sorted_capacity": sizes.sorted_capacity,
        "expert_capacity": sizes.expert_capacity,
    }
    for step in recipe.steps:
        arguments = [step.scalars[name] if name in step.scalars else values[name] for name in step.arguments]
        options = {"launch_cooperative_grid": True} if step.cooperative else {}
        step.kernel[step.grid](*arguments, **step.constants, num_warps=step.num_warps, **options)


@functools.cache
def grid_mesh(ctas: int) -> Any:
    """The mesh of a cooperative launch."""
    return tle.device_mesh({"block": [("block_x", ctas)]})


def _common_constants(sizes: Sizes) -> dict[str, Any]:
    return {
        "FIRST_EXPERT": -1 if sizes.keep_filtered else 0,
        "NUM_GROUPS": sizes.num_groups,
        "BLOCK_SIZE": sizes.block_size,
    }


def _tile_constants(sizes: Sizes, tuning: Tuning) -> dict[str, Any]:
    return {
        **_common_constants(sizes),
        "SLOT_TILE": tuning.slot_tile,
        # At least one group per thread, so that no two threads hold copies of one element.
        "GROUP_TILE": max(next_power_of_two(sizes.num_groups), tuning.threads),
    }


def _search_constants(sizes: Sizes, tuning: Tuning) -> dict[str, Any]:
    search_steps = (sizes.num_groups - 1).bit_length()
    return {**_tile_constants(sizes, tuning), "SEARCH_STEPS": search_steps, "THREADS": tuning.threads}


# ---- One CTA, or a few that never meet ----


def _single_cta(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {**_search_constants(sizes, tuning), "RUNS": tuning.runs}
    return Recipe((Step(moe_align_single_cta, (1,), tuning.threads // 32, OUTPUTS + SIZES, constants),))


def _replicated(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {
        **_search_constants(sizes, tuning),
        "GROUPS_PER_CTA": ceil_div(sizes.num_groups, tuning.ctas),
        "CTAS": tuning.ctas,
        "RUNS": tuning.runs,
    }
    step = Step(moe_align_replicated, (tuning.ctas,), tuning.threads // 32, OUTPUTS + SIZES, constants)
    return Recipe((step,))


def _register_tunings(sizes: Sizes, ctas: int, max_per_thread: int) -> Iterator[Tuning]:
    """Tunings with all slots in the registers of `ctas` CTAs, a thread at most one group or two."""
    if sizes.num_groups > MAX_GROUPS_FUSED:
        return
    for threads in (512, 1024) if sizes.num_slots <= 4 * 512 * ctas else (1024, 512):
        per_thread = next_power_of_two(ceil_div(sizes.num_slots, ctas * threads))
        if per_thread <= max_per_thread and sizes.num_groups <= 2 * threads:
            yield Tuning(ctas, threads, per_thread)


def _with_runs(sizes: Sizes, tuning: Tuning) -> Iterator[Tuning]:
    """Both ways to write expert ids, searching last where no group can have many blocks for each CTA."""
    few = ceil_div(sizes.num_slots, sizes.block_size * tuning.ctas) <= MAX_BLOCKS_OF_RUN
    for runs in (few, not few):
        yield dataclasses.replace(tuning, runs=runs)


def _single_cta_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    for tuning in _register_tunings(sizes, 1, 8):
        yield from _with_runs(sizes, tuning)


def _replicated_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    for tuning in _register_tunings(sizes, 1, 8):
        for ctas in (32, 16, 8):
            yield from _with_runs(sizes, dataclasses.replace(tuning, ctas=ctas))


# ---- One cluster ----


def _cluster(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {
        "mesh": CLUSTER_MESH,
        "CLUSTER_SIZE": CLUSTER_SIZE,
        **_search_constants(sizes, tuning),
        "PREFILL": tuning.prefill,
    }
    return Recipe((Step(moe_align_cluster, (1,), tuning.threads // 32, OUTPUTS + SIZES, constants),))


def _cluster_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    for tuning in _register_tunings(sizes, CLUSTER_SIZE, 16):
        yield tuning
        yield dataclasses.replace(tuning, prefill=True)


def _cluster_fused(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {"mesh": CLUSTER_MESH, "CLUSTER_SIZE": CLUSTER_SIZE, **_tile_constants(sizes, tuning)}
    return Recipe((Step(moe_align_cluster_fused, (1,), tuning.threads // 32, OUTPUTS + SIZES, constants),))


def _cluster_fused_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    if sizes.num_groups <= MAX_GROUPS_FUSED:
        per_thread = min(next_power_of_two(ceil_div(sizes.num_slots, CLUSTER_SIZE * 1024)), 4)
        yield Tuning(CLUSTER_SIZE, 1024, per_thread)


# ---- The whole GPU ----


def _cooperative(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {**_search_constants(sizes, tuning), "CTAS": tuning.ctas, "ONE_CTA": 1 << SUM_BITS}
    arguments = (*OUTPUTS, "workspace", "numel", "slots_per_cta", "sorted_capacity", "expert_capacity")
    slots_per_cta = ceil_div(ceil_div(sizes.num_slots, tuning.ctas), 32) * 32
    if slots_per_cta > tuning.slot_tile or sizes.num_slots > MAX_SLOTS or tuning.ctas > MAX_CTAS:
        raise ValueError(f"cooperative cannot align {sizes.num_slots} slots with {tuning}")
    step = Step(
        moe_align_cooperative,
        (tuning.ctas,),
        tuning.threads // 32,
        arguments,
        constants,
        cooperative=True,
        scalars={"slots_per_cta": slots_per_cta},
    )
    return Recipe((step,), {"workspace": cooperative_workspace_words(constants["GROUP_TILE"])})


def _cooperative_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    if sizes.num_groups > MAX_GROUPS_FUSED or sizes.num_slots > MAX_SLOTS:
        return
    # Few CTAs wait less for each other's atomics, many take less time for their slots: measured on an H200.
    by_size = ((4096, 16), (32768, 32), (262144, 64), (MAX_SLOTS, 128))
    likely = next(ctas for max_slots, ctas in by_size if sizes.num_slots <= max_slots)
    seen = set()
    for ctas in (likely, 2 * likely, likely // 2, multiprocessors):
        ctas = min(ctas, multiprocessors)
        # 1024 threads gain where they hold all of a good many slots at once.
        for threads in (1024, 512) if 256 * ctas < sizes.num_slots <= 1024 * ctas else (512, 1024):
            per_thread = next_power_of_two(ceil_div(sizes.num_slots, ctas * threads))
            tuning = Tuning(ctas, threads, per_thread)
            if per_thread <= 16 and sizes.num_groups <= 2 * threads and tuning not in seen:
                seen.add(tuning)
                yield tuning


def _wide(sizes: Sizes, tuning: Tuning) -> Recipe:
    group_tile = min(max(next_power_of_two(sizes.num_groups), tuning.threads), 1024)
    group_slots = max(next_power_of_two(sizes.num_groups), group_tile)
    constants = {
        "mesh": grid_mesh(tuning.ctas),
        **_search_constants(sizes, tuning),
        "GROUP_TILE": group_tile,
        "GROUP_SLOTS": group_slots,
        "CTAS": tuning.ctas,
    }
    arguments = (*OUTPUTS, "workspace", *SIZES)
    step = Step(moe_align_wide, (tuning.ctas,), tuning.threads // 32, arguments, constants, cooperative=True)
    return Recipe((step,), {"workspace": wide_workspace_words(group_slots)})


def _grid_for(sizes: Sizes, slot_tile: int, multiprocessors: int) -> int:
    ctas = ceil_div(sizes.num_slots, slot_tile)
    return min(ceil_div(ctas, 8) * 8 if ctas > 4 else next_power_of_two(ctas), multiprocessors)


def _wide_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    for per_thread in (1, 4):
        yield Tuning(_grid_for(sizes, 1024 * per_thread, multiprocessors), 1024, per_thread)


def _atomic_fused(sizes: Sizes, tuning: Tuning) -> Recipe:
    constants = {"mesh": grid_mesh(tuning.ctas), **_tile_constants(sizes, tuning)}
    arguments = (*OUTPUTS, "totals", "starts", *SIZES)
    step = Step(moe_align_atomic_fused, (tuning.ctas,), tuning.threads // 32, arguments, constants, cooperative=True)
    return Recipe((step,), dict.fromkeys(("totals", "starts"), constants["GROUP_TILE"]))


def _atomic_fused_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    if sizes.num_groups <= MAX_GROUPS_FUSED:
        yield Tuning(_grid_for(sizes, 256, multiprocessors), 256, 4 if sizes.num_slots > 131072 else 1)


# ---- Several kernels ----


def _four_kernel(sizes: Sizes, tuning: Tuning) -> Recipe:
    tiles = _tile_constants(sizes, tuning)
    group_tile, warps, ctas = tiles["GROUP_TILE"], tuning.threads // 32, tuning.ctas
    count_constants = {key: tiles[key] for key in ("FIRST_EXPERT", "NUM_GROUPS", "SLOT_TILE", "GROUP_TILE")}
    starts_constants = {key: tiles[key] for key in ("NUM_GROUPS", "BLOCK_SIZE", "GROUP_TILE")}
    steps = (
        Step(
            staged.moe_align_count,
            (ctas,),
            warps,
            ("topk_ids", "sorted_ids", "expert_ids", "counts", *SIZES),
            {**count_constants, "FILL_TILE": tuning.threads * 4},
        ),
        Step(
            staged.moe_align_offsets,
            (sizes.num_groups,),
            max(ctas // 64, 1),
            ("counts", "totals"),
            {"GROUP_TILE": group_tile, "PROGRAM_TILE": ctas},
        ),
        Step(
            staged.moe_align_starts,
            (1,),
            warps,
            ("totals", "starts", "num_post_pad"),
            {**starts_constants, "CLEAR_TOTALS": False},
        ),
        Step(
            staged.moe_align_scatter,
            (ctas,),
            warps,
            ("topk_ids", "sorted_ids", "expert_ids", "counts", "starts", "numel"),
            tiles,
        ),
    )
    return Recipe(steps, {"counts": ctas * group_tile, "totals": group_tile, "starts": group_tile + 1})


def _three_kernel(sizes: Sizes, tuning: Tuning) -> Recipe:
    tiles = _tile_constants(sizes, tuning)
    group_tile, warps, ctas = tiles["GROUP_TILE"], tuning.threads // 32, tuning.ctas
    count_constants = {key: tiles[key] for key in ("FIRST_EXPERT", "NUM_GROUPS", "SLOT_TILE", "GROUP_TILE")}
    starts_constants = {key: tiles[key] for key in ("NUM_GROUPS", "BLOCK_SIZE", "GROUP_TILE")}
    steps = (
        Step(
            staged.moe_align_count_atomic,
            (ctas,),
            warps,
            ("topk_ids", "sorted_ids", "expert_ids", "counts", "totals", *SIZES),
            {**count_constants, "FILL_TILE": tuning.threads * 4},
        ),
        Step(
            staged.moe_align_starts,
            (1,),
            warps,
            ("totals", "starts", "num_post_pad"),
            {**starts_constants, "CLEAR_TOTALS": True},
        ),
        Step(
            staged.moe_align_scatter_atomic_smem,
            (ctas,),
            warps,
            ("topk_ids", "sorted_ids", "expert_ids", "counts", "starts", "numel"),
            tiles,
        ),
    )
    return Recipe(steps, {"counts": ctas * group_tile, "totals": group_tile, "starts": group_tile + 1})


def _staged_tunings(sizes: Sizes, multiprocessors: int) -> Iterator[Tuning]:
    """A power of two of programs, each with one share of at most 4096 slots, in registers."""
    if sizes.num_groups > MAX_GROUPS_FUSED:
        return
    threads = max(256, min(next_power_of_two(sizes.num_groups) // 2, 1024))
    ctas = min(next_power_of_two(ceil_div(sizes.num_slots, threads)), 256)
    per_thread = next_power_of_two(ceil_div(sizes.num_slots, ctas * threads))
    if per_thread <= 16:
        yield Tuning(ctas, threads, per_thread)


ALGORITHMS: Mapping[str, Algorithm] = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("four_kernel", "four kernels, no shared memory", _four_kernel, _staged_tunings),
        Algorithm("three_kernel", "three kernels, shared-memory atomics", _three_kernel, _staged_tunings),
        Algorithm("atomic_fused", "one grid, three barriers", _atomic_fused, _atomic_fused_tunings),
        Algorithm("cluster_fused", "one cluster, atomics on rank 0", _cluster_fused, _cluster_fused_tunings),
        Algorithm("single_cta", "one CTA", _single_cta, _single_cta_tunings),
        Algorithm("replicated", "CTAs that never wait", _replicated, _replicated_tunings),
        Algorithm("cluster", "one cluster, one barrier", _cluster, _cluster_tunings),
        Algorithm("cooperative", "one grid, counted totals", _cooperative, _cooperative_tunings),
        Algorithm("wide", "one grid, one barrier, any size", _wide, _wide_tunings),
    )
}

"""Registers that partitions hand to each other (`setmaxnreg`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tle2cuda.ir.nodes import MOST_USED_REGISTERS, REGISTER_FILE, WARPGROUP_WARPS, Kernel, Op
from tle2cuda.targets import WARP_THREADS

if TYPE_CHECKING:
    from tle2cuda.lowering.specialize import Worker
    from tle2cuda.lowering.state import State

REGISTER_STEP = 8  # `setmaxnreg` takes multiples of 8 (PTX ISA, setmaxnreg)
FEWEST, MOST = 24, MOST_USED_REGISTERS
WARPGROUP_THREADS = WARPGROUP_WARPS * WARP_THREADS


@dataclass(frozen=True, slots=True)
class RegisterPlan:
    """Registers of a thread, by warpgroup.

    Attributes:
        at_start: What every thread has when the kernel starts.
        default: What a thread of the default warps gets; `at_start` when nothing moves.
        groups: What a thread of each worker warpgroup gets, by the warpgroup's first warp.
    """

    at_start: int = 0
    default: int = 0
    groups: tuple[tuple[int, int], ...] = ()

    def of_default(self, state: State) -> list[str]:
        """Statement of the default warps."""
        return self._statement(state, self.default)

    def of_partition(self, state: State, worker: Worker) -> list[str]:
        """Statement of a partition that consists of whole warpgroups."""
        if not self.groups or not _is_whole(worker):
            return []
        found = [registers for first, registers in self.groups if worker.task.first_warp <= first < worker.end]
        return self._statement(state, max(found))

    def statements(self, state: State) -> list[str]:
        """Statements of the warpgroups that several partitions share, in front of their branches."""
        workers = [worker for found in state.worker_tasks.values() for worker in found if _is_whole(worker)]
        whole = {first for first, _ in self.groups if any(w.task.first_warp <= first < w.end for w in workers)}
        shared = [(first, registers) for first, registers in self.groups if first not in whole]
        texts = []
        for first, registers in shared:
            for text in self._statement(state, registers):
                texts.append(self._only(state, first) + text)
        return texts

    def _only(self, state: State, first: int) -> str:
        """What selects a warpgroup among those of the workers, by its first warp."""
        end = first + WARPGROUP_WARPS
        tests = [f"{state.warp} >= {first}"] if first > self.groups[0][0] else []
        tests += [f"{state.warp} < {end}"] if first < self.groups[-1][0] else []
        return f"if ({' && '.join(tests)}) " if tests else ""

    def _statement(self, state: State, registers: int) -> list[str]:
        if registers == self.at_start or not registers:
            return []
        direction = "increase" if registers > self.at_start else "decrease"
        return [f"{state.helper(f'registers_{direction}')}<{registers}>()"]


def _is_whole(worker: Worker) -> bool:
    return worker.task.first_warp % WARPGROUP_WARPS == 0 and worker.task.num_warps % WARPGROUP_WARPS == 0


def _at_start(kernel: Kernel) -> int:
    return REGISTER_FILE // kernel.num_threads // REGISTER_STEP * REGISTER_STEP


def register_plan(kernel: Kernel, op: Op, workers: Sequence[Worker]) -> RegisterPlan:
    """What each warpgroup gets: workers the largest request in their warpgroup, the default warps what is left.

    Behind the first specialisation every warpgroup has it already.
    """
    if not kernel.moves_registers(op) or op is not kernel.specialisations[0]:
        return RegisterPlan()
    at_start = _at_start(kernel)
    groups: dict[int, int] = {}
    for worker, wanted in zip(workers, op.attrs["registers"], strict=True):
        for warp in range(worker.task.first_warp, worker.end):
            first = warp - warp % WARPGROUP_WARPS
            groups[first] = max(groups.get(first, FEWEST), min(MOST, wanted or at_start))
    left = 0
    for most in range(MOST, FEWEST - 1, -REGISTER_STEP):  # clamped until the default warps keep the fewest there may be
        given = {first: min(most, registers) for first, registers in groups.items()}
        total = at_start * kernel.num_threads - WARPGROUP_THREADS * sum(given.values())
        left = min(MOST, total // kernel.default_threads // REGISTER_STEP * REGISTER_STEP)
        groups = given
        if left >= FEWEST:
            break
    return RegisterPlan(at_start, left, tuple(sorted(groups.items())))

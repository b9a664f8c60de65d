"""How arrivals at mbarriers are counted, when all threads of a task make them.

An `mbarrier_arrive` stands for its whole task. Made by each thread behind what that thread did, it needs no barrier of the
task, and tools see what comes before what. Tasks of different sizes may arrive at one mbarrier, and copies, each of which
is one arrival: so what the user counts is multiplied.
"""

from __future__ import annotations

import math

from tle2cuda.analysis.tasks import tasks, walk_task
from tle2cuda.ir.effects import Roots
from tle2cuda.ir.nodes import Kernel, Value
from tle2cuda.targets import WARP_THREADS


def units_by_barriers(kernel: Kernel, roots: Roots) -> dict[Value, int]:
    """The least common multiple of the threads of the tasks that arrive, by the mbarriers that they arrive at.

    Of those among which a task chooses when it runs, all have that of all.
    """
    groups: list[tuple[set[Value], int]] = []
    for task in tasks(kernel):
        for op in walk_task(task.region):
            if op.name != "mbarrier_arrive":
                continue
            found, threads = {root for root in roots.of(op.operands[0]) if root is not None}, WARP_THREADS * task.warps
            for group in [group for group in groups if group[0] & found]:
                groups.remove(group)
                found, threads = found | group[0], math.lcm(threads, group[1])
            groups.append((found, threads))
    return {root: threads for found, threads in groups for root in found}

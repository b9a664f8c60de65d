"""The kernels that tools/bench/moe_align.py compares, each as something that prepares a repeatable launch."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tools.bench.common import ROOT

HAND = ROOT / "tools" / "bench" / "hand"
BASELINES = ROOT / "kernels" / "moe_align_block_size" / "baselines"
GROUPS = ("baseline", "hand", "language", "dispatcher", "triton")


@dataclasses.dataclass(slots=True)
class Problem:
    """One timed problem: ids (a CuPy int32 array whose content may change between launches) and its sizes."""

    topk_ids: Any
    block_size: int
    num_experts: int

    @property
    def num_slots(self) -> int:
        """Ids in all."""
        return int(self.topk_ids.size)


class Outputs(NamedTuple):
    """CuPy arrays, in the order of AlignedBlocks."""

    sorted_token_ids: Any
    expert_ids: Any
    num_tokens_post_pad: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Rival:
    """A kernel at one choice of sizes. `prepare` compiles and allocates, and returns what launches.

    `compile`, where there is one, only compiles; several may do so at once.
    """

    name: str
    group: str
    variant: str
    prepare: Callable[[Problem, Outputs], Callable[[], Any]]
    compile: Callable[[], Any] | None = None


def rivals_of(groups: Sequence[str], problem: Problem, *, sweep: bool) -> Iterator[Rival]:
    """Every kernel of the groups that can solve the problem."""
    makers = {
        "baseline": _baselines,
        "hand": _hand,
        "language": _language,
        "dispatcher": _dispatcher,
        "triton": _triton,
    }
    for group in groups:
        yield from makers[group](problem, sweep)


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@functools.cache
def _multiprocessors() -> int:
    import cupy

    return int(cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["multiProcessorCount"])


@functools.cache
def _module(path: str, cooperative: bool, **macros: int) -> Any:
    """Compiles a .cu file with CuPy's NVRTC for this machine's GPU."""
    import pathlib

    import cupy

    file = pathlib.Path(path)
    options = (
        "-std=c++17",
        f"-I{file.parent}",
        *(f"-D{key}={value}" for key, value in sorted(macros.items())),
    )
    return cupy.RawModule(code=file.read_text(), options=options, enable_cooperative_groups=cooperative)


def _kernel(path: str, name: str, cooperative: bool, **macros: int) -> Any:
    return _module(path, cooperative, **macros).get_function(name)


# ---- CUDA baselines ----


def _baselines(problem: Problem, sweep: bool) -> Iterator[Rival]:
    if problem.num_experts <= 1024:
        yield Rival("two_kernel", "baseline", "", _prepare_two_kernel)
    if problem.num_experts <= 256:
        for ctas in sorted({min(_multiprocessors(), n) for n in ((16, 64, 132) if sweep else (32, 132))}):
            prepare = functools.partial(_prepare_count_matrix, ctas=ctas)
            yield Rival("count_matrix", "baseline", f"ctas={ctas}", prepare)


def _macros(problem: Problem) -> dict[str, int]:
    return {"NUM_EXPERTS": problem.num_experts, "BLOCK_SIZE": problem.block_size}


def _prepare_two_kernel(problem: Problem, outputs: Outputs) -> Callable[[], Any]:
    import cupy
    import numpy as np

    path = str(BASELINES / "two_kernel.cu")
    count = _kernel(path, "moe_align_count", False, **_macros(problem))
    scatter = _kernel(path, "moe_align_scatter", False, **_macros(problem))
    next_place = cupy.empty(problem.num_experts, np.int32)
    numel = np.int32(problem.num_slots)
    sizes = (numel, np.int32(outputs.sorted_token_ids.size), np.int32(outputs.expert_ids.size))
    scatter_ctas = min(_ceil_div(problem.num_slots, 256), 65535)

    def launch() -> None:
        count((2,), (1024,), (problem.topk_ids, *outputs, next_place, *sizes))
        scatter((scatter_ctas,), (256,), (problem.topk_ids, outputs.sorted_token_ids, next_place, numel))

    return launch


def _prepare_count_matrix(problem: Problem, outputs: Outputs, ctas: int) -> Callable[[], Any]:
    import cupy
    import numpy as np

    path = str(BASELINES / "count_matrix.cu")
    kernel = _kernel(path, "moe_align_count_matrix", True, **_macros(problem))
    matrix = cupy.empty((ctas + 1) * problem.num_experts, np.int32)
    arrivals = cupy.zeros(1, np.uint32)
    arguments = (problem.topk_ids, *outputs, matrix, arrivals, *_sizes(problem, outputs))
    return lambda: kernel((ctas,), (1024,), arguments)


def _sizes(problem: Problem, outputs: Outputs) -> tuple[Any, Any, Any]:
    import numpy as np

    return (
        np.int32(problem.num_slots),
        np.int32(outputs.sorted_token_ids.size),
        np.int32(outputs.expert_ids.size),
    )


# ---- Hand-written CUDA ----


@dataclasses.dataclass(frozen=True, slots=True)
class HandLaunch:
    """A kernel of tools/bench/hand at one choice of sizes.

    Attributes:
        name: the file's name, less its suffix.
        ctas: CTAs of the grid.
        threads: threads of a CTA.
        per_thread: ids in a thread's registers.
        share: slots of a CTA, at most threads * per_thread; 0 where every CTA takes all of them.
        options: other macros of the file.
    """

    name: str
    ctas: int
    threads: int
    per_thread: int
    share: int
    options: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        options = "".join(f" {key.lower()}" if value else "" for key, value in self.options)
        return f"{self.ctas}x{self.threads}x{self.per_thread}{options}"

    @property
    def cooperative(self) -> bool:
        """Whether all CTAs must be resident."""
        return self.name == "cooperative"

    def module(self, problem: Problem, **more: int) -> Any:
        """The module of the kernel; `more` are further macros."""
        macros = {
            "CTAS": self.ctas,
            "THREADS": self.threads,
            "TOKENS_PER_THREAD": self.per_thread,
            **dict(self.options),
            **_macros(problem),
            **more,
        }
        return _module(str(HAND / f"{self.name}.cu"), self.cooperative, **macros)

    def kernel(self, problem: Problem, **more: int) -> Any:
        """The compiled kernel."""
        return self.module(problem, **more).get_function(f"moe_align_{self.name}")

    def prepare(self, problem: Problem, outputs: Outputs, **more: int) -> Callable[[], Any]:
        """Returns what launches it; `more` are further macros."""
        import cupy
        import numpy as np

        kernel = self.kernel(problem, **more)
        arguments: tuple[Any, ...] = (problem.topk_ids, *outputs)
        if self.cooperative:
            # struct Workspace of cooperative.cu: two sets of totals, the epoch, the barrier's word.
            expert_slots = 1 << (problem.num_experts - 1).bit_length()
            arguments += (cupy.zeros(2 * expert_slots + 2, np.int32),)
        numel, *capacities = _sizes(problem, outputs)
        arguments += (numel, *((np.int32(self.share),) if self.share else ()), *capacities)
        return lambda: kernel((self.ctas,), (self.threads,), arguments)


def hand_launches(problem: Problem, multiprocessors: int, *, sweep: bool) -> Iterator[HandLaunch]:
    """The choices worth timing for a problem: all that could be the fastest, and with `sweep` some more."""
    expert_slots = 1 << (problem.num_experts - 1).bit_length()
    for threads in (256, 512, 1024):
        if threads >= expert_slots:
            yield from _independent_launches(problem.num_slots, threads, sweep)
            yield from _meeting_launches(problem.num_slots, threads, multiprocessors, sweep)


def _options(**choices: Sequence[int]) -> Iterator[tuple[tuple[str, int], ...]]:
    for values in itertools.product(*choices.values()):
        yield tuple(zip(choices, values, strict=True))


def _per_thread(slots: int, threads: int) -> int:
    return 1 << (_ceil_div(slots, threads) - 1).bit_length()


def _independent_launches(num_slots: int, threads: int, sweep: bool) -> Iterator[HandLaunch]:
    per_thread = _per_thread(num_slots, threads)
    if per_thread > 4:
        return
    for ctas in (1, 4, 8, 16, 32) if sweep else (1, 8, 16, 32):
        for options in _options(EXPERT_LOOP=(0, 1)):
            name = "single_cta" if ctas == 1 else "replicated"
            yield HandLaunch(name, ctas, threads, per_thread, 0, options)


def _meeting_launches(num_slots: int, threads: int, multiprocessors: int, sweep: bool) -> Iterator[HandLaunch]:
    grids = (8, 16, 32, 64, 128, *((multiprocessors, 2 * multiprocessors) if sweep else ()))
    for ctas in grids:
        share = _ceil_div(_ceil_div(num_slots, ctas), 32) * 32
        per_thread = _per_thread(share, threads)
        if per_thread > 8 or share < 64 or ctas * threads > 2048 * multiprocessors:
            continue
        if ctas == 8:
            for options in _options(PREFILL=(0, 1) if sweep else (0,), EXPERT_LOOP=(0, 1)):
                yield HandLaunch("cluster", ctas, threads, per_thread, share, options)
        for options in _options(COUNTED=(0, 1) if sweep else (1,), EXPERT_LOOP=(0, 1)):
            yield HandLaunch("cooperative", ctas, threads, per_thread, share, options)


def _hand(problem: Problem, sweep: bool) -> Iterator[Rival]:
    if problem.num_experts <= 1024:
        for launch in hand_launches(problem, _multiprocessors(), sweep=sweep):
            compile_ = functools.partial(launch.kernel, problem)
            yield Rival(f"hand {launch.name}", "hand", str(launch), launch.prepare, compile_)


# ---- The tile language ----


def _language(problem: Problem, sweep: bool) -> Iterator[Rival]:
    from kernels.moe_align_block_size.algorithms import ALGORITHMS

    for algorithm in ALGORITHMS.values():
        for tuning in algorithm.tunings(_sizes_of(problem), _multiprocessors()):
            prepare = functools.partial(_prepare_language, algorithm=algorithm, tuning=tuning)
            yield Rival(algorithm.name, "language", str(tuning), prepare)


def _sizes_of(problem: Problem) -> Any:
    from kernels.moe_align_block_size.algorithms import Sizes

    return Sizes(problem.num_slots, problem.block_size, problem.num_experts)


def _prepare_language(problem: Problem, outputs: Outputs, algorithm: Any, tuning: Any) -> Callable[[], Any]:
    import cupy
    import numpy as np

    from kernels.moe_align_block_size.algorithms import run_steps

    sizes = _sizes_of(problem)
    recipe = algorithm.recipe(sizes, tuning)
    arrays = {
        "topk_ids": problem.topk_ids,
        "sorted_ids": outputs.sorted_token_ids,
        "expert_ids": outputs.expert_ids,
        "num_post_pad": outputs.num_tokens_post_pad,
        **{role: cupy.zeros(words, np.int32) for role, words in recipe.scratch.items()},
    }
    return lambda: run_steps(recipe, arrays, sizes)


def _dispatcher(problem: Problem, sweep: bool) -> Iterator[Rival]:
    yield Rival("dispatcher", "dispatcher", "", _prepare_dispatcher)


def _prepare_dispatcher(problem: Problem, outputs: Outputs) -> Callable[[], Any]:
    from kernels.moe_align_block_size import AlignedBlocks, moe_align_block_size

    out = AlignedBlocks(*outputs)
    return lambda: moe_align_block_size(problem.topk_ids, problem.block_size, problem.num_experts, out=out)


# ---- Triton ----


def _triton(problem: Problem, sweep: bool) -> Iterator[Rival]:
    from tools.bench import rivals

    if rivals.why_no_triton() is None:
        yield Rival("triton four_kernel", "triton", "", _prepare_triton)


def _prepare_triton(problem: Problem, outputs: Outputs) -> Callable[[], Any]:
    import torch

    from kernels.moe_align_block_size.algorithms import ALGORITHMS, run_steps
    from tools.bench import rivals

    sizes = _sizes_of(problem)
    algorithm = ALGORITHMS["four_kernel"]
    recipe = rivals.recipe_for_triton(algorithm.recipe(sizes, next(algorithm.tunings(sizes, _multiprocessors()))))
    arrays = {
        "topk_ids": torch.as_tensor(problem.topk_ids, device="cuda"),
        "sorted_ids": torch.as_tensor(outputs.sorted_token_ids, device="cuda"),
        "expert_ids": torch.as_tensor(outputs.expert_ids, device="cuda"),
        "num_post_pad": torch.as_tensor(outputs.num_tokens_post_pad, device="cuda"),
    }
    for role, words in recipe.scratch.items():
        arrays[role] = torch.zeros(words, dtype=torch.int32, device="cuda")
    return lambda: run_steps(recipe, arrays, sizes)

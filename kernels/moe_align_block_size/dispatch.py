"""The public face: `moe_align_block_size` picks the fastest algorithm for the size and launches it."""

from __future__ import annotations

import functools
import operator
from typing import Any

from kernels.moe_align_block_size import arrays
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Algorithm, Recipe, Sizes, Tuning, run_steps
from kernels.moe_align_block_size.reference import AlignedBlocks

# (largest number of slots, algorithm), tried in order; measured on an H200, see docs/benchmarks.md.
FASTEST: tuple[tuple[float, str], ...] = (
    (128, "single_cta"),
    (4096, "replicated"),
    (float("inf"), "cooperative"),
    (float("inf"), "wide"),
)

_scratch: dict[tuple[tuple[str, int, int], str, int], Any] = {}


def moe_align_block_size(
    topk_ids: Any,
    block_size: int,
    num_experts: int,
    *,
    keep_filtered: bool = False,
    algorithm: str | None = None,
    out: tuple[Any, Any, Any] | None = None,
) -> AlignedBlocks:
    """Sorts token slots by expert and pads each expert to whole blocks, on the library's current stream.

    Computes what `reference.moe_align_reference` defines, up to the order of slots inside an expert.

    Scratch is kept for each stream. Launches of one stream never overlap, so they share it safely; a CUDA
    graph must not be replayed while the stream it was captured on runs this function.

    Args:
        topk_ids: int16, int32 or int64, of any shape: torch (CUDA) or CuPy arrays run on the GPU, NumPy
            arrays on the CPU. Slots whose id is not in [0, num_experts) are left out, except as
            `keep_filtered` says.
        block_size: 1 to 256, a power of two or not.
        num_experts: 1 to 8192.
        keep_filtered: group the slots with id -1 too, in blocks of expert -1 that come first.
        algorithm: a name in `algorithms.ALGORITHMS`, instead of the fastest.
        out: int32 arrays to write to, of the lengths `sorted_capacity`, `expert_capacity` and 1; by default
            new.

    Returns:
        The aligned blocks, arrays of the same library.

    Raises:
        TypeError: the array is of another library or of another dtype.
        ValueError: a size is out of range, `out` does not fit, or the algorithm cannot solve this size.

    Example:
        >>> blocks = moe_align_block_size(np.array([2, 0, 2, 2, 1, 2, 2], np.int32), 4, 3)
        >>> blocks.expert_ids[:4].tolist(), int(blocks.num_tokens_post_pad[0])
        ([0, 1, 2, 2], 16)
    """
    ids = arrays.flatten_ids(topk_ids)
    num_slots = ids.numel() if hasattr(ids, "numel") else ids.size
    sizes = Sizes(int(num_slots), operator.index(block_size), operator.index(num_experts), bool(keep_filtered))
    outputs = _new_outputs(ids, sizes) if out is None else _checked_outputs(out, sizes)
    if num_slots == 0:
        outputs.num_tokens_post_pad[...] = 0
        return outputs
    stream = arrays.stream_of(ids)
    name, recipe = plan(sizes, stream[0], stream[1], algorithm)
    values = {
        "topk_ids": ids,
        "sorted_ids": outputs.sorted_token_ids,
        "expert_ids": outputs.expert_ids,
        "num_post_pad": outputs.num_tokens_post_pad,
    }
    for role, words in recipe.scratch.items():
        values[role] = _scratch_for(ids, stream, f"{name} {role}", words)
    run_steps(recipe, values, sizes)
    return outputs


@functools.lru_cache(maxsize=4096)
def plan(sizes: Sizes, library: str, device: int, algorithm: str | None = None) -> tuple[str, Recipe]:
    """The chosen algorithm's name and its launches."""
    chosen, tuning = choose(
        sizes,
        arrays.multiprocessors_of(library, device),
        clusters=arrays.has_clusters(library, device),
        algorithm=algorithm,
    )
    return chosen.name, chosen.recipe(sizes, tuning)


def choose(
    sizes: Sizes, multiprocessors: int, *, clusters: bool = True, algorithm: str | None = None
) -> tuple[Algorithm, Tuning]:
    """The algorithm (the fastest, or the one named) and its best tuning for these sizes.

    Raises:
        ValueError: no such algorithm, or it cannot solve this size.
    """
    if algorithm is not None and algorithm not in ALGORITHMS:
        raise ValueError(f"no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    names = [name for limit, name in FASTEST if sizes.num_slots <= limit] if algorithm is None else [algorithm]
    for name in names:
        if algorithm is None and name.startswith("cluster") and not clusters:
            continue
        tuning = next(ALGORITHMS[name].tunings(sizes, multiprocessors), None)
        if tuning is not None:
            return ALGORITHMS[name], tuning
    raise ValueError(
        f"{' and '.join(names)} cannot align {sizes.num_slots} slots of {sizes.num_experts} experts; "
        "leave out algorithm= to have one chosen"
    )


def _new_outputs(ids: Any, sizes: Sizes) -> AlignedBlocks:
    return AlignedBlocks(
        arrays.new_ints(ids, sizes.sorted_capacity),
        arrays.new_ints(ids, sizes.expert_capacity),
        arrays.new_ints(ids, 1),
    )


def _checked_outputs(out: tuple[Any, Any, Any], sizes: Sizes) -> AlignedBlocks:
    outputs = AlignedBlocks(*out)
    lengths = (sizes.sorted_capacity, sizes.expert_capacity, 1)
    for name, array, length in zip(AlignedBlocks._fields, outputs, lengths, strict=True):
        if tuple(array.shape) != (length,) or str(array.dtype).removeprefix("torch.") != "int32":
            raise ValueError(f"out: {name} must be int32 [{length}], got {array.dtype} {list(array.shape)}")
    return outputs


def _scratch_for(ids: Any, stream: tuple[str, int, int], role: str, words: int) -> Any:
    """Zeroed once, then left by every launch as the next one needs it; new each time for the interpreter."""
    key = (stream, role, words)
    scratch = _scratch.get(key)
    if scratch is None:
        scratch = arrays.new_ints(ids, words, zero=True)
        # Memory made during capture belongs to the graph.
        if stream[0] != "numpy" and not arrays.is_capturing(stream[0]):
            _scratch[key] = scratch
    return scratch

"""Small MoE alignment problems that between them meet every edge."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class AlignProblem:
    name: str
    ids: NDArray[np.integer]
    block_size: int
    num_experts: int
    keep_filtered: bool = False


def _uniform(size, num_experts, seed, dtype=np.int32):
    return np.random.default_rng(seed).integers(0, num_experts, size).astype(dtype)


def _zipf(size, num_experts, seed):
    weights = np.arange(1, num_experts + 1) ** -1.2
    return np.random.default_rng(seed).choice(num_experts, size, p=weights / weights.sum()).astype(np.int32)


def _with_filtered(ids, seed, share=0.3):
    ids = ids.copy()
    ids[np.random.default_rng(seed).random(ids.shape) < share] = -1
    return ids


PROBLEMS = [
    AlignProblem("one slot", np.array([3], np.int32), 16, 8),
    AlignProblem("one expert", np.zeros(37, np.int32), 16, 1),
    AlignProblem("whole blocks only", np.repeat(np.arange(4), 16).astype(np.int32), 16, 4),
    AlignProblem("all to the last expert", np.full(50, 31, np.int32), 8, 32),
    AlignProblem("uniform", _uniform(700, 64, 1), 16, 64),
    AlignProblem("long tail", _zipf(900, 100, 2), 16, 100),
    AlignProblem("blocks of one", _uniform(300, 20, 3), 1, 20),
    AlignProblem("blocks of seven", _uniform(300, 33, 4), 7, 33),
    AlignProblem("blocks of 256", _uniform(300, 5, 5), 256, 5),
    AlignProblem("two choices a token", _uniform((200, 2), 48, 6), 16, 48),
    AlignProblem("int64 ids", _uniform(333, 60, 7, np.int64), 32, 60),
    AlignProblem("int16 ids", _uniform(129, 60, 8, np.int16), 32, 60),
    AlignProblem("filtered left out", _with_filtered(_uniform(400, 30, 9), 9), 16, 30),
    AlignProblem("filtered kept", _with_filtered(_uniform(400, 30, 10), 10), 16, 30, True),
    AlignProblem("filtered kept, a power of two", _with_filtered(_uniform(400, 32, 11), 11), 16, 32, True),
    AlignProblem("all filtered", np.full(40, -1, np.int32), 16, 30),
    AlignProblem("all filtered, kept", np.full(40, -1, np.int32), 16, 30, True),
    AlignProblem("ids out of range", np.array([0, 900, -7, 5, 2**31 - 1, 5], np.int32), 4, 6, True),
    AlignProblem("int64 ids out of range", np.array([0, 2**32 + 1, -(2**32), 5, 5], np.int64), 4, 6),
]

LARGER_PROBLEMS = [
    AlignProblem("512 experts", _zipf(3000, 512, 20), 16, 512),
    AlignProblem("256 experts, top 8", _uniform((300, 8), 256, 21), 64, 256),
    AlignProblem("1024 experts, filtered kept", _with_filtered(_uniform(2500, 1024, 22), 22), 16, 1024, True),
]

WIDE_PROBLEMS = [
    AlignProblem("3000 experts", _uniform(2100, 3000, 30), 4, 3000),
    AlignProblem("8192 experts, filtered kept", _with_filtered(_uniform(2100, 8192, 31), 31), 2, 8192, True),
]

"""Random kernels of partitions and pipes: a few; `python -m tests.asynchrony.generate` runs more."""

from __future__ import annotations

import pathlib

import pytest

from tests.asynchrony.generate import check


@pytest.mark.parametrize("seed", [6, 11, 18, 24, 3013, 3024])
def test_random_partitions(seed: int, tmp_path: pathlib.Path) -> None:
    check(seed, tmp_path, emulator_seeds=1)

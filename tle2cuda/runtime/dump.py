"""Files that launched kernels became, for people: `tle2cuda run --dump-cu FOLDER`, or `TLE2CUDA_DUMP_CU`."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Protocol

from tle2cuda.paths import make_folder, write_text
from tle2cuda.runtime.contract import LaunchContract

DUMP_VARIABLE = "TLE2CUDA_DUMP_CU"
_DIGEST_LETTERS = 12


class Emitted(Protocol):
    """What is written of an emitted kernel."""

    @property
    def source(self) -> str:
        """The emitted file."""

    @property
    def contract(self) -> LaunchContract:
        """How to launch it."""


def dump(emitted: Emitted) -> None:
    """Writes a kernel and its launch contract into the folder that the environment names, if it names one.

    The files of a kernel are called after it and its text, so each specialisation has its own.

    Raises:
        ArgumentError: The folder cannot be written to.
    """
    folder = os.environ.get(DUMP_VARIABLE)
    if not folder:
        return
    digest = hashlib.sha256(emitted.source.encode()).hexdigest()[:_DIGEST_LETTERS]
    path = Path(folder) / f"{emitted.contract.kernel_name}-{digest}.cu"
    make_folder(path.parent)
    write_text(path, emitted.source)
    write_text(path.with_suffix(".json"), emitted.contract.to_json())

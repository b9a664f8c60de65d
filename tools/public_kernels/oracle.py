"""Runs recipes in Triton's interpreter: `python -m tools.public_kernels.oracle TARGET PACKAGES CUT SEED WIDE HASH...`.

WIDE is 1 for arrays of fp32 in place of bf16.

Writes a pickle: by hash, what each array argument holds afterwards, or the text of the error.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

from tools.public_kernels import sides
from tools.public_kernels.recipe import concrete, recipe_of
from tools.public_kernels.records import load_records, without_bf16


def wait_for_nothing() -> None:
    """Makes what waits for other kernels do nothing: the interpreter runs one kernel at a time, and knows no waiting."""
    import triton.language.extra.cuda as cuda

    for name in ("gdc_wait", "gdc_launch_dependents"):
        if hasattr(cuda, name):
            setattr(cuda, name, lambda: None)


def main() -> None:
    """Runs every record that was named."""
    wait_for_nothing()
    target, packages, cut, seed, wide, *hashes = sys.argv[1:]
    answers: dict[str, Any] = {}
    for record in load_records():
        if record.hash not in hashes:
            continue
        chosen = recipe_of(record)
        assert chosen is not None
        try:
            record = without_bf16(record) if int(wide) else record
            before = concrete(record, chosen, full=False, seed=int(seed))
            kernel = sides.load(record, Path(packages), Path(cut), use_triton=True)
            answers[record.hash] = sides.run("triton-cpu", kernel, record, before).arrays
        except Exception as error:  # the interpreter lacks parts of the language
            answers[record.hash] = f"{type(error).__name__}: {str(error)[-500:]}"
    Path(target).write_bytes(pickle.dumps(answers))


if __name__ == "__main__":
    main()

"""Which tensor copies go by the copy engine: not those at coordinates that are known to make it fault."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tests.frontend.kernels_on_file import trace_text
from tests.opcases import cases
from tle2cuda import interpreter
from tle2cuda.errors import InterpreterError
from tle2cuda.ir.nodes import Kernel, walk
from tle2cuda.passes import canonicalise, tensor_maps

_SIGNATURE = "*fp16:16, i32:16, i32"


def traced(folder: pathlib.Path, body: str, target: str = "sm_90a") -> Kernel:
    """A kernel over a tensor of n rows of n float16, tiles of 8 x 32, and an offset m of which nothing is known."""
    lines = [
        "@tle2cuda.jit",
        "def k(x, n, m):",
        "    desc = tl.make_tensor_descriptor(x, [n, n], [n, 1], [8, 32])",
        "    tile = tle.gpu.alloc([8, 32], tl.float16, nv_mma_shared_layout=False)",
        "    pid = tl.program_id(0)",
        *(f"    {line}" for line in body.splitlines()),
    ]
    return trace_text("\n".join(lines) + "\n", folder, _SIGNATURE, arch=target)


def by_engine(kernel: Kernel, name: str) -> bool:
    """Whether a copy is left after the pass; the interpreter knows the same of the kernel as it was traced."""
    made = tensor_maps.run(canonicalise.run(kernel))
    left = any(op.name == name for op in walk(made.body))
    assert left == any(op.name == name for op in tensor_maps.engine_copies(kernel))
    return left


LOADS = {  # innermost offset: whether the copy engine does it
    "0": True,
    "8": True,
    "-8": True,
    "7": False,
    "-4": False,
    "m": True,
    "pid * 32": True,
    "pid * 32 + 4": False,
    "4 - pid * 8": False,
    "(n + 8) * 3": True,
    "pid * 6 + 1": False,
    "pid * 6 + 2": True,  # right for every fourth program
    "m * 8 + 3": False,
    "m * 3 + 8": True,
    "m * m + 8": True,
    "(m * 2 + 1) * (pid * 4 + 1)": False,
    "(m.to(tl.int64) * 8 + 12).to(tl.int32)": False,
}


@pytest.mark.parametrize("offset", LOADS)
def test_innermost_offsets(offset: str, tmp_path: pathlib.Path) -> None:
    for text, name in (("desc, tile", "tma_load"), ("tile, desc", "tma_store")):
        kernel = traced(tmp_path, f"tle.gpu.copy({text}, [8, 32], [pid, {offset}])")
        assert by_engine(kernel, name) == (LOADS[offset] and (name == "tma_load" or not offset.startswith("-")))


def test_offsets_that_a_loop_counts(tmp_path: pathlib.Path) -> None:
    for bounds, expected in (("0, n, 32", True), ("4, n, 32", False), ("pid * 8 + 2, n, 16", False), ("0, n, 4", True)):
        kernel = traced(tmp_path, f"for j in range({bounds}):\n    tle.gpu.copy(desc, tile, [8, 32], [0, j])")
        assert by_engine(kernel, "tma_load") == expected, bounds


@pytest.mark.parametrize(
    ("row", "expected"), [("0", True), ("-1", False), ("m", True), ("pid - 3", True), ("-1 - pid", False)]
)
def test_rows_of_stores(row: str, expected: bool, tmp_path: pathlib.Path) -> None:
    assert by_engine(traced(tmp_path, f"tle.gpu.copy(tile, desc, [8, 32], [{row}, 0])"), "tma_store") == expected
    assert by_engine(traced(tmp_path, f"tle.gpu.copy(desc, tile, [8, 32], [{row}, 0])"), "tma_load")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("tensor_boxes_bf16_before", "tma_load"),
        ("tensor_boxes_i8", "tma_load"),
        ("tensor_boxes_i64", "tma_load"),
        ("tensor_boxes_f64", "tma_load"),
        ("tensor_blocks", "tma_load"),
        ("asynchrony_batched_box_1", "tma_store"),
    ],
)
def test_emitted_text(name: str, call: str) -> None:
    source = cases()[name].emit().source
    other = {"tma_load": "tma_store", "tma_store": "tma_load"}[call]
    assert f"{call}_" not in source and f"{other}_" in source


# ---- What only a run can tell ---------------------------------------------------------------------------------------


def said(kernel: Kernel, m: int) -> str:
    """What the interpreter says, before and after the pass; empty when nothing."""
    texts = []
    for version in (kernel, tensor_maps.run(canonicalise.run(kernel))):
        try:
            interpreter.run(version, 1, [np.zeros((32, 32), np.float16), 32, m])
            texts.append("")
        except InterpreterError as error:
            texts.append(str(error))
    assert texts[0] == texts[1]
    return texts[0]


_FILL = "tl.store(tle.gpu.local_ptr(tile), tl.zeros([8, 32], tl.float16))\n"

REFUSED = {
    ("desc, tile, [8, 32], [0, m]", 5): """\
copy: offset 1 is 5, 10 bytes, no multiple of the 16 bytes that the copy engine counts in

  10 |     tle.gpu.copy(desc, tile, [8, 32], [0, m])
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  program id (0, 0, 0)
  copy of [8, 32] at [0, 5] for sm_90a
  help: as a tl.constexpr, such an offset makes the compiler copy by loads and stores""",
    ("tile, desc, [8, 32], [0, m]", -4): """\
copy: offset 1 is -4, -8 bytes, no multiple of the 16 bytes that the copy engine counts in

  10 |     tle.gpu.copy(tile, desc, [8, 32], [0, m])
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  program id (0, 0, 0)
  copy of [8, 32] at [0, -4] for sm_90a
  help: as a tl.constexpr, such an offset makes the compiler copy by loads and stores""",
    ("tile, desc, [8, 32], [0, m]", -8): """\
copy: offset 1 is -8, -16 bytes, and the copy engine stores nothing at negative offsets

  10 |     tle.gpu.copy(tile, desc, [8, 32], [0, m])
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  program id (0, 0, 0)
  copy of [8, 32] at [0, -8] for sm_90a
  help: as a tl.constexpr, such an offset makes the compiler copy by loads and stores""",
    ("tile, desc, [8, 32], [m, 0]", -3): """\
copy: offset 0 is -3, -192 bytes, and the copy engine stores nothing at negative offsets

  10 |     tle.gpu.copy(tile, desc, [8, 32], [m, 0])
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  program id (0, 0, 0)
  copy of [8, 32] at [-3, 0] for sm_90a
  help: as a tl.constexpr, such an offset makes the compiler copy by loads and stores""",
}


@pytest.mark.parametrize(("copy", "m"), REFUSED)
def test_the_interpreter_refuses_what_faults(copy: str, m: int, tmp_path: pathlib.Path) -> None:
    text = said(traced(tmp_path, f"{_FILL}tle.gpu.copy({copy})"), m)
    place, _, rest = text.partition(": ")
    assert place.endswith("k.py:10:5") and rest == REFUSED[copy, m]


@pytest.mark.parametrize(
    ("copy", "m", "target"),
    [
        ("desc, tile, [8, 32], [0, m]", -16, "sm_90a"),
        ("desc, tile, [8, 32], [m, 0]", -3, "sm_90a"),
        ("tile, desc, [8, 32], [0, m]", 40, "sm_90a"),
        ("tile, desc, [8, 32], [m * 8 - 8, m * 8 + 3]", 0, "sm_90a"),  # by stores
        ("desc, tile, [8, 32], [0, m]", 5, "sm_80"),
        ("tile, desc, [8, 32], [m, m]", -3, "sm_80"),
    ],
)
def test_the_interpreter_takes_the_rest(copy: str, m: int, target: str, tmp_path: pathlib.Path) -> None:
    assert not said(traced(tmp_path, f"{_FILL}tle.gpu.copy({copy})", target), m)

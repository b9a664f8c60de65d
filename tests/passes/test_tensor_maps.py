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


ENGINE, POINTERS, ASKED = "by the engine", "by loads and stores", "asked when it runs"


def way(kernel: Kernel, name: str) -> str:
    """How a copy is made; the interpreter knows of the kernel as it was traced which copies the engine surely makes."""
    made = tensor_maps.run(canonicalise.run(kernel))
    left = any(op.name == name for op in walk(made.body))
    is_asked = any(op.attrs.get("is_substitute") for op in walk(made.body))
    assert (left and not is_asked) == any(op.name == name for op in tensor_maps.engine_copies(kernel))
    return ASKED if is_asked else ENGINE if left else POINTERS


LOADS = {  # innermost offset: how a load is made
    "0": ENGINE,
    "8": ENGINE,
    "-8": ENGINE,
    "7": POINTERS,
    "-4": POINTERS,
    "m": ASKED,
    "tl.multiple_of(m, 8)": ENGINE,
    "pid * 32": ENGINE,
    "pid * 32 + 4": POINTERS,
    "4 - pid * 8": POINTERS,
    "(n + 8) * 3": ENGINE,
    "pid * 6 + 1": POINTERS,
    "pid * 6 + 2": ASKED,  # right for every fourth program
    "m * 8 + 3": POINTERS,
    "m * 3 + 8": ASKED,
    "m * m + 8": ASKED,
    "(m * 2 + 1) * (pid * 4 + 1)": POINTERS,
    "(m.to(tl.int64) * 8 + 12).to(tl.int32)": POINTERS,
}


@pytest.mark.parametrize("offset", LOADS)
def test_innermost_offsets_of_loads(offset: str, tmp_path: pathlib.Path) -> None:
    kernel = traced(tmp_path, f"tle.gpu.copy(desc, tile, [8, 32], [pid, {offset}])")
    assert way(kernel, "tma_load") == LOADS[offset]


STORES = {  # row and innermost offset: how a store is made
    "0, 0": ENGINE,
    "0, -8": POINTERS,
    "0, 7": POINTERS,
    "-1, 0": POINTERS,
    "-1 - pid, 0": POINTERS,
    "m, 0": ASKED,
    "pid - 3, 0": ASKED,
    "0, m * 8": ASKED,
    "pid, pid * 32": ENGINE,
    "pid * 8 + tl.num_programs(0), n": ENGINE,
    "pid // tl.cdiv(n, 32) * 8, pid % tl.cdiv(n, 32) * 32": ENGINE,
    "pid // m, 0": ENGINE,
    "pid // -3, 0": ASKED,
    "tl.maximum(m, 0), 0": ENGINE,
    "tl.minimum(pid, m), 0": ASKED,
    "tl.minimum(pid, n), 0": ENGINE,
    "m & 7, 0": ENGINE,
    "tl.load(x).to(tl.int32), 0": ASKED,
    "tl.where(m > 3, pid, n), 0": ENGINE,
    "(tl.num_programs(0) - 1 - pid) // 4 * 8, 0": ENGINE,
    "tl.num_programs(0) - (pid + 1), 0": ENGINE,
    "-1 - pid + tl.num_programs(0), 0": ENGINE,
    "tl.num_programs(0) - 2 - pid, 0": ASKED,
    "tl.num_programs(1) - 1 - pid, 0": ASKED,
    "tl.num_programs(0) - 1 - pid * 2, 0": ASKED,
    "tl.num_programs(0) - 1 - pid - pid, 0": ASKED,
}


@pytest.mark.parametrize("offsets", STORES)
def test_offsets_of_stores(offsets: str, tmp_path: pathlib.Path) -> None:
    kernel = traced(tmp_path, f"tle.gpu.copy(tile, desc, [8, 32], [{offsets}])")
    assert way(kernel, "tma_store") == STORES[offsets]


ROWS = {  # innermost extent, of tiles of 16 columns or of 4 columns, and how a store is made that may reach beyond
    "n": ENGINE,
    "m": ASKED,
    "m * 8": ENGINE,
    "m * 4": ASKED,
    "36": ASKED,
}


@pytest.mark.parametrize("extent", ROWS)
@pytest.mark.parametrize("verb", ["copy", "add"])
def test_rows_that_do_not_end_at_16_bytes(extent: str, verb: str, tmp_path: pathlib.Path) -> None:
    """The engine writes whole units of 16 bytes (an H200, measured)."""
    store = "tle.gpu.copy(tile, t, [8, 32], [0, pid * 32])"
    add = "t.atomic_add([0, pid * 32], tl.full([8, 32], 1, tl.float16))"
    lines = [f"t = tl.make_tensor_descriptor(x, [n, {extent}], [n, 1], [8, 32])", store if verb == "copy" else add]
    assert way(traced(tmp_path, "\n".join(lines)), "tma_store") == ROWS[extent]


def test_what_is_assumed_is_not_asked(tmp_path: pathlib.Path) -> None:
    ways = {"m >= 0": ENGINE, "m > -1": ENGINE, "0 <= m": ENGINE, "m >= -1": ASKED, "m < 5": ASKED}
    for said, expected in ways.items():
        kernel = traced(tmp_path, f"tl.assume({said})\ntle.gpu.copy(tile, desc, [8, 32], [m, 0])")
        assert way(kernel, "tma_store") == expected, said


def test_offsets_that_a_loop_counts(tmp_path: pathlib.Path) -> None:
    for bounds, expected in (
        ("0, n, 32", ENGINE),
        ("4, n, 32", POINTERS),
        ("pid * 8 + 2, n, 16", POINTERS),
        ("0, n, 4", ASKED),
        ("m, n, 8", ASKED),
    ):
        kernel = traced(tmp_path, f"for j in range({bounds}):\n    tle.gpu.copy(desc, tile, [8, 32], [0, j])")
        assert way(kernel, "tma_load") == expected, bounds


def test_rows_that_a_loop_counts(tmp_path: pathlib.Path) -> None:
    ways = {"pid, n, tl.num_programs(0)": ENGINE, "m, n, 8": ASKED, "n, 0, -8": ENGINE, "n, -9, -8": ASKED}
    for bounds, expected in ways.items():
        kernel = traced(tmp_path, f"for i in range({bounds}):\n    tle.gpu.copy(tile, desc, [8, 32], [i, 0])")
        assert way(kernel, "tma_store") == expected, bounds


def test_rows_that_a_loop_carries(tmp_path: pathlib.Path) -> None:
    for step, expected in (("8", ENGINE), ("m", ASKED)):
        lines = ("row = pid", "for _ in range(n):", "    tle.gpu.copy(tile, desc, [8, 32], [row, 0])", f"    row += {step}")
        assert way(traced(tmp_path, "\n".join(lines)), "tma_store") == expected, step


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


def test_the_interpreter_refuses_what_faults(tmp_path: pathlib.Path) -> None:
    text = said(traced(tmp_path, f"{_FILL}tle.gpu.copy(tile, desc, [8, 32], [(pid + 9) // m, 0])"), -3)
    place, _, rest = text.partition(": ")
    assert place.endswith("k.py:10:5")
    assert (
        rest
        == """\
copy: offset 0 is -3, -192 bytes, and the copy engine stores nothing at negative offsets

  10 |     tle.gpu.copy(tile, desc, [8, 32], [(pid + 9) // m, 0])
     |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  program id (0, 0, 0)
  copy of [8, 32] at [-3, 0] for sm_90a
  help: the compiler takes quotients by a variable for natural numbers"""
    )


@pytest.mark.parametrize(
    ("copy", "m", "target"),
    [
        ("desc, tile, [8, 32], [0, m]", -16, "sm_90a"),
        ("desc, tile, [8, 32], [m, 0]", -3, "sm_90a"),
        ("tile, desc, [8, 32], [0, m]", 40, "sm_90a"),
        ("tile, desc, [8, 32], [m * 8 - 8, m * 8 + 3]", 0, "sm_90a"),  # by stores
        ("desc, tile, [8, 32], [0, m]", 5, "sm_90a"),
        ("tile, desc, [8, 32], [m, 0]", -3, "sm_90a"),
        ("tile, desc, [8, 32], [0, m]", -8, "sm_90a"),
        ("desc, tile, [8, 32], [0, m]", 5, "sm_80"),
        ("tile, desc, [8, 32], [m, m]", -3, "sm_80"),
    ],
)
def test_the_interpreter_takes_the_rest(copy: str, m: int, target: str, tmp_path: pathlib.Path) -> None:
    assert not said(traced(tmp_path, f"{_FILL}tle.gpu.copy({copy})", target), m)

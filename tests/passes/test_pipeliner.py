"""Which loops get rings, of how many stages, and what is waited for."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from kernels.attention import attention
from kernels.matmul import matmul
from kernels.matmul_persistent import matmul_persistent
from tests.golden import nvrtc_compile
from tests.opcases import pipelined
from tle2cuda.analysis import pipelining
from tle2cuda.language import tle
from tle2cuda.runtime import report

SOURCE = pathlib.Path(__file__).read_text("utf-8").splitlines()
MATMUL = "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32:16,1,i32:16,1,i32:16,1,{blocks},8"


def emitted(kernel: Any, signature: str, arch: str = "sm_80", **options: Any) -> str:
    return tle2cuda.emit(kernel, signature, arch=arch, **options).source


def product(blocks: str = "64,64,32", **options: Any) -> str:
    return emitted(matmul, MATMUL.format(blocks=blocks), **options)


def waits(source: str) -> list[int]:
    return [int(n) for n in re.findall(r"^ +cp_async_wait<(\d+)>\(\);", source, re.MULTILINE)]


def main_loop(source: str) -> str:
    """The text of the loop with the wait."""
    at = source.index("cp_async_wait<", source.index('extern "C"'))
    start = source.rindex("\n    for (", 0, at)
    return source[start : source.index("\n    }", at)]


@pytest.mark.parametrize("stages", [2, 3, 4, 5])
@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_120"])
def test_the_products_loop_has_one_wait_and_one_barrier(stages: int, arch: str) -> None:
    source = product(num_stages=stages, arch=arch)
    overlaps = arch == "sm_90a"  # a product in flight beside the next one takes one stage more
    assert waits(source) == [stages - 2] + [0] * overlaps
    loop = main_loop(source)
    assert loop.count("__syncthreads()") == 1 and loop.count("cp_async_commit()") == 1
    assert f"a_tile[{stages + overlaps}][64][32]" in source
    assert "mbarrier" not in source


def test_products_of_warpgroups_overlap() -> None:
    source = product("128,256,64", arch="sm_90a", num_warps=8)
    loop = main_loop(source)
    assert loop.rstrip().endswith("wgmma_wait<1>();")
    assert loop.index("fence_async_proxy()") < loop.index("__syncthreads()") < loop.index("cp_async_commit()")
    assert source[source.index(loop) + len(loop) :].lstrip(" }\n").startswith("wgmma_wait<0>();")
    assert "Descriptor a_tile_first = wgmma_descriptor<128>(shared.a_tile[stage]" in loop


def test_a_warpgroup_fills_what_it_waited_for() -> None:
    """Its wait says that no warp reads the stage of the product before: no barrier, and no stage more."""
    loop = main_loop(product("128,128,64", arch="sm_90a"))
    assert "step % 3;" in loop and "(step + 2) % 3;" in loop and loop.count("__syncthreads()") == 1
    assert loop.index("wgmma_commit();") < loop.index("wgmma_wait<1>();") < loop.index("cp_async_zero_fill")


def test_two_ctas_beside_each_other_are_rather_kept() -> None:
    """A product of two warpgroups that each iteration waits for; meanwhile it copies."""
    source = product("128,128,64", arch="sm_90a", num_warps=8)
    loop = main_loop(source)
    assert "wgmma_wait<1>" not in loop
    # Nothing hides how the stage and pointers are found: one goes from turn to turn, the others stay in registers.
    assert "stage == 0 ? 2 : stage - 1;" in loop and "stage = stage + 1 == 3 ? 0 : stage + 1;" in loop and "% 3" not in loop
    assert source.index("    keep_pointers(a_ptrs);") < source.index(loop)
    assert loop.index("wgmma_commit();") < loop.index("cp_async_zero_fill") < loop.index("wgmma_wait<0>();")


def test_products_that_the_loop_reads_are_waited_for() -> None:
    signature = "*fp16:16,*i8:16,*fp32:16,*fp32:16,i32"
    source = emitted(pipelined.ring_scaled, signature, arch="sm_90a", constants={"STAGES": 3, "SIDE": 64})
    loop = main_loop(source)
    assert loop.count("wgmma_wait<0>();") == 1 and "wgmma_wait<1>" not in source


def test_chained_products_overlap() -> None:
    signature = "*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32,fp32,False,64,128,64"
    source = emitted(attention, signature, arch="sm_90a", num_warps=8)
    loop = source[source.index("for (int start = 64;") :]
    order = ("__syncthreads()", *["wgmma_commit()"] * 2, *["cp_async_commit()"] * 2, "wgmma_wait<1>()", "wgmma_wait<0>()")
    place = 0
    for text in order:
        place = loop.index(text, place) + 1
    assert loop[:place].count("__syncthreads()") == 1


def test_chained_products_overlap_where_that_pays() -> None:
    """With 192 registers of sums and weights: where a thread has 32 scores, not where it has 64."""
    for sizes, overlap in (("256,128,64", True), ("128,128,128", False)):
        signature = f"*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32,fp32,False,{sizes}"
        assert ("wgmma_wait<1>();" in emitted(attention, signature, arch="sm_90a", num_warps=8)) == overlap, sizes


def test_one_stage_loads_where_it_stands() -> None:
    source = product(num_stages=1)
    assert "cp_async" not in source


def test_before_sm_80_there_are_no_copies() -> None:
    source = product(arch="sm_75")
    assert "cp_async" not in source
    (note,) = report._notes(source)
    assert note.endswith(" has no stages: sm_75 has no asynchronous copies")


def test_operands_are_read_where_they_lie() -> None:
    loop = main_loop(product())
    assert "&shared.a_tile[stage]" in loop and "&shared.b_tile[stage]" in loop
    assert "store_vector" not in loop and "load_vector" not in loop


def test_both_products_of_attention_read_the_ring() -> None:
    source = emitted(attention, "*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32,fp32,False,64,128,64", num_warps=4)
    loop = main_loop(source)
    assert loop.count("__syncthreads()") == 1
    assert "&shared.key[stage]" in loop and "&shared.value[stage]" in loop


def test_stages_that_do_not_fit_are_left_out() -> None:
    source = product("128,256,64", num_stages=5, num_warps=8)
    assert waits(source) == [1]
    assert "stages    at most 3 in a pipelined loop: more do not fit into shared memory" in source


def test_a_loop_of_two_iterations_has_two_stages() -> None:
    source = emitted(
        pipelined.ring_rows, "*fp32:16,*fp32:16,*fp32:16,0,2", constants={"COUNT": 512, "STAGES": 4, "STEP": 1}
    )
    assert waits(source) == [0]


def test_a_loop_without_products_asks_itself() -> None:
    signature, constants = "*fp32:16,*fp32:16,*fp32:16,i32,i32", {"COUNT": 512, "STEP": 1}
    assert waits(emitted(pipelined.ring_rows, signature, constants={**constants, "STAGES": 4})) == [2]
    assert not waits(emitted(pipelined.ring_rows, signature, constants={**constants, "STAGES": None}))


@tle2cuda.jit
def in_place(x, n, SIDE: tl.constexpr):
    """What an iteration loads an earlier one may have written."""
    at = x + tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    for step in tl.range(0, n, num_stages=3):
        value = tl.load(at + step * SIDE)
        tl.store(at + (step + 1) * SIDE, tl.dot(value, value).to(tl.float16))


@tle2cuda.jit
def after_a_flag(x, flags, out, n, SIDE: tl.constexpr):
    """What an iteration loads is there only once it has seen a flag."""
    i = tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, n, num_stages=3):
        while tl.load(flags + step, volatile=True) == 0:
            pass
        value = tl.load(x + step * SIDE + i[:, None] * SIDE + i[None, :])
        acc = tl.dot(value, value, acc)
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@tle2cuda.jit
def behind_an_index(x, index, out, n, SIDE: tl.constexpr, IS_FAR: tl.constexpr):
    """Addresses come from what the loop loads, perhaps by addresses that it loads."""
    i = tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, n, num_stages=3):
        row = tl.load(index + step)
        if IS_FAR:
            row = tl.load(index + row)
        value = tl.load(x + row * SIDE + i[:, None] * SIDE + i[None, :])
        acc = tl.dot(value, value, acc)
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        (in_place, "*fp16:16,i32,32"),
        (after_a_flag, "*fp16:16,*i32,*fp32,i32,32"),
    ],
)
def test_loads_that_may_not_go_ahead_stay(kernel: Any, signature: str) -> None:
    assert "cp_async" not in emitted(kernel, signature)


PERSISTENT = (
    "tensordesc<fp16[128,64]>,tensordesc<fp16[64,{n}]>,tensordesc<fp16[128,{n}]>,i32,i32,i32,128,{n},64,8,0,{split}"
)


def persistent(split: bool, n: int = 128, **options: Any) -> str:
    signature = PERSISTENT.format(n=n, split=int(split))
    return emitted(matmul_persistent, signature, **{"arch": "sm_90a", "num_warps": 8, "num_stages": 4, **options})


def test_boxes_of_tensors_come_by_the_copy_engine() -> None:
    source = persistent(False)
    kernel = source[source.index('extern "C"') :]
    assert "cp_async" not in source and "ring_empty" not in source
    loop = kernel[kernel.index("mbarrier_wait(&shared.ring_full[stage]") : kernel.index("wgmma_wait<0>();")]
    assert loop.count("__syncthreads()") == 1
    order = ["wgmma_commit();", "wgmma_wait<1>();", "__syncthreads();", "if (thread == 0) {", "tma_load_2d("]
    places = [loop.index(text) for text in order]
    assert places == sorted(places)


def test_pointers_of_turned_rows_are_made_in_front_of_the_loop() -> None:
    """Rows along K of the right operand: what `cols % N` gives is not computed again with each step."""
    signature = f"*fp8e4nv:16,*fp8e4nv:16,*bf16:16,{'i32:16,' * 4}1,1,i32:16,i32:16,1,128,128,128,8"
    source = emitted(matmul, signature, arch="sm_90a", num_warps=4, num_stages=3)
    loop = source[source.index("for (int step = 0; step < ") : source.index("wgmma_wait<0>();")]
    assert "b_ptrs[run] + b_ptrs_offset_ahead" in loop and "% N" not in loop


def test_no_product_waits_for_the_one_before() -> None:
    """What ptxas says where the compiler touches the sums of products in flight; sizes that are known let it try."""
    signature = "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,128,64"
    source = emitted(pipelined.ring_described, signature, arch="sm_90a", num_warps=8)
    assert source.count("keep_sums(acc);") == 2
    assert not nvrtc_compile(source, "sm_90a").waits_for_products


def test_a_partition_fills_the_ring() -> None:
    source = persistent(True)
    assert "//   warps     multiply on warps 0 to 7, load on warp 8" in source
    kernel = source[source.index('extern "C"') :]
    load, multiply = kernel[: kernel.index("return;")], kernel[kernel.index("return;") :]
    assert "tma_load_2d(" in load and "wgmma_m64" not in load
    assert "tma_load_2d(" not in multiply and "registers_increase<232>();" in multiply


def test_before_sm_90_there_are_no_partitions() -> None:
    assert "load on warp" not in persistent(True, arch="sm_80") and "cp_async_wait<" in persistent(True, arch="sm_80")


def test_an_index_is_loaded_an_iteration_before_its_copies() -> None:
    source = emitted(behind_an_index, "*fp16:16,*i32,*fp32,i32,32,False")
    loop = main_loop(source)
    assert waits(source) == [1] and loop.count("cp_async<") == 1
    assert loop.index("cp_async<") < loop.index("row_ahead * 32") < loop.index("index + step + 3")


def test_an_index_of_an_index_is_loaded_an_iteration_after_that() -> None:
    source = emitted(behind_an_index, "*fp16:16,*i32,*fp32,i32,32,True")
    loop = main_loop(source)
    assert waits(source) == [1] and "index + row_ahead_2" in loop and "index + step + 4" in loop


@tle2cuda.jit
def undivided(x, out, n, SIDE: tl.constexpr, WAY: tl.constexpr):
    """Loops that no partition can fill."""
    i = tl.arange(0, SIDE)
    rows = tl.make_tensor_descriptor(x, [n, SIDE], [SIDE, 1], [SIDE, SIDE])
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    first = 0
    if WAY == "stored":
        tl.store(x + i, i.to(tl.float16))
    for step in tl.range(0, n, SIDE, num_stages=3, warp_specialize=True):
        if WAY == "pointers":
            value = tl.load(x + (step + i[:, None]) * SIDE + i[None, :])
        else:
            value = rows.load([first, 0])
        acc = tl.dot(value, value, acc)
        first = step if WAY in ("boxes", "stored") else first + tl.sum(value.to(tl.int32))
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("pointers", "the copy engine brings none of what it loads"),
        ("sums", "the copy engine brings none of what it loads"),
        ("boxes", ""),
        ("stored", "the kernel may store to what it loads"),
    ],
)
def test_loops_that_stay_undivided_say_so(way: str, reason: str) -> None:
    source = emitted(undivided, "*fp16:16,*fp32:16,i32,64", arch="sm_90a", constants={"WAY": way})
    notes = [note for note in report._notes(source) if "no partition" in note]
    assert len(notes) == bool(reason) and all(note.endswith(reason) for note in notes)
    assert ("load on warp" in source) is not bool(reason)
    assert way != "stored" or "tma_load_2d(" in source, "the engine fills the ring of the loop as it is"


@tle2cuda.jit
def unstaged(x, y, index, out, n, wide, COUNT: tl.constexpr, WAY: tl.constexpr, STEP: tl.constexpr):
    """Loops that ask for stages, each of which lacks something."""
    i = tl.arange(0, COUNT)
    total = tl.zeros((COUNT,), tl.float32)
    place = 0
    for step in tl.range(n if STEP < 0 else 0, 0 if STEP < 0 else n, STEP or wide, num_stages=3):
        value = tl.zeros((COUNT,), tl.float32)
        if WAY == "apart":
            value = tl.load(y + step * COUNT * 3 + i * 3).to(tl.float32)
        elif WAY == "chain":
            value = tl.load(x + tl.load(index + place) * COUNT + i)
            place += tl.load(index + step)
        elif WAY == "sums":
            value = tl.load(x + tl.max(total).to(tl.int32) * COUNT + i)
        elif WAY == "stored":
            value = tl.load(out + COUNT + step * COUNT + i)
        elif WAY == "inner":
            for row in tl.range(step, n, num_stages=2):
                total += tl.load(x + row * COUNT + i)
        elif WAY == "ordered":
            tl.atomic_add(index, 1)
            value = tl.load(x + step * COUNT + i)
        else:
            value = tl.load(x + step * COUNT + i, mask=i < n - step, other=1.0)
        total = total * 0.5 + value
    tl.store(out + i, total)


@pytest.mark.parametrize(
    ("way", "step", "reason"),
    [
        ("plain", 1, ""),
        ("plain", -2, ""),
        ("plain", 0, "has no stages: its counter is no int32, and no int64 that moves by a constant"),
        ("apart", 1, "has no stages for what line {line} loads: it comes in pieces of less than 4 bytes"),
        ("chain", 1, f"has no stages for `value`: {pipelining.SUMMED_UP}"),
        ("sums", 1, f"has no stages for `value`: {pipelining.MORE_THAN_ARITHMETIC}"),
        ("stored", 1, "has no stages for `value`: the kernel may store to it"),
        ("inner", 1, "has no stages: a loop in it has"),
        ("ordered", 1, "has no stages: something in it orders memory, waits, or may do so"),
    ],
)
def test_loops_without_stages_say_so(way: str, step: int, reason: str) -> None:
    signature = "*fp32:16,*i8:16,*i32:16,*fp32:16,i32,i64"
    source = emitted(unstaged, signature, constants={"COUNT": 64, "WAY": way, "STEP": step})
    first = unstaged.fn.__code__.co_firstlineno
    (line,) = {number for number, text in enumerate(SOURCE, 1) if text.endswith("i * 3).to(tl.float32)")}
    place = f"test_pipeliner.py:{first + 6} "
    assert report._notes(source) == ((place + reason.format(line=line),) if reason else ())
    assert bool(waits(source)) == (way in ("plain", "inner") and step != 0)


@tle2cuda.jit
def fed_by_three(a, b, scale, out, n, wide, BLOCK: tl.constexpr):
    """Loads of which one has stages: the others lack something, are no operands, or may not be made."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(n):
        left = tl.load(a + i[:, None] * wide + (k * BLOCK + i)[None, :])
        right = tl.load(b + i[:, None] * 3 + (k * BLOCK + i)[None, :] * wide)
        factor = tl.load(scale + k * BLOCK + i)
        total += tl.dot(left, right) * factor[None, :]
        if k % 2 == 0:
            square = tl.load(a + i[:, None] * BLOCK + i[None, :] + k)
            total += tl.dot(square, square)
    tl.store(out + i[:, None] * BLOCK + i[None, :], total)


@pytest.mark.parametrize(
    ("stages", "others"),
    [
        (1, None),
        (3, ()),  # what every kernel has
        (2, (f"has no stages for `factor`: {pipelining.FEEDS_NO_PRODUCT}",)),
    ],
)
def test_loads_that_the_launch_option_leaves_without_stages_are_told(stages: int, others: tuple[str, ...] | None) -> None:
    source = emitted(fed_by_three, "*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32,i32:16,64", num_stages=stages)
    place = f"test_pipeliner.py:{fed_by_three.fn.__code__.co_firstlineno + 5} "
    told = (
        "has no stages for `right`: it comes in pieces of less than 4 bytes",
        *(others or ()),
        "has no stages for `square`: it stands in a branch or a loop",
    )
    assert report._notes(source) == (() if others is None else tuple(place + text for text in told))


def test_a_loop_none_of_whose_stages_fits_says_so() -> None:
    source = product("128,128,128", arch="sm_86", num_warps=8)
    (note,) = report._notes(source)
    assert note.endswith(" has no stages: not even two fit into shared memory")


@tle2cuda.jit
def own_ring(x, out, n, COUNT: tl.constexpr, EARLY: tl.constexpr):
    """A pipe of the user's with both ends in one task."""
    i = tl.arange(0, COUNT)
    ring = tle.gpu.alloc([3, COUNT], dtype=tl.float32)
    pipe = tle.pipe(capacity=3, scope="cta", x=ring)
    writer, reader = pipe.writer(), pipe.reader()
    total = tl.zeros((COUNT,), tl.float32)
    for k in tl.static_range(EARLY):
        slot = writer.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.x), tl.load(x + k * COUNT + i))
        writer.commit(k)
    for k in range(n):
        slot = writer.acquire(k + EARLY)
        tl.store(tle.gpu.local_ptr(slot.x), tl.load(x + (k + EARLY) * COUNT + i))
        writer.commit(k + EARLY)
        total += tl.load(tle.gpu.local_ptr(reader.wait(k).slot.x))
        reader.release(k)
    tl.store(out + i, total)


@pytest.mark.parametrize("early", [1, 2])
def test_a_pipe_within_one_task_goes_by_groups(early: int) -> None:
    source = emitted(own_ring, "*fp32:16,*fp32:16,i32,512", constants={"EARLY": early})
    assert waits(source) == [early] and "mbarrier" not in source

"""Planted faults in a product on tensor cores: barriers around its operands, places of fragments, turned matrices."""

from __future__ import annotations

from collections.abc import Iterator

SYNC = "__syncthreads();  // orders the accesses to the scratch `a_tile` and the scratch `b_tile` before it and after it"
WRITE_A = "shared.a_tile[((thread / 64 * 8) ^ thread ^ (run % 2 * 16)) + 128 * run] = a[run];"
READ_A = "ldmatrix_x4(a_part, &shared.a_tile["
READ_B = "ldmatrix_x4_trans(b_part[column], &shared.b_tile["
ROWS_OF_A = "thread % 16 * 32 + ((2 * step) ^ (thread / 2 % 4)"
FRAGMENT = "&b_part[column / 2][column % 2 * 2]"
MULTIPLY = "mma_m16n8k16_f32_f16(&acc[2 * column], a_part,"

Replacement = tuple[str, str] | tuple[str, str, int, int]


def _change(name: str, *replacements: Replacement, equivalent: str = "") -> tuple[str, tuple[Replacement, ...], str]:
    return name, replacements, equivalent


def product() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of a loop that stages two operands and multiplies them."""
    yield _change("barrier in front of the operands' writes removed", (SYNC, "", 1, 2))
    yield _change("barrier between the operands' writes and ldmatrix removed", (SYNC, "", 2, 2))
    yield _change("barrier in front of ldmatrix weakened to a warp", (SYNC, "__syncwarp();", 2, 2))
    yield _change(".trans dropped", (READ_B, READ_B.replace("_trans", "")))
    yield _change(".trans of the left operand", (READ_A, READ_A.replace("x4(", "x4_trans(")))
    yield _change("fragment of the neighbouring columns", (FRAGMENT, FRAGMENT.replace("column % 2", "(column + 1) % 2")))
    yield _change("one fragment for all columns", (FRAGMENT, "&b_part[0][0]"))
    yield _change("sums of the neighbouring columns", (MULTIPLY, MULTIPLY.replace("2 * column", "2 * (column ^ 1)")))
    yield _change("swizzle of the writes left out", (WRITE_A, WRITE_A.replace(" ^ (run % 2 * 16)", "")))
    yield _change(
        "swizzle of the reads by another row", (ROWS_OF_A, ROWS_OF_A.replace("thread / 2 % 4", "(thread + 2) / 2 % 4"))
    )
    yield _change("upper rows read twice", (ROWS_OF_A, ROWS_OF_A.replace("thread % 16", "thread % 8")))
    yield _change("step along K left out", ("1024 * step + ", ""))
    yield _change("columns of the other warps", ("(thread / 32 % 2 * 4) ^ (thread % 8)", "(thread % 8)"))
    yield _change("half of a warp multiplies", (MULTIPLY, f"if (thread % 32 < 16) {MULTIPLY}"))
    yield _change("half of a warp loads", (READ_A, f"if (thread % 32 < 16) {READ_A}"))


FENCE = (
    "fence_async_proxy();  // shows what was written to the scratch `a_tile` and the scratch `b_tile` to the tensor cores"
)
A_FIRST = "wgmma_descriptor<64>(shared.a_tile, 16, 512)"
B_FIRST = "wgmma_descriptor<128>(shared.b_tile, 4096, 1024)"
CALL = "wgmma_m64n64k16_f32_f16_b_along_n(acc, a_first + 2 * step, b_first + 128 * step, true);"
WRITE_B = "shared.b_tile[((thread / 64 * 8) ^ thread ^ (run % 4 * 16)) + 128 * run] = b[run];"


def warpgroup_product() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of a loop that stages two operands for wgmma."""
    yield _change("barrier between the writes and wgmma removed", (SYNC, ""))
    yield _change("proxy fence between the writes and wgmma removed", (FENCE, ""))
    yield _change(
        "proxy fence behind the barrier",
        (FENCE, ""),
        (SYNC, "__syncthreads(); fence_async_proxy();"),
        equivalent="every thread makes it, behind a barrier behind all writes, and in front of its own product",
    )
    yield _change("wgmma.fence removed", ("wgmma_fence();", ""))
    yield _change("commit of the product removed", ("wgmma_commit();", ""))
    yield _change("wait for the product removed", ("wgmma_wait<0>();", ""))
    yield _change("one group of products too many in flight", ("wgmma_wait<0>();", "wgmma_wait<1>();"))
    yield _change("rows of the left operand too close", (A_FIRST, A_FIRST.replace("512", "256")))
    yield _change("wrong swizzle in a descriptor", (B_FIRST, B_FIRST.replace("<128>", "<64>")))
    yield _change("rows of the right operand too far apart", (B_FIRST, B_FIRST.replace("1024", "2048")))
    yield _change("step along K too short", (CALL, CALL.replace("2 * step", "step")))
    yield _change("step along K of the right operand too long", (CALL, CALL.replace("128 * step", "256 * step")))
    yield _change("sums overwritten in the second step", (CALL, CALL.replace("true", "step == 0")))
    yield _change("sums overwritten", (CALL, CALL.replace("true", "step > 0")))
    yield _change("writes for wgmma without swizzle", (WRITE_B, WRITE_B.replace(" ^ (run % 4 * 16)", "")))
    yield _change("three warps multiply", (CALL, f"if (thread < 96) {CALL}"))


def warpgroups() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of two warpgroups that share an operand."""
    yield _change("barrier in front of the writes for two warpgroups removed", (SYNC, "", 1, 2))
    yield _change("rows of the other warpgroup", ("4096 * warpgroup", "4096 * (1 - warpgroup)"))
    yield _change("warpgroup of the warp", ("threadIdx.x / 128, 0)", "threadIdx.x / 32, 0)"))


def ring_of_products() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of a ring whose products are in flight when the next stage is filled."""
    yield _change("wait in front of the refill removed", ("wgmma_wait<1>();", ""))
    yield _change("wait in front of the refill one product too late", ("wgmma_wait<1>();", "wgmma_wait<3>();"))


STEP = "a_first + 2 * step, b_first + 128 * step, start != 0 || step > 0);"
TENSOR_SYNC = SYNC.replace(" and the scratch `b_tile`", ", the scratch `b_tile` and `acc_done`")
ELECT = "if (thread == 0) {\n            const Descriptor"
LAST = "__syncthreads();  // nobody reads tensor memory any more"
RELOAD = (
    "__syncthreads();  // orders the accesses to the scratch `weight_tile` and the sums `product` in tensor memory "
    "before it and after it"
)
COMMIT = "tcgen05_commit(&shared.acc_done);"
WAIT = "mbarrier_wait(&shared.acc_done, acc_done_phase);"
DEALLOC = "if (thread < 32) tcgen05_dealloc<64>(tensor_memory);"
INTO = "tcgen05_m64n64k16_f32_f16_b_along_n(tensor_memory, "
LEFT = "tcgen05_descriptor<64>(shared.a_tile, 16, 512)"
RIGHT = "tcgen05_descriptor<128>(shared.b_tile, 4096, 1024)"
LOAD = "tcgen05_ld_16x256b_x8_f32(&acc[0][0], acc_address);"
AFTER, BEFORE = "        tcgen05_fence_after_sync();", "        tcgen05_fence_before_sync();"


def product_in_tensor_memory() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of a loop whose sums stay in tensor memory."""
    yield _change("barrier in front of tcgen05.mma removed", (TENSOR_SYNC, ""))
    yield _change("proxy fence in front of tcgen05.mma removed", (FENCE, ""))
    yield _change("fence behind the barrier in front of tcgen05.mma removed", (AFTER, "", 1, 2))
    yield _change("commit to the mbarrier removed", (COMMIT, ""))
    yield _change("wait for the commit removed", (WAIT, ""))
    yield _change("fence in front of the loads removed", (AFTER, "", 2, 2))
    yield _change("wait for the loads removed", ("tcgen05_wait_ld();", ""))
    yield _change("sums of earlier iterations overwritten", (STEP, STEP.replace("start != 0 || ", "")))
    yield _change("first product adds to what lay there", (STEP, STEP.replace("start != 0 || step > 0", "true")))
    yield _change("step along K of the left operand too short", (STEP, STEP.replace("2 * step", "step")))
    yield _change("rows of an operand too far apart", (LEFT, LEFT.replace("512", "1024")))
    yield _change("other swizzle in a descriptor", (RIGHT, RIGHT.replace("<128>", "<64>")))
    yield _change("sums behind the columns that are allocated", (INTO, INTO.replace("memory", "memory + 32")))
    yield _change("loads from the lanes of another warp", ("(thread / 32 % 4 << 21)", "((thread / 32 + 1) % 4 << 21)"))
    yield _change("columns not given back", (DEALLOC, ""))
    yield _change(
        "barrier in front of giving columns back removed",
        (LAST, ""),
        equivalent="a barrier in the exchange of the tile stands behind all loads",
    )
    yield _change("every thread of a warp starts the product", (ELECT, ELECT.replace("== 0", "< 32")))


def chained_in_tensor_memory() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of products that overwrite columns which others have loaded."""
    yield _change("fence behind the loads of columns that are written next removed", (BEFORE, "", 1, 2))
    weights = (
        "orders the accesses to the scratch `weight_tile` and the sums `product` in tensor memory before it and after it"
    )
    yield _change(
        "barrier between loads of columns and their next product removed", (f"__syncthreads();  // {weights}", "")
    )
    yield _change("columns given back while others load them", (LAST, ""))


BEFORE_THIS = (
    "mbarrier_wait(&shared.acc_done[(acc_done_turn - 1) % 2], (acc_done_turn - 1) / 2 % 2);  // for the product before"
)
LAST_PRODUCT = BEFORE_THIS.replace("product before", "last product")


def ring_in_tensor_memory() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of a ring whose products are waited for in the next iteration."""
    yield _change("wait for the product before removed", (BEFORE_THIS, "//"))
    yield _change("wait for the product before one product too late", (BEFORE_THIS, BEFORE_THIS.replace("- 1", "- 2")))
    yield _change("wait for the last product removed", (LAST_PRODUCT, "//"))
    yield _change("one barrier for all products", ("acc_done[acc_done_turn % 2]", "acc_done[0]"))


LEFT_SCALE, RIGHT_SCALE = "scale_word(&xs_2[0]) >> 8 * step", "scale_word(&ys_4[0]) >> 8 * step"


def scaled_product() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of scales in registers."""
    yield _change("left scales of the other step", (LEFT_SCALE, LEFT_SCALE.replace("step", "(1 - step)")))
    yield _change("right scales of the first step", (RIGHT_SCALE, RIGHT_SCALE.removesuffix(" >> 8 * step")))
    yield _change("scales of the other operand", (f"{LEFT_SCALE}, {RIGHT_SCALE}", f"{RIGHT_SCALE}, {LEFT_SCALE}"))
    yield _change(
        "left scales from rows of other lanes", ("thread % 2 * 8 + thread / 4 % 8;", "thread / 2 % 2 * 8 + thread / 4 % 8;")
    )


FENCE_OF_SCALES = (
    "fence_async_proxy();  // shows what was written to the scratch `x_tile`, the scratch `y_tile`, the scratch `xs_tile` "
    "and the scratch `ys_tile` to the tensor cores"
)
LEFT_COPY = "tcgen05_copy_scales(tensor_memory + 32 + 4 * part, shared.xs_tile + 512 * part);"
SCALES = "tensor_memory + 32 + 4 * step, tensor_memory + 40 + 4 * step"


def scales_in_tensor_memory() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of scales that are copied to tensor memory."""
    yield _change("copy of the left scales removed", (LEFT_COPY, ";"))
    yield _change("half of the left scales copied", ("part < 2;", "part < 1;"))
    yield _change("left scales in the columns of the right ones", (LEFT_COPY, LEFT_COPY.replace("+ 32", "+ 40")))
    yield _change("columns of scales swapped", (SCALES, SCALES.replace("32", "?").replace("40", "32").replace("?", "40")))
    yield _change("scales of the first step for all", (SCALES, SCALES.replace(" + 4 * step", "")))
    yield _change("scales of rows in another order", ("= ys_2[run", "= ys_2[(run + 1)"))
    yield _change("proxy fence behind the scales removed", (FENCE_OF_SCALES, ""))


def scales_by_number() -> Iterator[tuple[str, tuple[Replacement, ...], str]]:
    """Faults of four scales in a column, of which the instruction is told one."""
    yield _change("scale of the next step", (", step % 4, step > 0)", ", (step + 1) % 4, step > 0)"))
    yield _change("first scale of a column for all steps", (", step % 4, step > 0)", ", 0, step > 0)"))


PRODUCT_CHANGES = {
    "op_dot_matmul_f16_70x90x75": product,
    "op_dot_wgmma_matmul_float16_70x90x75": warpgroup_product,
    "op_dot_wgmma_matmul_bfloat16_130x33x129": warpgroups,
    "op_wgmma_ring_7_3": ring_of_products,
    "op_dot_wgmma_matmul_float16_70x90x75@sm_100a": product_in_tensor_memory,
    "op_dot_wgmma_attention_100x32@sm_100a": chained_in_tensor_memory,
    "op_ring_product_160_5_float16_turned_128x16x32@sm_100a": ring_in_tensor_memory,
    "op_dot_scaled_mixed@sm_120a": scaled_product,
    "op_dot_scaled_wide_nvfp4@sm_100a": scales_in_tensor_memory,
    "op_dot_scaled_wide_mxfp8@sm_100a": scales_by_number,
}

"""Planted faults in emitted tensor copies: wrong bytes and phases, missing fences and waits, swapped coordinates."""

from __future__ import annotations

from collections.abc import Iterator

from tests.emulator.async_mutants import Change

INIT_FENCE = "        fence_mbarrier_init();\n    }"
SET_UP = "__syncthreads();  // all threads see the barriers set up"
WAIT = "mbarrier_wait(&shared.line_landed, line_landed_phase);"
FLIP = "line_landed_phase ^= 1;"
FENCE = "fence_async_proxy();  // shows what was written to `line` to the copy engine"
BARRIER = "__syncthreads();  // orders the accesses to `line` and the scratch `exchange` before it and after it"
READ_IN_LOOP = "if (thread == 0) tma_store_wait_read();  // the copy engine has read `line`"
READ_AT_END = "if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `line`"
STORE = "tma_store_1d(&out_map, shared.line, start);"
REFILL_FENCE = "fence_async_proxy();  // the loads of `ring` come before what the copy engine writes"
REFILL_BARRIER = "__syncthreads();  // orders the loads of `ring` before the stores to it"
REFILL = "tma_load_2d(shared.ring[stage], &x_map, &shared.landed[stage], 0, row + 3);"
STAGE_WAIT = "mbarrier_wait(&shared.landed[stage], (row / 3) & 1);"
XOR = "return column ^ line % (SPAN_BYTES / 16) * (16 / ELEMENT_BYTES);"
PANEL = "&shared.tile_landed, j + panel * 32, i);"


def _change(name: str, *replacements: tuple[str, str], equivalent: str = "") -> Change:
    return name, replacements, equivalent


def lines() -> Iterator[Change]:
    """Faults of a buffer that is filled, changed and stored again and again."""
    yield _change("wait for the copy removed", (WAIT, ""))
    yield _change("wait for the copy by its issuer alone", (WAIT, f"if (thread == 0) {WAIT}"))
    yield _change("phase not counted", (FLIP, ""))
    yield _change("phase starts behind", ("unsigned line_landed_phase = 0;", "unsigned line_landed_phase = 1;"))
    yield _change("too few bytes expected", ("&shared.line_landed, 1024", "&shared.line_landed, 512"))
    yield _change("too many bytes expected", ("&shared.line_landed, 1024", "&shared.line_landed, 2048"))
    yield _change("count of the barrier too large", ("&shared.line_landed, 1);", "&shared.line_landed, 2);"))
    yield _change(
        "every thread issues the copy",
        ("if (thread == 0) {\n            mbarrier_expect", "if (true) {\n            mbarrier_expect"),
    )
    yield _change("fence behind the initialisation removed", (INIT_FENCE, INIT_FENCE.replace("fence_mbarrier_init();", "")))
    yield _change("barrier behind the initialisation removed", (SET_UP, ""))
    yield _change("proxy fence in front of the store removed", (FENCE, ""))
    yield _change(
        "proxy fence in the thread that stores",
        (FENCE, ""),
        (STORE, f"fence_async_proxy(); {STORE}"),
        equivalent="behind the barrier that all meet at, the storing thread's fence is on the way from every write",
    )
    yield _change("proxy fence in one warp", (FENCE, f"if (thread < 32) {FENCE}"))
    yield _change("barrier in front of the store removed", (BARRIER, ""))
    yield _change("wait for the store's reads removed", (READ_IN_LOOP, ""))
    yield _change("last wait for the store's reads removed", (READ_AT_END, ""))
    yield _change("wait for the store's reads in another thread", (READ_AT_END, READ_AT_END.replace("== 0", "== 1")))
    yield _change("commit removed", ("tma_store_commit();\n        }", "\n        }"))
    yield _change("box stored one element further", (STORE, STORE.replace("start)", "start + 1)")))


def ring() -> Iterator[Change]:
    """Faults of loads that are in flight ahead."""
    yield _change("proxy fence behind the reads removed", (REFILL_FENCE, ""))
    yield _change("proxy fence behind the reads in the issuer alone", (REFILL_FENCE, f"if (thread == 0) {REFILL_FENCE}"))
    yield _change("barrier behind the reads removed", (REFILL_BARRIER, ""))
    yield _change("refill of the stage behind", (REFILL, REFILL.replace("ring[stage]", "ring[(stage + 1) % 3]")))
    yield _change("refill on another barrier", (REFILL, REFILL.replace("landed[stage]", "landed[(stage + 1) % 3]")))
    yield _change("coordinates swapped", (REFILL, REFILL.replace("0, row + 3", "row + 3, 0")))
    yield _change("wait removed", (STAGE_WAIT, ""))
    yield _change("phase swapped", (STAGE_WAIT, STAGE_WAIT.replace("(row / 3)", "(row / 3 + 1)")))
    yield _change("phase one lap behind", (STAGE_WAIT, STAGE_WAIT.replace("(row / 3) & 1", "((row - 1) / 3) & 1")))


def turn() -> Iterator[Change]:
    """Faults of swizzled panels."""
    yield _change("swizzle left out", (XOR, "return column;"))
    yield _change("swizzle of another row", (XOR, XOR.replace("line %", "(line + 1) %")))
    yield _change("panels from one place", (PANEL, PANEL.replace("j + panel * 32", "j")))
    yield _change("coordinates of the box swapped", (PANEL, PANEL.replace("j + panel * 32, i", "i, j + panel * 32")))
    yield _change("bytes of one panel expected", ("&shared.tile_landed, 16384", "&shared.tile_landed, 8192"))
    yield _change("one panel", ("panel < 2;", "panel < 1;"))


def segments() -> Iterator[Change]:
    """Faults of maps that the kernel makes."""
    yield _change("fence behind the changes of a map removed", ("fence_tensor_map(x_map);", ""))
    yield _change("map of the other tensor", ("tma_load_2d(shared.tile, x_map", "tma_load_2d(shared.tile, out_map"))
    yield _change("one map for all CTAs", (" + blockIdx.x) * 2;", ") * 2;"))
    yield _change("form without its base", ("change_tensor_map_base(out_map, out + first * N);", ""))
    yield _change("empty tensors not told apart", ("x_exists ? row : 2147418112;", "row;"))


def bulk_stores() -> Iterator[Change]:
    """Faults of rows that are stored in bulk."""
    store = "bulk_store(out + row * 256 + row_2 * 256ll, shared.tile[row_2], 512);"
    fence = "fence_async_proxy();  // shows what was written to `tile` to the copy engine"
    read = "if (thread == 0) tma_store_wait_read();  // the copy engine has read `tile`"
    yield _change("half of a row stored", (store, store.replace("512", "256")))
    yield _change("row from an address that is not aligned", (store, store.replace("row_2 * 256ll", "row_2 * 256ll + 4")))
    yield _change("proxy fence in front of the store removed", (fence, ""))
    yield _change("wait for the store's reads removed", (read, ""))
    yield _change("commit removed", ("tma_store_commit();\n        }", "\n        }"))


def maps_of_groups() -> Iterator[Change]:
    """Faults of maps that are made again and again, by the task that loads and by the task that stores."""
    landed = "mbarrier_wait(&shared.tiles_full[landed], ~tiles_fills >> landed & 1);"
    stored = "tma_store_wait_read();  // nothing is stored by the map before this one any more"
    yield _change("fence behind the changes of a map removed", ("fence_tensor_map(x_map);", ""))
    yield _change("wait for what the map before described removed", (landed, ";"))
    yield _change("wait for one stage of three", ("landed < 3;", "landed < 1;"))
    yield _change("wait for the phase behind", (landed, landed.replace("~tiles", "tiles")))
    yield _change("publishing not counted", ("tiles_fills ^= 1u << stage;", ""))
    yield _change("wait for the stores by the map before removed", (stored, ""), ("if (thread == 0) tma_store_wait();", ""))
    yield _change("map without its base", ("change_tensor_map_base(x_map, x + firsts_value);", ""))
    yield _change("one map for both tasks", ("blockIdx.x) * 2 + 1;", "blockIdx.x) * 2;"))


def maps_of_stages() -> Iterator[Change]:
    """Faults of maps of which each stage of a pipe has one."""
    yield _change("one map for all stages", (" * 3 + 1 + stage;", " * 3 + 1;"))
    yield _change(
        "map of another stage",
        ("1 + stage;", "1 + (stage + 1) % 2;"),
        (
            "tma_load_2d(shared.ring[stage], x_map",
            "tma_load_2d(shared.ring[stage], device_maps + blockIdx.x * 3 + 1 + stage",
        ),
    )
    yield _change(
        "fence in front of the changes",
        ("fence_tensor_map(x_map);", ""),
        ("*x_map = x_form;", "*x_map = x_form; fence_tensor_map(x_map);"),
    )
    yield _change(
        "extents of the map before",
        (
            "change_tensor_map_extent<1>(x_map, max(end, 1));",
            "if (row == 0) change_tensor_map_extent<1>(x_map, max(end, 1));",
        ),
    )


def shared_by_two() -> Iterator[Change]:
    """Faults of copies that two CTAs of a cluster share."""
    free = "if (thread % 32 < 2) mbarrier_free(&shared.tiles_empty[stage], thread % 32);"
    start = "cluster_sync();  // all CTAs of the cluster have set up their barriers"
    end = "cluster_sync();  // no CTA may exit while others fill its stages or arrive at its barriers"
    fence = "fence_async_proxy();  // the loads of `xs` and `biases` come before what the copy engine writes"
    yield _change("stage released in the own CTA alone", (free, free.replace("< 2", "< 1")))
    yield _change(
        "stage released in the own CTA twice", (free, free.replace("[stage], thread % 32", "[stage], cluster_rank()"))
    )
    yield _change(
        "count of the empty barrier for one CTA", ("&shared.tiles_empty[stage], 8", "&shared.tiles_empty[stage], 4")
    )
    yield _change("copy to the own CTA alone", ("0x3, col", "1 << rank_2, col"))
    yield _change("both bring the same part", ("0x3, col, rank_2 * 4", "0x3, col, 0"))
    yield _change("both fill the same part", ("shared.biases[stage][rank_2 * 4]", "shared.biases[stage][0]"))
    yield _change("bytes of the own part expected", ("&shared.tiles_full[stage], 2048", "&shared.tiles_full[stage], 1536"))
    yield _change("meeting at the start of the CTA alone", (start, "__syncthreads();"))
    yield _change("meeting at the end removed", (end, ""))
    yield _change("release before the lanes have met", ("__syncwarp();", ""))
    yield _change("proxy fence behind the reads removed", (fence, ""))
    yield _change(
        "wait for the stage of this CTA's scope",
        ("mbarrier_wait_cluster(&shared.tiles_empty", "mbarrier_wait(&shared.tiles_empty"),
    )


def twice() -> Iterator[Change]:
    """Faults of two stores over each other."""
    wait = "if (thread == 0) tma_store_wait();  // the copy engine has written `out`"
    yield _change("wait for the store's writes removed", (wait, ""))
    yield _change(
        "wait for the store's reads in its place", (wait, wait.replace("tma_store_wait()", "tma_store_wait_read()"))
    )
    yield _change("wait for the store's writes in another thread", (wait, wait.replace("== 0", "== 1")))


def mixed() -> Iterator[Change]:
    """Faults where the copy engine and ordinary accesses meet in global memory."""
    fence = "fence_async_proxy_global();  // shows what was written to `x` and `y` to the copy engine"
    wait = "if (thread == 0) tma_store_wait();  // the copy engine has written `y`"
    yield _change("proxy fence for global memory removed", (fence, ""))
    yield _change("proxy fence for global memory in one warp", (fence, f"if (thread < 32) {fence}"))
    yield _change("wait for the store's writes removed", (wait, ""))


def ring_of_stores() -> Iterator[Change]:
    """Faults of stores that are in flight."""
    wait = "if (thread == 0) tma_store_wait_read<3>();  // the copy engine has read `ring`"
    yield _change("wait for the store's reads removed", (wait, ""))
    yield _change("one store too many in flight", (wait, wait.replace("<3>", "<4>")))
    yield _change("commit removed", ("tma_store_commit();\n        }", "\n        }"))


def bulk() -> Iterator[Change]:
    """Faults of copies in bulk."""
    copy = "bulk_load(shared.data[stage], x + first + k_ * stride, 1024, &shared.rows_full[stage]);"
    yield _change("half of the bytes copied", (copy, copy.replace("1024", "512")))
    yield _change("half of the bytes expected", ("&shared.rows_full[stage], 1024", "&shared.rows_full[stage], 512"))
    yield _change("copy to the stage behind", (copy, copy.replace("data[stage]", "data[(stage + 1) % 3]")))
    yield _change("copy from an address that is not aligned", (copy, copy.replace("first +", "first + 1 +")))
    yield _change("copy of the row before", (copy, copy.replace("k_ * stride", "(k_ ? k_ - 1 : 0) * stride")))
    yield _change(
        "proxy fence behind the reads removed",
        ("fence_async_proxy();  // the loads of `data` come before what the copy engine writes", ""),
    )


TENSOR_CHANGES = {
    "op_bulk_ring_f16": bulk,
    "op_order_twice_5": twice,
    "op_order_mixed": mixed,
    "op_order_ring_4_41": ring_of_stores,
    "op_bulk_stores_rows_bf16": bulk_stores,
    "op_made_maps_pipe": maps_of_groups,
    "op_made_maps_stages": maps_of_stages,
    "op_multicast_rows_3": shared_by_two,
    "op_tensor_segments": segments,
    "op_tensor_lines_2500": lines,
    "op_tensor_ring_3_10": ring,
    "op_tensor_turn_f32": turn,
}

"""Planted faults in emitted pipes and partitions: waits, releases, phases, counts, and barriers of the wrong threads."""

from __future__ import annotations

from collections.abc import Iterator

from tests.emulator.async_mutants import Change, _change, _swap

FULL_WAIT = "mbarrier_wait(&shared.x_full[stage], lap & 1);"
EMPTY_WAIT = "mbarrier_wait(&shared.x_empty[stage], (lap + 1) & 1);"
COMMIT = "mbarrier_arrive(&shared.x_full[stage]);"
RELEASE = "mbarrier_arrive(&shared.x_empty[stage]);"
FULL_INIT, EMPTY_INIT = "mbarrier_init(&shared.x_full[stage], 128);", "mbarrier_init(&shared.x_empty[stage], 128);"
SET_UP = "__syncthreads();  // all threads see the barriers set up"


def ring() -> Iterator[Change]:
    """A ring filled by ordinary stores."""
    store = "shared.data[stage]"
    yield _change("wait for a full stage removed", (FULL_WAIT, ""))
    yield _change("wait for an empty stage removed", (EMPTY_WAIT, ""))
    yield _swap("phase of the full stage swapped", FULL_WAIT, "lap & 1", "(lap + 1) & 1")
    yield _swap("phase of the empty stage swapped", EMPTY_WAIT, "(lap + 1) & 1", "lap & 1")
    yield _swap("full stage of the other barrier", FULL_WAIT, "x_full[stage]", "x_full[stage ^ 1]")
    yield _change("commit in front of the stores", (COMMIT, ""), (EMPTY_WAIT, f"{EMPTY_WAIT} {COMMIT}"))
    yield _change("commit removed", (COMMIT, ""))
    yield _change("release in front of the reads", (RELEASE, ""), (FULL_WAIT, f"{FULL_WAIT} {RELEASE}"))
    yield _change("release removed", (RELEASE, ""))
    yield _swap("release of the first stage", RELEASE, "[stage]", "[0]")
    yield _swap("full barrier counts one warp", FULL_INIT, "128", "32")
    yield _swap("full barrier counts a warp too many", FULL_INIT, "128", "160")
    yield _swap("empty barrier counts one warp", EMPTY_INIT, "128", "32")
    yield _change("release by one lane of a warp", (RELEASE, f"if (thread % 32 == 0) {RELEASE}"))
    yield _change(
        "release by one lane for its warp, which it does not meet",
        (EMPTY_INIT, EMPTY_INIT.replace("128", "4")),
        (RELEASE, f"if (thread % 32 == 0) {RELEASE}"),
    )
    yield _change("commit by the first warp", (COMMIT, f"if (thread < 32) {COMMIT}"))
    yield _change("barrier behind the initialisation removed", (SET_UP, ""))
    yield _change("a stage too far", (f"{store}[255 - index", "shared.data[stage ^ 1][255 - index"))


def row_sums() -> Iterator[Change]:
    """A ring filled by cp.async, summed by a partition."""
    full, empty = (text.replace("x_", "rows_") for text in (FULL_WAIT, EMPTY_WAIT))
    commit = "cp_async_mbarrier_arrive_noinc(&shared.rows_full[stage]);"
    release = RELEASE.replace("x_", "rows_")
    between = "take_sums_barrier();"
    yield _change("commit without waiting for the copies", (commit, "mbarrier_arrive(&shared.rows_full[stage]);"))
    yield _change("commit by the first warp", (commit, f"if (thread < 32) {commit}"))
    yield _change("commit in front of the copies", (commit, ""), (empty, f"{empty} {commit}"))
    yield _change("wait for an empty stage removed", (empty, ""))
    yield _change("wait for a full stage removed", (full, ""))
    yield _change("release in front of the reads", (release, ""), (full, f"{full} {release}"))
    yield _change("full barrier counts warps", ("rows_full[stage], 128", "rows_full[stage], 4"))
    yield _change("partition's barrier made CTA-wide", (between, "__syncthreads();"))
    yield _change("partition's barrier for one warp", (between, "__syncwarp();"))
    yield _change(
        "partition's barrier counts the whole CTA", ("{ named_barrier_sync(1, 128); }", "{ named_barrier_sync(1, 256); }")
    )
    yield _change("copies beyond the end of the row", ("i < columns ? 16 : 0", "16"))


def collectives() -> Iterator[Change]:
    """Four partitions with collectives, values in and out."""
    yield _change(
        "two partitions at one hardware barrier", ("{ named_barrier_sync(3, 64); }", "{ named_barrier_sync(2, 64); }")
    )
    yield _change("workers start early", ("all_warps_barrier();  // what", "// what"))
    yield _change(
        "default warps do not wait for the workers' end",
        ("    all_warps_barrier();  // all partitions are done\n\n", "\n\n"),
    )
    yield _change(
        "threads of a worker counted from the CTA's",
        ("const int thread = threadIdx.x - 256;", "const int thread = threadIdx.x;"),
    )
    yield _change(
        "default warps meet the whole CTA",
        ("default_warps_barrier();  // the whole tile", "__syncthreads();  // the whole tile"),
    )


def phases() -> Iterator[Change]:
    """Explicit mbarriers, two readers that arrive twice each."""
    wait, free = "mbarrier_wait(&shared.free[k_ % 2], (k_ / 2 + 1) & 1);", "mbarrier_init(&shared.free[stage], 512);"
    store, arrive = "shared.ring[k_ % 2][thread] = x_value + k_;", "mbarrier_arrive(&shared.full[k_ % 2]);"
    yield _swap("barriers that are ready taken for pending", wait, "(k_ / 2 + 1) & 1", "(k_ / 2) & 1")
    yield _swap("count of one reader", free, "512", "256")
    yield _change("arrival in front of the stores", (arrive, ""), (store, f"{arrive} {store}"))
    alone = "if (thread == 0) mbarrier_arrive_count(&shared.full[k_ % 2], 128);"
    yield _change("arrival of one thread for the others", (arrive, alone))
    yield _change("wait for one phase only", (wait, "if (k_ < 2) " + wait))


def names() -> Iterator[Change]:
    """Hardware barriers between two partitions."""
    yield _change("hand-over that waits for nobody", ("meeting_barrier_sync(1, 256);", ""))
    yield _change(
        "hand-over at the barrier of the way back", ("named_barrier_arrive(1, 256);", "named_barrier_arrive(2, 256);")
    )
    yield _change(
        "hand-over in front of the reads",
        ("named_barrier_arrive(2, 256);", ""),
        ("meeting_barrier_sync(1, 256);", "meeting_barrier_sync(1, 256); named_barrier_arrive(2, 256);"),
    )


def unread() -> Iterator[Change]:
    """Stages that nobody waits for, which their writer does at its end."""
    wait = "mbarrier_wait(&shared.x_full[stage], ~x_filled >> stage & 1);"
    yield _change("wait for what nobody waited for removed", (wait, "(void)x_filled;"))
    yield _swap("wait for the phase before", wait, "~x_filled", "x_filled")
    yield _change("fills not counted", ("x_filled ^= 1u << stage;", ""))
    yield _swap(
        "wait for the first two stages", f"for (int stage = 0; stage < 3; ++stage) {wait}", "stage < 3", "stage < 2"
    )


def told() -> Iterator[Change]:
    """Partitions in a loop and a branch that data decide: workers are told how to go on, and handed what they need."""
    know, tell = "all_warps_barrier();  // the workers know", "all_warps_barrier();  // the workers are told"
    store = "if (thread == 0) shared.handed[0] = row_sum;"
    yield _change(
        "workers told anew before they have read",
        (f"while (k_ < n) {{\n            {know}", "while (k_ < n) {\n            // know"),
        (f"default_warps_barrier);\n        {know}", "default_warps_barrier);\n        // know"),
    )
    yield _change("workers told behind the meeting", (f"{store}\n        {tell}", f"{tell} {store}\n        // told"))
    yield _change(
        "one worker warp too few at the meetings",
        ("{ meeting_barrier_sync(0, 192); }", "{ meeting_barrier_sync(0, 160); }"),
    )
    yield _change(
        "condition of the round before", ("shared.handed[0] = row_sum;", "shared.handed[0] = k_ ? total : row_sum;")
    )
    yield _change(
        "tile handed over behind the meeting",
        ("shared.handed_row[thread] = row;", ""),
        ("row_max = partition_all", "shared.handed_row[thread] = row; row_max = partition_all"),
    )
    yield _change(
        "default warps do not wait for the workers' end", ("    }\n    all_warps_barrier();  // all", "    }\n    // all")
    )


def tiles() -> Iterator[Change]:
    """A grid loop around a producer that tells the copy engine what to do, and two readers."""
    yield _swap("meeting of the readers counts one of them", "{ meeting_barrier_sync(2, 256); }", "256", "128")
    yield _swap("tiles begin at stage 0", "const int stage = start & 3;", "start & 3", "0")
    yield _swap("tiles begin at lap 0", "const int lap = start >> 2;", "start >> 2", "0")
    yield _swap("stage freed by one reader", "mbarrier_init(&shared.rows_empty[stage], 256);", "256", "128")
    yield _swap("bytes of half a row", "mbarrier_expect_bytes(&shared.rows_full[cursor_stage], 256);", "256", "128")
    yield _swap("rows counted by tile", "cursor_lap += static_cast<int>(cursor_stage + 1 == 4);", "== 4", "== count")
    yield _change("barrier behind the initialisation removed", (SET_UP, ""))


def divided() -> Iterator[Change]:
    """The kernel's warps divided among three partitions."""
    yield _change("partitions begin early", ("__syncthreads();  // the partitions see", "// the partitions see"))
    yield _change("results read early", ("__syncthreads();  // all partitions are", "// all partitions are"))
    yield _swap("threads of a partition counted from the CTA's", "const int thread = threadIdx.x - 64;", " - 64", "")
    yield _swap("a warp in the wrong partition", "if (warp < 2) {", "2", "1")
    yield _swap("partition meets the whole CTA", "__syncwarp();  // orders the loads of `buffer`", "warp()", "threads()")
    yield _change(
        "partition does not meet", ("__syncwarp();  // orders the loads of `buffer`", "// orders the loads of `buffer`")
    )


CHANGES = {
    "op_accumulated_7": told,
    "op_tiles_of_rows_tensor_2_7_3_4_60": tiles,
    "op_divided_2_1_1_5": divided,
    "op_pipe_ring_2_9_4": ring,
    "op_pipe_row_sums_float16_496_2": row_sums,
    "op_partitions_collectives_4_2_1_4": collectives,
    "op_barriers_by_phases_2": phases,
    "op_barriers_by_names_4": names,
    "op_pipe_unread_boxes": unread,
}

"""Planted faults: emitted files with one thing changed. `python tools/mutants.py` runs them and prints what caught each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tests.emulator.async_mutants import CHANGES
from tests.emulator.pipe_mutants import CHANGES as PIPE_CHANGES
from tests.emulator.product_mutants import PRODUCT_CHANGES
from tests.emulator.subjects import subject
from tests.emulator.tensor_mutants import TENSOR_CHANGES
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator.translate import with_twins

SYNC, WARP = "__syncthreads();", "__syncwarp();"
FENCE = "fence_gpu();"
SAME_VALUE = "every thread that now writes writes the same value, and nothing reads it before a barrier"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replacement of a piece of text, which must occur `of` times: the `nth` one is meant. Lines keep their numbers."""

    old: str
    new: str = ""
    nth: int = 1
    of: int = 1

    def apply(self, source: str) -> str:
        """The text after the edit.

        Raises:
            ValueError: The text to replace is not there, or as often as it should be.
        """
        if source.count(self.old) != self.of:
            raise ValueError(f"{self.old!r} occurs {source.count(self.old)} times, not {self.of}")
        if self.old.count("\n") != self.new.count("\n"):
            raise ValueError(f"replacing {self.old!r} would move lines")
        position = -1
        for _ in range(self.nth):
            position = source.index(self.old, position + 1)
        return source[:position] + self.new + source[position + len(self.old) :]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault.

    Attributes:
        subject: Name of the kernel; see `tests.emulator.subjects`.
        name: What is wrong, unique for the subject.
        edits: The change.
        equivalent: Why no legal execution gives other results; empty for a fault that changes them.
    """

    subject: str
    name: str
    edits: tuple[Edit, ...]
    equivalent: str = ""

    @property
    def id(self) -> str:
        """Unique name."""
        return f"{self.subject}: {self.name}"

    @property
    def arch(self) -> str:
        """What the kernel is emitted for, where it is not the usual target."""
        return self.subject.partition("@")[2]

    def emitted(self) -> EmittedKernel:
        """The faulty kernel. Helpers with PTX stand in it as their twins: faults can be planted there too."""
        original = subject(self.subject).emitted
        source = with_twins(original.source)
        for edit in self.edits:
            source = edit.apply(source)
        return EmittedKernel(source, original.contract, original.line_map)

    def emitted_for_gpu(self) -> EmittedKernel | None:
        """The same fault in the text that a GPU gets; None for one in a twin, where that text has PTX."""
        original = subject(self.subject).emitted
        source = original.source
        try:
            for edit in self.edits:
                source = edit.apply(source)
        except ValueError:
            return None
        return EmittedKernel(source, original.contract, original.line_map)

    def diff(self) -> tuple[tuple[str, str], ...]:
        """Lines that changed, before and after, without surrounding spaces."""
        before, after = with_twins(subject(self.subject).emitted.source).split("\n"), self.emitted().source.split("\n")
        return tuple((a.strip(), b.strip()) for a, b in zip(before, after, strict=True) if a != b)


def mutants() -> tuple[Mutant, ...]:
    """All of them."""
    makers = (_cluster, _cluster_fused, _cooperative, _wide, _atomic_fused, _single_cta, _staged, _rows)
    further = (_ring, _counts, _grid, _locks, _shared, _exchange, _asynchronous)
    return tuple(mutant for maker in (*makers, *further) for mutant in maker())


def _asynchronous() -> Iterator[Mutant]:
    subjects = {**{f"async_{name}": changes for name, changes in CHANGES.items()}, **TENSOR_CHANGES}
    subjects |= {**PIPE_CHANGES, **PRODUCT_CHANGES}
    for name, changes in subjects.items():
        for fault, replacements, equivalent in changes():
            yield Mutant(name, fault, tuple(Edit(*one) for one in replacements), equivalent)


def _swap(old: str, new: str, nth: int = 1, of: int = 1) -> tuple[Edit, ...]:
    return (Edit(old, new, nth, of),)


def _drop(text: str, nth: int = 1, of: int = 1) -> tuple[Edit, ...]:
    return (Edit(text, "", nth, of),)


def _before(text: str, target: str, nth: int = 1, of: int = 1) -> tuple[Edit, ...]:
    """Moves a statement in front of another; `nth` and `of` are those of the statement."""
    return Edit(target, f"@@@ {target}"), Edit(text, "", nth, of), Edit("@@@", text)


def _behind(text: str, target: str, nth: int = 1, of: int = 1) -> tuple[Edit, ...]:
    """Moves a statement behind another, which no comment follows on its line."""
    return Edit(target, f"{target} @@@"), Edit(text, "", nth, of), Edit("@@@", text)


def _sync(reason: str) -> str:
    return f"{SYNC}  // {reason}"


ZERO = _sync("orders the stores to `count` before the atomics on it")
COUNTED = _sync("orders the atomics on `count` before the loads of it")
PUBLISH = _sync("orders the stores to `base`, `end` and `start` before the loads of them")


def _cluster() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_cluster", name, edits, equivalent)

    clear = "store_vector(&shared.count[group], fill_vector<2>(0));"
    yield fault("barrier behind the clear removed", _drop(ZERO))
    yield fault("barrier behind the clear weakened to a warp", _swap(ZERO, WARP))
    yield fault("barrier moved in front of the clear", _before(SYNC, clear, 2, 3))
    yield fault("clear of the counters removed", _drop(clear))
    yield fault("first cluster barrier removed", _drop("cluster.sync();", 1, 2))
    yield fault("first cluster barrier replaced by a CTA barrier", _swap("cluster.sync();", SYNC, 1, 2))
    yield fault("trailing cluster barrier removed", _drop("cluster.sync();", 2, 2))
    yield fault("trailing cluster barrier replaced by a CTA barrier", _swap("cluster.sync();", SYNC, 2, 2))
    yield fault("barrier behind the stores of places removed", _drop(PUBLISH))
    yield fault("barrier behind the stores of places weakened to a warp", _swap(PUBLISH, WARP))
    yield fault(
        "a store of places behind the barrier",
        (
            Edit("store_vector(&shared.base[group], base_value);"),
            Edit(PUBLISH, f"{SYNC} store_vector(&shared.base[group], base_value);"),
        ),
    )
    yield fault("rank: atomic made a plain add", _swap("atomicAdd(&shared.count[id[k]], 1)", "shared.count[id[k]]++"))
    yield fault(
        "scan's scratch laid over the counters that peers read",
        _swap("shared.group_start_scan)", "shared.count)"),
    )
    yield fault("peer < cta made <=", _swap("peer < cta ?", "peer <= cta ?"))
    yield fault("padding one too large", _swap("(total[k] + 15)", "(total[k] + 16)"))
    yield fault("padding bound < made <=", _swap("< static_cast<int>(blocks_2", "<= static_cast<int>(blocks_2"))
    yield fault("capacity mask < made <=", _swap("while (place < sorted_capacity)", "while (place <= sorted_capacity)"))
    yield fault("expert mask < made <=", _swap("< expert_capacity) {", "<= expert_capacity) {"))
    yield fault("mask of routed slots admits -1", _swap("id[k] >= 0", "id[k] >= -1"))
    yield fault("search <= made <", _swap("start_value <= place", "start_value < place"))
    yield fault("vector guard of the slots one too large", _swap("numel - slot", "numel - slot + 1"))
    yield fault("owner guard of the total removed", _swap("if (thread == 0) *num", "*num"), SAME_VALUE)


def _cluster_fused() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_cluster_fused", name, edits, equivalent)

    sync = "cluster.sync();"
    counted = _sync("orders the atomics on `count` before the loads of it and the stores to it")
    remote = "before[k] = atomicAdd(&peer_total[group + k], mine[k]);"
    yield fault(
        "barrier of a CTA of one warp weakened to the warp",
        _swap(counted, WARP),
        "the CTA is one warp: __syncwarp orders the accesses of all of its threads",
    )
    yield fault("cluster barrier behind the clear removed", _drop(sync, 1, 4))
    yield fault("cluster barrier behind the adds removed", _drop(sync, 2, 4))
    yield fault("cluster barrier behind rank 0's starts replaced", _swap(sync, SYNC, 3, 4))
    yield fault("cluster barrier behind the last remote loads removed", _drop(sync, 4, 4))
    yield fault(
        "remote atomic made a plain add",
        _swap(remote, "{ before[k] = peer_total[group + k]; peer_total[group + k] = before[k] + mine[k]; }"),
    )
    yield fault("clear of the totals removed", _drop("store_vector(&shared.total[group], fill_vector<4>(0));"))
    yield fault(
        "all CTAs clear their totals",
        _swap("if (is_rank0) {", "{", 1, 2),
        "only rank 0's totals are read before the copy overwrites them",
    )


def _cooperative() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_cooperative", name, edits, equivalent)

    add = "old[k] = atomicAdd(workspace + (epoch & 1) * 128 + group + k, mine[k] + 4194304);"
    plain = "{ int* const at = workspace + (epoch & 1) * 128 + group + k; old[k] = *at; *at = old[k] + mine[k] + 4194304; }"
    yield fault("barrier behind the clear removed", _drop(ZERO))
    yield fault("barrier behind the counting removed", _drop(COUNTED))
    yield fault("barrier behind the stores of places removed", _drop(PUBLISH))
    yield fault("nobody waits for the other CTAs", _swap("if (!any) break;", "break;"))
    yield fault("waits for its first group only", _swap("any = any || counted_3[k]", "any = counted_3[0]"))
    yield fault("totals: atomic made a plain add", _swap(add, plain))
    yield fault("volatile of the waiting load dropped", _swap("? load_cv(", "? *("))
    yield fault("spare totals are those in use", _swap("(1 - (epoch & 1)) * 128", "(epoch & 1) * 128"))
    yield fault(
        "epoch counted up before all have read it",
        (
            Edit("if (thread == 0) *epoch_ptr = epoch + 1;"),
            Edit(
                "const int epoch = *epoch_ptr;",
                "const int epoch = *epoch_ptr; if (cta == 0 && thread == 0) *epoch_ptr = epoch + 1;",
            ),
        ),
    )
    yield fault("slots of a CTA one too many", _swap("last_slot - slot", "last_slot - slot + 1"))


def _wide() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_wide", name, edits, equivalent)

    yield fault("grid barrier removed", _drop("grid.sync();"))
    yield fault("grid barrier replaced by a CTA barrier", _swap("grid.sync();", SYNC))
    yield fault("grid barrier moved in front of the adds", _before("grid.sync();", "const Vector<int, 2> mine ="))
    yield fault(
        "guard of the ranks' store removed",
        _swap("if (flag) shared.count", "shared.count"),
        "where nothing was counted, 0 is stored over 0 by the thread that owns the element",
    )
    yield fault(
        "owner guard of the spare totals removed",
        _swap("if (cta == 0) {", "{", 1, 2),
        "all CTAs store 0, and nothing else touches the spare totals in this launch",
    )


def _atomic_fused() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_atomic_fused", name, edits, equivalent)

    yield fault("grid barrier behind the sentinels removed", _drop("grid.sync();", 1, 3))
    yield fault("grid barrier behind the adds replaced by a CTA barrier", _swap("grid.sync();", SYNC, 2, 3))
    yield fault("grid barrier behind the starts removed", _drop("grid.sync();", 3, 3))
    yield fault(
        "clear of the totals one CTA too late",
        _swap("if (cta == 0) {", "if (cta == 1) {", 1, 2),
        "any one CTA may clear them: the grid barrier comes before they are used",
    )
    yield fault(
        "release fence removed",
        _drop(f"{FENCE}  // release: what this thread wrote comes before the atomics"),
        "nothing is published through the totals: the grid barrier that follows orders all of it",
    )


def _single_cta() -> Iterator[Mutant]:
    def fault(name: str, edits: tuple[Edit, ...], equivalent: str = "") -> Mutant:
        return Mutant("moe_single_cta", name, edits, equivalent)

    clear = "shared.count[thread] = 0;"
    yield fault("the user's barrier removed", _swap(f"slots                single_cta.py:48\n    {SYNC}", "slots\n    "))
    yield fault(
        "barrier behind the starts weakened to a warp",
        _swap(_sync("orders the stores to `start` before the loads of it"), WARP),
    )
    yield fault("clear moved behind the barrier", (Edit(clear), Edit(ZERO, f"{SYNC} {clear}")))
    yield fault(
        "vector guard of the sentinels one too large", _swap("sorted_capacity - place", "sorted_capacity - place + 1")
    )
    yield fault(
        "last tile of the sentinels left out",
        _drop("store_edge(sorted_ids + place, sorted_capacity - place, fill_vector<4>(numel));"),
    )
    yield fault("scan's operands not rounded up", _swap("(total + 15) / 16u", "(total + 14) / 16u"))


def _staged() -> Iterator[Mutant]:
    count, scatter = "moe_three_kernel/1", "moe_three_kernel/3"
    yield Mutant(count, "barrier behind the counting weakened to a warp", _swap(COUNTED, WARP))
    yield Mutant(
        count,
        "totals: atomic made a plain add",
        _swap(
            "const int offset = atomicAdd(totals + thread, mine);",
            "const int offset = totals[thread]; totals[thread] = offset + mine;",
        ),
    )
    yield Mutant(
        count, "vector guard of the experts one too large", _swap("expert_capacity - place", "expert_capacity - place + 1")
    )
    yield Mutant(
        scatter,
        "barrier behind the copy removed",
        _drop(_sync("orders the stores to `next_rank` before the atomics on it")),
    )
    yield Mutant(
        scatter, "rank: atomic made a plain add", _swap("atomicAdd(&shared.next_rank[id], 1)", "shared.next_rank[id]++")
    )
    yield Mutant(scatter, "mask of the slots < made <=", _swap("load_if(slot < numel,", "load_if(slot <= numel,"))
    yield Mutant(
        scatter, "owner guard of the experts removed", _swap("if (thread == 0) expert_ids", "expert_ids"), SAME_VALUE
    )


def _rows() -> Iterator[Mutant]:
    slots = f"    {SYNC}\n    value = slots[0];"
    yield Mutant("softmax_fp32", "barrier inside the reduction removed", _swap(slots, "\n    value = slots[0];"))
    yield Mutant(
        "softmax_fp32",
        "barrier inside the reduction weakened to a warp",
        _swap(slots, f"    {WARP}\n    value = slots[0];"),
    )
    yield Mutant(
        "softmax_fp32", "scratch of the maximum used again", _swap("total, shared.total_slots", "total, shared.max_slots")
    )
    yield Mutant("softmax_fp32", "reduction over half of the warp", _swap("lane_mask = 16", "lane_mask = 8"))
    yield Mutant("softmax_fp32", "mask of the shuffle without half of the warp", _swap("0xffffffffu", "0x0000ffffu"))
    yield Mutant("softmax_fp32", "mask of the store < made <=", _swap("col < cols;", "col <= cols;", 2, 2))
    yield Mutant(
        "softmax_fp32",
        "owner guard of the slots removed",
        _swap("if (threadIdx.x % 32 == 0) slots", "slots"),
        "all lanes of a warp hold the same value and write it before the barrier",
    )
    yield Mutant(
        "softmax_fp32",
        "owner guard of the slots: another lane",
        _swap("threadIdx.x % 32 == 0", "threadIdx.x % 32 == 7"),
        "all lanes of a warp hold the same value: any one may write it",
    )
    yield Mutant(
        "vector_add",
        "vector guard of the store one too large",
        _swap("store_edge(out + offsets, n - offsets,", "store_edge(out + offsets, n - offsets + 1,"),
    )
    yield Mutant(
        "vector_add",
        "vector guard of a load one too large",
        _swap("load_edge<4>(y + offsets, n - offsets,", "load_edge<4>(y + offsets, n - offsets + 1,"),
    )
    yield Mutant("vector_add", "vectors one element aside", _swap("4 * thread + 512 * run;", "4 * thread + 512 * run + 1;"))


def _ring() -> Iterator[Mutant]:
    name, sync = "op_cluster_ring_1", "    cluster_sync();"
    yield Mutant(name, "cluster barrier behind the store removed", _drop(sync, 1, 2))
    yield Mutant(name, "cluster barrier behind the store replaced", _swap(sync, f"    {SYNC}", 1, 2))
    yield Mutant(name, "trailing cluster barrier removed", _drop(sync, 2, 2))
    yield Mutant(
        name,
        "trailing cluster barrier moved in front of the remote load",
        _before(sync, "const int value = neighbour[0];", 2, 2),
    )


def _counts() -> Iterator[Mutant]:
    name, sync = "op_cluster_counts_1900", "    cluster_sync();"
    yield Mutant(name, "cluster barrier behind the clear replaced", _swap(sync, f"    {SYNC}", 1, 2))
    yield Mutant(name, "cluster barrier behind the adds removed", _drop(sync, 2, 2))
    yield Mutant(
        name, "remote atomic maximum made plain", _swap("atomicMax(&first[31], rank);", "first[31] = max(first[31], rank);")
    )
    yield Mutant(name, "remote atomic made a plain add", _swap("atomicAdd(&first[key[k]], 1)", "first[key[k]]++"))
    yield Mutant(name, "owner guard of the clear removed", _swap("if (thread < 32) shared", "shared"), SAME_VALUE)
    yield Mutant(
        name,
        "owner guard of the clear one too large",
        _swap("if (thread < 32) shared", "if (thread <= 32) shared"),
        SAME_VALUE,
    )
    yield Mutant(
        name, "owner guard of the clear one too small", _swap("if (thread < 32) shared", "if (thread < 31) shared")
    )


def _grid() -> Iterator[Mutant]:
    name, sync = "op_grid_counts", "    grid_sync(grid_barrier_words);"
    arrive = f"    {SYNC}\n    if (threadIdx.x == 0) {{"
    yield Mutant(name, "grid barrier removed", _drop(sync))
    yield Mutant(name, "grid barrier replaced by a CTA barrier", _swap(sync, f"    {SYNC}"))
    yield Mutant(name, "grid barrier without waiting for the own CTA", _swap(arrive, arrive.replace(SYNC, "")))
    yield Mutant(name, "release of the grid barrier dropped", _swap("ORDER_ACQ_REL", "ORDER_RELAXED"))
    yield Mutant(name, "acquire of the grid barrier dropped", _swap("words, ORDER_ACQUIRE", "words, ORDER_VOLATILE"))
    yield Mutant(
        name, "barrier behind the starts removed", _drop(_sync("orders the stores to `starts` before the loads of it"))
    )
    yield Mutant(
        name, "barrier inside the scan removed", _swap(f"    {SYNC}\n    const T earlier", "\n    const T earlier")
    )
    yield Mutant(name, "rank: atomic made a plain add", _swap("atomicAdd(counts + key[k], 1)", "counts[key[k]]++"))


def _locks() -> Iterator[Mutant]:
    sums, lock = "op_last_one_sums", "op_spin_lock"
    release = f"{FENCE}  // release: what this thread wrote comes before the atomics"
    acquire = f"{FENCE}  // acquire: what follows sees what the atomics saw"
    obtained = _sync("every thread reads the value that one thread obtained")
    yield Mutant(sums, "release fence removed", _drop(release))
    yield Mutant(sums, "acquire fence removed", _drop(acquire))
    yield Mutant(sums, "ticket: atomic made a plain add", _swap("atomicAdd(ticket, 1)", "(*ticket)++"))
    yield Mutant(sums, "barrier behind the ticket removed", _drop(obtained))
    yield Mutant(
        sums,
        "barrier in front of the ticket removed",
        _drop(_sync("the whole CTA's writes come before the release")),
        "thread 0 alone writes before the release, and it is the one that takes the ticket",
    )
    yield Mutant(lock, "release fence of the unlock removed", _drop(release, 2, 2))
    yield Mutant(lock, "acquire fence of the lock removed", _drop(acquire))
    yield Mutant(lock, "unlock: atomic made a plain store", _swap("atomicExch(lock, 0);", "*lock = 0;"))
    yield Mutant(
        lock,
        "lock: compare and swap made plain",
        _swap("atomicCAS(lock, 0, 1);", "*lock; if (shared.broadcast[0] == 0) *lock = 1;"),
    )
    yield Mutant(lock, "barrier in front of the unlock removed", _drop(_sync("all writes come before the release")))
    yield Mutant(lock, "barrier behind the lock removed", _drop(obtained))


def _shared() -> Iterator[Mutant]:
    prefix, histogram, ranks = "op_shared_prefix_1024", "op_histogram_i32_1000_64_masked", "op_shared_ranks_700_512"
    stored = _sync("orders the stores to `buf` before the loads of it")
    yield Mutant(prefix, "first barrier of the loop removed", _drop(stored, 1, 2))
    yield Mutant(
        prefix,
        "barrier between loads and stores weakened to a warp",
        _swap(_sync("orders the loads of `buf` before the stores to it"), WARP),
    )
    yield Mutant(prefix, "barrier behind the loop removed", _drop(stored, 2, 2))
    yield Mutant(prefix, "mask of the loads >= made >", _swap("i + k >= distance", "i + k > distance"))
    yield Mutant(
        histogram, "bins: clear removed", _drop("for (int bin = thread; bin < 64; bin += 128) shared.counts_bins[bin] = 0;")
    )
    yield Mutant(histogram, "bins: clear one too many", _swap("bin < 64", "bin <= 64"))
    yield Mutant(histogram, "barrier behind the clear removed", _drop(_sync("all bins are zero")))
    yield Mutant(histogram, "barrier behind the counting weakened to a warp", _swap(_sync("all values are counted"), WARP))
    yield Mutant(
        histogram,
        "atomic made a plain add",
        _swap("atomicAdd(&shared.counts_bins[value[k / 4][k % 4]], 1)", "shared.counts_bins[value[k / 4][k % 4]]++"),
    )
    yield Mutant(histogram, "owner guard of the result removed", _swap("if (thread < 64) out", "out"), SAME_VALUE)
    yield Mutant(
        ranks,
        "barrier inside the scan weakened to a warp",
        _swap(f"    {SYNC}\n    const T of_warp", f"    {WARP}\n    const T of_warp"),
    )
    yield Mutant(
        ranks, "barrier behind the counts removed", _drop(_sync("orders the atomics on `counts` before the loads of it"))
    )
    yield Mutant(ranks, "vector guard one too large", _swap("n - i, 0)", "n - i + 1, 0)"))
    yield Mutant(ranks, "slots of the scan: another lane", _swap("lane == 31) slots", "lane == 30) slots"))


def _exchange() -> Iterator[Mutant]:
    permute, scan, matrix = "op_permute_210_i32_4x8x32", "op_scan_sum_i32_1000", "op_shared_matrix_f16_16x64"
    whole = _sync("the whole tile is in shared memory")
    yield Mutant(permute, "barrier of the exchange removed", _drop(whole))
    yield Mutant(permute, "barrier of the exchange weakened to a warp", _swap(whole, WARP))
    yield Mutant(permute, "swizzle of the store: wrong bit", _swap("^ (run % 2 * 8)", "^ (run % 2 * 4)"))
    yield Mutant(permute, "swizzle of the load: term left out", _swap("^ (run / 2 * 8)) * 2", ") * 2"))
    yield Mutant(permute, "offset of the store one too small", _swap("+ run / 2 * 64]", "+ run / 2 * 62]"))
    yield Mutant(permute, "offset of the load behind the buffer", _swap("thread / 2 % 8 * 128", "thread / 2 % 16 * 128"))
    yield Mutant(scan, "total of a warp from the wrong lane", _swap("thread % 32 == 31", "thread % 32 == 30"))
    yield Mutant(scan, "barrier behind the totals removed", _drop(_sync("the totals of all warps are in their slots")))
    yield Mutant(scan, "scan over lanes >= made >", _swap("position >= distance", "position > distance"))
    yield Mutant(scan, "prefix takes the own warp's total", _swap("part < thread / 32", "part <= thread / 32"))
    yield Mutant(scan, "shuffle of the prefix by two lanes", _swap("false>(total, 1)", "false>(total, 2)"))
    yield Mutant(
        matrix,
        "barrier between store and turned load removed",
        _drop(_sync("orders the stores to `buf` before the loads of it")),
    )
    yield Mutant(
        matrix,
        "vectors of the store misaligned",
        _swap(
            "store_vector(&shared.buf[thread / 8][thread % 8 * 8], x_value)",
            "store_vector(&shared.buf[thread / 8][thread % 8 * 7], x_value)",
        ),
    )

"""What a run did, in numbers that need no clock: typed, so that tests can assert them.

A *request* is one memory instruction of one warp: the accesses of its lanes at one call chain, in the same turn since the
last event that held up the whole warp. Where lanes take different branches, each branch makes requests of its own, as on a
GPU.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tle2cuda.emulator.locate import Locator
    from tle2cuda.emulator.results import Location
    from tle2cuda.ir.span import Span

SECTOR_BYTES = 32
WIDTHS_BYTES = (1, 2, 4, 8, 16)

_Sums = TypeVar("_Sums", bound="_Summed")


def _share(part: float, whole: float, otherwise: float) -> float:
    return part / whole if whole else otherwise


class _Summed:
    """Counts whose fields add up, but for `most_*`, of which the largest counts."""

    __slots__ = ()

    @classmethod
    def sum(cls: type[_Sums], parts: Iterable[_Sums]) -> _Sums:
        """All parts as one."""
        names = [entry.name for entry in fields(cls)]  # type: ignore[arg-type]
        totals: dict[str, Any] = {}
        for part in parts:
            for name in names:
                value, total = getattr(part, name), totals.get(name)
                if total is None:
                    totals[name] = value
                elif isinstance(value, tuple):
                    totals[name] = tuple(a + b for a, b in zip(total, value, strict=True))
                else:
                    totals[name] = max(total, value) if name.startswith("most_") else total + value
        return cls(**totals)


@dataclass(frozen=True, slots=True)
class _Requests(_Summed):
    """Memory instructions of one kind.

    Attributes:
        requests: Instructions of warps; one thread's 32 bytes are two, as an instruction moves at most 16.
        accesses: The same, counted for each lane that takes part.
        accesses_by_width: Accesses of 1, 2, 4, 8 and 16 bytes.
    """

    requests: int = 0
    accesses: int = 0
    accesses_by_width: tuple[int, ...] = (0, 0, 0, 0, 0)

    def __bool__(self) -> bool:
        return self.requests != 0

    @property
    def bytes(self) -> int:
        """Bytes that lanes asked for."""
        return sum(width * count for width, count in zip(WIDTHS_BYTES, self.accesses_by_width, strict=True))

    @property
    def bytes_per_access(self) -> float:
        """Vector width: bytes of one access of one lane, on average."""
        return _share(self.bytes, self.accesses, 0.0)

    @property
    def vectorized_share(self) -> float:
        """Share of the bytes that come in accesses of 16 bytes."""
        return _share(16 * self.accesses_by_width[-1], self.bytes, 1.0)

    @property
    def lanes_per_request(self) -> float:
        """Lanes that take part, on average."""
        return _share(self.accesses, self.requests, 0.0)


@dataclass(frozen=True, slots=True)
class GlobalTraffic(_Requests):
    """Requests to global memory.

    Attributes:
        sectors: Distinct sectors of 32 bytes, request by request. A warp that reads 128 bytes in a row needs 4.
        used_bytes: Distinct bytes of those sectors that lanes asked for.
    """

    sectors: int = 0
    used_bytes: int = 0

    @property
    def sectors_per_request(self) -> float:
        """Sectors of one request, on average."""
        return _share(self.sectors, self.requests, 0.0)

    @property
    def used_share(self) -> float:
        """Share of the sectors' bytes that lanes asked for: 1.0 when all accesses are coalesced."""
        return _share(self.used_bytes, SECTOR_BYTES * self.sectors, 1.0)


@dataclass(frozen=True, slots=True)
class SharedTraffic(_Requests):
    """Requests to shared memory.

    Attributes:
        phases: Wavefronts that would do without conflicts: one for a request of up to 4 bytes a lane, two for 8 bytes (half
            a warp each), four for 16.
        wavefronts: Wavefronts needed: in each phase, as many as the busiest bank has distinct words of 4 bytes.
    """

    phases: int = 0
    wavefronts: int = 0

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts that conflicts add."""
        return self.wavefronts - self.phases

    @property
    def bank_conflicts_per_request(self) -> float:
        """The same for one request, on average."""
        return _share(self.bank_conflicts, self.requests, 0.0)

    @property
    def wavefronts_per_request(self) -> float:
        """Wavefronts of one request, on average."""
        return _share(self.wavefronts, self.requests, 0.0)


@dataclass(frozen=True, slots=True)
class GlobalAtomics(GlobalTraffic):
    """Atomics on global memory.

    Attributes:
        turns: Sum over the requests of the most lanes that meet at one address: the turns that the requests take.
        most_lanes: The most lanes of one request that met at one address.
    """

    turns: int = 0
    most_lanes: int = 0

    @property
    def turns_per_request(self) -> float:
        """Contention inside of requests: 1.0 when all lanes have addresses of their own, up to 32."""
        return _share(self.turns, self.requests, 0.0)


@dataclass(frozen=True, slots=True)
class SharedAtomics(SharedTraffic):
    """Atomics on shared memory.

    Attributes:
        turns: Sum over the requests of the most lanes that meet at one address: the turns that the requests take.
        most_lanes: The most lanes of one request that met at one address.
    """

    turns: int = 0
    most_lanes: int = 0

    @property
    def turns_per_request(self) -> float:
        """Contention inside of requests: 1.0 when all lanes have addresses of their own, up to 32."""
        return _share(self.turns, self.requests, 0.0)


@dataclass(frozen=True, slots=True)
class Tally(_Summed):
    """What was executed: memory requests, barriers that completed, warp collectives that completed.

    Attributes:
        global_loads: Loads from global memory; the further names alike.
        remote_loads: Loads from the shared memory of another CTA of the cluster; the further names alike.
        cta_barriers: Barriers of all threads of a CTA, counted once for each CTA.
        named_barriers: Barriers with a number or a count of threads.
        cluster_barriers: Barriers of a cluster.
        grid_barriers: Barriers of the grid.
        shuffles: Shuffles of a warp; the further names alike.
        warp_reductions: `__reduce_*_sync`.
        warp_syncs: `__syncwarp`.
    """

    global_loads: GlobalTraffic = GlobalTraffic()
    global_stores: GlobalTraffic = GlobalTraffic()
    global_atomics: GlobalAtomics = GlobalAtomics()
    shared_loads: SharedTraffic = SharedTraffic()
    shared_stores: SharedTraffic = SharedTraffic()
    shared_atomics: SharedAtomics = SharedAtomics()
    remote_loads: SharedTraffic = SharedTraffic()
    remote_stores: SharedTraffic = SharedTraffic()
    remote_atomics: SharedAtomics = SharedAtomics()
    cta_barriers: int = 0
    named_barriers: int = 0
    cluster_barriers: int = 0
    grid_barriers: int = 0
    shuffles: int = 0
    votes: int = 0
    matches: int = 0
    warp_reductions: int = 0
    warp_syncs: int = 0

    @property
    def instructions(self) -> int:
        """All that is counted: memory requests of warps, barriers that completed, collectives of warps."""
        values = [getattr(self, name) for name in _TALLY]
        return sum(value if isinstance(value, int) else value.requests for value in values)


_TALLY = tuple(entry.name for entry in fields(Tally))


@dataclass(frozen=True, slots=True)
class PlaceCounters(Tally):
    """What one place executed.

    Attributes:
        location: The place in the emitted file, with the Python line it comes from; None where no line can be told.
    """

    location: Location | None = None

    @property
    def span(self) -> Span | None:
        """Place in the user's Python source."""
        return self.location.span if self.location else None

    @property
    def op(self) -> str:
        """Operation of the kernel's IR that the place is written for; empty where none is known."""
        return self.location.op if self.location else ""


@dataclass(frozen=True, slots=True)
class HottestAddress:
    """Contention of all atomics of a launch on one kind of memory.

    Attributes:
        addresses: How many addresses were updated.
        operations: Updates of the address with the most of them.
        place: Which one that is.
    """

    addresses: int
    operations: int
    place: str


@dataclass(frozen=True, slots=True)
class Counters(Tally):
    """What one run did. Only `switches`, `barriers` and `collectives` are known without ``detect="counters"``.

    Attributes:
        switches: Changes from one thread to another.
        barriers: Barriers of CTA, cluster and grid that completed.
        collectives: Warp collectives that completed.
        hottest: For ``global``, ``shared`` and ``remote`` memory that had atomics: the address with the most.
        places: What was executed where, in the order of the emitted file: one entry for each of its lines.
    """

    switches: int = 0
    barriers: int = 0
    collectives: int = 0
    hottest: Mapping[str, HottestAddress] = field(default_factory=dict)
    places: tuple[PlaceCounters, ...] = ()

    @property
    def lines(self) -> tuple[PlaceCounters, ...]:
        """The same for each line of the Python source, in its order; places that have none are left out."""
        groups: dict[tuple[str, int], list[PlaceCounters]] = {}
        for place in self.places:
            if place.span is not None:
                groups.setdefault((place.span.file, place.span.line), []).append(place)
        return tuple(_merged(groups[key]) for key in sorted(groups))

    @property
    def ops(self) -> Mapping[str, Tally]:
        """The same for each operation of the kernel's IR that a line of the emitted file is written for, by its name.

        What a device helper does counts for the operation that calls it; the IR stands in `EmittedKernel.ir_dumps`. Names
        come in the order of the emitted file, and places that have none are left out.
        """
        groups: dict[str, list[PlaceCounters]] = {}
        for place in self.places:
            if place.op:
                groups.setdefault(place.op, []).append(place)
        return {name: Tally(**_sums(places)) for name, places in groups.items()}

    def op(self, name: str) -> Tally:
        """What all operations of a name executed; all zeros when they executed nothing that is counted."""
        return self.ops.get(name, Tally())

    def line(self, number: int, file: str | None = None) -> Tally:
        """What a line of the Python source executed; all zeros when it executed nothing that is counted.

        Args:
            number: The line.
            file: Name of its file, where lines of several files are inlined into the kernel.
        """
        spans = ((place.span, place) for place in self.places)
        found = [
            place
            for span, place in spans
            if span is not None and span.line == number and file in (None, span.file_name, span.file)
        ]
        return _merged(found) if found else Tally()


def _merged(places: Sequence[PlaceCounters]) -> PlaceCounters:
    return PlaceCounters(**_sums(places), location=places[0].location)


def _sums(tallies: Sequence[Tally]) -> dict[str, Any]:
    result = {}
    for name in _TALLY:
        values = [getattr(tally, name) for tally in tallies]
        result[name] = sum(values) if isinstance(values[0], int) else type(values[0]).sum(values)
    return result


# ---- From the runner's report ----

_TRAFFIC: dict[str, Any] = {
    entry.name: type(entry.default) for entry in fields(Tally) if not isinstance(entry.default, int)
}
_BARRIERS = {f"{kind}_barrier": f"{kind}_barriers" for kind in ("cta", "named", "cluster", "grid")}
_COLLECTIVES = (
    ("__shfl", "shuffles"),
    ("__match", "matches"),
    ("__reduce", "warp_reductions"),
    ("__syncwarp", "warp_syncs"),
    ("", "votes"),
)


def read_counters(report: Mapping[str, Any], locator: Locator) -> Counters:
    """The counters of a run as its report gives them: sums for each call chain, whose places `locator` knows."""
    sites = report.get("sites", ())
    locator.resolve([offset for site in sites for offset in site["pcs"]])
    groups: dict[int, list[PlaceCounters]] = {}
    for site in sites:
        location = locator.locate(site["pcs"], site["line"])
        name, value = _entry(site)
        place = PlaceCounters(**{name: value}, location=location)
        groups.setdefault(location.call_line if location else 0, []).append(place)
    places = tuple(_merged(groups[line]) for line in sorted(groups))
    return Counters(
        **(_sums(places) if places else {}),
        switches=report["switches"],
        barriers=report["barriers"],
        collectives=report["collectives"],
        hottest={space: HottestAddress(**entry) for space, entry in report.get("hottest", {}).items()},
        places=places,
    )


def _entry(site: Mapping[str, Any]) -> tuple[str, Any]:
    """The field of `Tally` that a site counts for, and its value."""
    name = site["name"]
    if name in _BARRIERS:
        return _BARRIERS[name], site["requests"]
    if f"{name}s" in _TRAFFIC:
        kind = _TRAFFIC[f"{name}s"]
        values = {entry.name: site[entry.name] for entry in fields(kind) if entry.name in site}
        return f"{name}s", kind(**values, accesses_by_width=tuple(site["widths"]))
    return next(kind for prefix, kind in _COLLECTIVES if name.startswith(prefix)), site["requests"]

"""Counters as lines for people: totals, then every line of the Python source that does something that is counted."""

from __future__ import annotations

from collections.abc import Iterator

from tle2cuda.emulator.counters import (
    Counters,
    GlobalAtomics,
    GlobalTraffic,
    PlaceCounters,
    SharedAtomics,
    SharedTraffic,
    Tally,
)

_TRAFFIC = tuple(
    (f"{memory}_{kind}", f"{memory} {kind}")
    for memory in ("global", "shared", "remote")
    for kind in ("loads", "stores", "atomics")
)
_EVENTS = (
    ("cta_barriers", "CTA barrier"),
    ("named_barriers", "named barrier"),
    ("cluster_barriers", "cluster barrier"),
    ("grid_barriers", "grid barrier"),
    ("shuffles", "shuffle"),
    ("votes", "vote"),
    ("matches", "match"),
    ("warp_reductions", "warp reduction"),
    ("warp_syncs", "__syncwarp"),
)


def render_counters(counters: Counters) -> str:
    """The counters of a run as lines for people. A request is one memory instruction of one warp."""
    rows = [("in total", name, text) for name, text in _rows(counters)] or [("in total", "", "nothing that is counted")]
    for memory, hottest in counters.hottest.items():
        addresses = "1 address" if hottest.addresses == 1 else f"{hottest.addresses} addresses"
        rows.append(
            ("in total", f"{memory} atomics", f"{addresses}, most often {hottest.place}: {hottest.operations} times")
        )
    rows += [("by operation", name, _executed(tally)) for name, tally in counters.ops.items()]
    unknown = [place for place in counters.places if place.span is None]
    for place in (*counters.lines, *unknown):
        rows += [(_name(place), name, text) for name, text in _rows(place)]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines, last = [], ""
    for place_name, name, text in rows:
        shown = place_name if place_name != last else ""
        lines.append(f"{shown:<{widths[0]}}  {name:<{widths[1]}}  {text}".rstrip())
        last = place_name
    return "\n".join(lines)


def _name(place: PlaceCounters) -> str:
    if place.span is not None:
        return place.span.short()
    return f"emitted line {place.location.call_line}" if place.location else "elsewhere"


def _rows(tally: Tally) -> Iterator[tuple[str, str]]:
    for field, name in _TRAFFIC:
        traffic = getattr(tally, field)
        if traffic:
            yield name, _traffic(traffic)
    events = [(getattr(tally, field), name) for field, name in _EVENTS]
    if any(count for count, _ in events):
        yield "synchronisation", ", ".join(_counted(count, name) for count, name in events if count)


def _executed(tally: Tally) -> str:
    """How many instructions of each kind, in one line."""
    requests = [(getattr(tally, field).requests, name.removesuffix("s")) for field, name in _TRAFFIC]
    events = [(getattr(tally, field), name) for field, name in _EVENTS]
    kinds = ", ".join(_counted(count, name) for count, name in (*requests, *events) if count)
    return f"{_counted(tally.instructions, 'instruction')}: {kinds}"


def _traffic(traffic: GlobalTraffic | SharedTraffic) -> str:
    parts = [_counted(traffic.requests, "request"), f"{_number(traffic.bytes_per_access)} bytes a lane"]
    if isinstance(traffic, GlobalTraffic):
        parts += [
            _each(traffic.sectors_per_request, "sector"),
            f"{_percent(traffic.used_share)} of their bytes used",
        ]
    else:
        conflicts = traffic.bank_conflicts
        each = f" ({_number(traffic.bank_conflicts_per_request)} each)" if conflicts else ""
        parts.append(f"{_counted(conflicts, 'bank conflict')}{each}" if conflicts else "no bank conflicts")
    if isinstance(traffic, GlobalAtomics | SharedAtomics):
        parts.append(f"{_each(traffic.turns_per_request, 'turn')}, at most {traffic.most_lanes} lanes on one address")
    return ", ".join(parts)


def _counted(count: int, name: str) -> str:
    plural = "es" if name.endswith("h") else "s"
    return f"{count} {name}" if count == 1 or name.startswith("__") else f"{count} {name}{plural}"


def _each(value: float, name: str) -> str:
    return f"{_number(value)} {name}{'' if value == 1 else 's'} each"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _percent(share: float) -> str:
    """A share in percent; less than all of it never shows as 100 %."""
    percent = round(100 * share)
    return f"{min(percent, 99) if share < 1 else percent} %"

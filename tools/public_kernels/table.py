"""The result of a run over the development set, as a table for people and as JSON."""

from __future__ import annotations

import collections
import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.public_kernels.records import Record
from tools.public_kernels.worker import Outcome

_SLOWEST = 10


Results = Mapping[str, tuple[Record, Outcome]]
Theirs = Mapping[str, Mapping[str, Any]]  # what Triton's cubins use, by hash (`triton_cubins`)


def to_json(results: Results, path: Path, theirs: Theirs | None = None) -> None:
    """Writes every outcome, keyed by the record's hash; as `triton` what Triton's cubin uses, where that was asked for."""
    rows = {
        key: {
            "package": record.folder,
            "file": record.file,
            "function": record.function,
            "kind": record.kind,
            **outcome.to_dict(),
            "total_s": round(outcome.total_s, 4),
            **({"triton": dict(theirs[key])} if theirs and key in theirs else {}),
        }
        for key, (record, outcome) in results.items()
    }
    path.write_text(json.dumps(rows, indent=1) + "\n")


def from_json(path: Path) -> dict[str, dict[str, Any]]:
    """What `to_json` wrote."""
    rows: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return rows


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The outcome that a row of `to_json` holds."""
    return Outcome(**{name: row[name] for name in Outcome.__slots__})


def summary(results: Results, theirs: Theirs | None = None) -> str:
    """The table."""
    outcomes = [outcome for _, outcome in results.values()]
    counts = collections.Counter(outcome.status for outcome in outcomes)
    lines = [f"{len(outcomes)} records: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())]
    for status in ("crashed", "timeout", "refused", "unavailable"):
        lines += _grouped(status, results)
    lines += _measures(results, theirs or {})
    return "\n".join(lines)


def _grouped(status: str, results: Results) -> list[str]:
    groups: dict[str, list[Record]] = {}
    for record, outcome in results.values():
        if outcome.status == status:
            groups.setdefault(outcome.reason, []).append(record)
    if not groups:
        return []
    lines = ["", status]
    for reason, records in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"  {len(records):3}  {reason}")
        lines += [f"         {record.hash} {record.title}" for record in records[:3]]
        if len(records) > 3:
            lines.append(f"         and {len(records) - 3} more")
    return lines


def _measures(results: Results, theirs: Theirs) -> list[str]:
    passed = [(record, outcome) for record, outcome in results.values() if outcome.status == "passed"]
    if not passed:
        return []
    lines = ["", "seconds to a cubin"]
    for name in ("front_s", "passes_s", "lowering_s", "nvrtc_s", "total_s"):
        values = [getattr(outcome, name) for _, outcome in passed]
        lines.append(
            f"  {name.removesuffix('_s'):9} median {statistics.median(values):6.2f}  mean {statistics.fmean(values):6.2f}  "
            f"most {max(values):6.2f}"
        )
    lines.append("slowest")
    for record, outcome in sorted(passed, key=lambda item: -item[1].total_s)[:_SLOWEST]:
        lines.append(
            f"  {outcome.total_s:6.2f} = {outcome.front_s:.2f} + {outcome.passes_s:.2f} + {outcome.lowering_s:.2f} + "
            f"{outcome.nvrtc_s:.2f}  {outcome.lines} lines  {record.hash} {record.title}"
        )
    return lines + _spilling(passed, theirs)


def _spilling(passed: Sequence[tuple[Record, Outcome]], theirs: Theirs) -> list[str]:
    """The records that spill or use local memory, those first of which Triton's cubins use none."""
    local = [(record, outcome) for record, outcome in passed if outcome.spill_bytes or outcome.local_bytes]
    lines = ["", f"{len(local)} of {len(passed)} with spills or local memory"]
    alone = [record.hash for record, _ in local if record.hash in theirs and not _bytes_of(theirs[record.hash])]
    if theirs:
        lines[-1] += f", {len(alone)} of them without any in Triton"
    for record, outcome in sorted(local, key=lambda item: (item[0].hash not in alone, -_bytes_of(item[1].to_dict()))):
        lines.append(
            f"  {outcome.registers:3} registers, {outcome.spill_bytes} bytes spilled, {outcome.local_bytes} bytes local  "
            f"{_in_triton(theirs.get(record.hash))}{record.hash} {record.title}"
        )
    return lines


def _bytes_of(used: Mapping[str, Any]) -> int:
    return int(used.get("spill_bytes", 0) + used.get("local_bytes", 0)) if "error" not in used else -1


def _in_triton(used: Mapping[str, Any] | None) -> str:
    if used is None:
        return ""
    if "error" in used:
        return "(Triton fails)  "
    return f"(Triton: {used['registers']}, {used['spill_bytes']}, {used['local_bytes']})  "

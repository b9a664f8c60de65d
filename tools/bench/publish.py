"""Puts measurements into docs/benchmarks.md and docs/emulator.md: their tables are made from the tools' JSON files.

python -m tools.bench.publish FOLDER

FOLDER holds what `--json` wrote: moe_align.json, vector_add.json, softmax.json, layer_norm.json, launch.json,
compile_time.json, those of the asynchronous kernels (`BASELINES`) and of products (`PRODUCTS`, decode_matmul.json) of the
benchmarks, agreement.json and mutants_gpu.json of the tools of these names. Further files of one benchmark, as
persistent_softmax.long.json, add tables to its part. A file that is missing leaves its part of a page as it is.
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import pathlib
import re
from collections.abc import Sequence
from typing import Any

from tools.bench.common import ROOT
from tools.bench.rowwise import UNITS

BENCHMARKS, EMULATOR = (ROOT / "docs" / f"{name}.md" for name in ("benchmarks", "emulator"))
Records = list[dict[str, Any]]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [f"| {' | '.join(header)} |", f"|{'|'.join(['---', *['--:'] * (len(header) - 1)])}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def machine(report: dict[str, Any], date: str) -> str:
    """Where and when the numbers were taken, and by which command and with what to bear in mind where the file says so."""
    device = report["device"]
    parts = [f"{name} {value}" for name, value in device.items() if name != "gpu"]
    texts = [f"{device.get('gpu', 'CPU only')}, {date}; {', '.join(parts)}."]
    texts += [f"`{report['command']}`."] if "command" in report else []
    texts += [report["note"]] if "note" in report else []
    return "\n".join(texts)


def moe(records: Records) -> str:
    """For each data set and block size: slots by kernel, the fastest variant of each."""
    parts = []
    for data, block in dict.fromkeys((r["data"], r["block_size"]) for r in records):
        mine = [r for r in records if (r["data"], r["block_size"]) == (data, block) and "graph_us" in r]
        kernels = list(dict.fromkeys(r["kernel"] for r in mine))
        best: dict[tuple[int, str], float] = {}
        for r in mine:
            place = (r["tokens"], r["kernel"])
            best[place] = min(r["graph_us"], best.get(place, float("inf")))
        rows = []
        for tokens in dict.fromkeys(r["tokens"] for r in mine):
            fastest = min(best[tokens, k] for k in kernels if (tokens, k) in best)
            cells = [best.get((tokens, k)) for k in kernels]
            texts = ["" if c is None else f"**{c:.2f}**" if c == fastest else f"{c:.2f}" for c in cells]
            rows.append([str(tokens), *texts])
        parts.append(
            f"{data}, {mine[0]['num_experts']} experts, blocks of {block}, graph µs:\n\n" + table(["slots", *kernels], rows)
        )
    return "\n\n".join(parts)


def rows(records: Records, keys: Sequence[str]) -> str:
    """Bandwidth of each, and our share of the rivals'."""
    names = list(dict.fromkeys(r["kernel"] for r in records))
    cases = list(dict.fromkeys(tuple(r[k] for k in keys) for r in records))
    speed = {(tuple(r[k] for k in keys), r["kernel"]): r["gb_per_s"] for r in records if "gb_per_s" in r}
    rivals = [n for n in names if n != "tle2cuda"]
    lines = []
    for case in cases:
        ours = speed.get((case, "tle2cuda"))
        cells = [f"{speed[case, n]:.0f}" if (case, n) in speed else "" for n in names]
        shares = [f"{ours / speed[case, n]:.3f}" if ours and (case, n) in speed else "" for n in rivals]
        lines.append([" ".join(map(str, case)), *cells, *shares])
    return table([" ".join(keys) + ", GB/s", *names, *(f"share of {n}" for n in rivals)], lines)


BASELINES = {
    "pipelined_copy": "torch",
    "pipelined_add": "torch",
    "row_reduction": "torch",
    "gather_scale": "plain",
    "persistent_softmax": "copy",
    "persistent_rms_norm": "copy",
    "transpose": "copy",
    "piped_histogram": "plain",
}
PRODUCTS = {  # of those measured in TFLOP/s
    "attention": "torch flash",
    "fused_moe": "triton",
    "fp8_matmul": "cuBLAS fp8",
    "grouped_gemm": "torch one by one",
    "matmul": "torch",
    "matmul_persistent": "torch",
    "matmul_tle": "torch",
}
MOST_CONFIGURED = 3  # rows of a case for kernels whose name has options, as many as a run without a sweep has


def speeds(records: Records, baseline: str, unit: str = "GB/s") -> str:
    """For each case the kernels by speed; of a sweep only the fastest."""
    speed = UNITS[unit][0]
    measures = ("kernel", "us", speed, "error")
    cases: dict[tuple[str, ...], Records] = {}
    for r in records:
        cases.setdefault(tuple(str(value) for key, value in r.items() if key not in measures), []).append(r)
    lines = []
    for case, mine in cases.items():
        label = " ".join(case)
        measured = sorted((r for r in mine if speed in r), key=lambda r: -r[speed])
        base = next((r[speed] for r in measured if r["kernel"] == baseline), None)
        configured = [r for r in measured if "=" in r["kernel"]]
        hidden = configured[MOST_CONFIGURED:]
        for r in (r for r in measured if r not in hidden):
            share = f"{r[speed] / base:.3f}" if base else ""
            lines.append([f"{label}: {r['kernel']}", f"{r['us']:.1f}", f"{r[speed]:.0f}", share])
        if hidden:
            span = f"{hidden[-1][speed]:.0f} to {hidden[0][speed]:.0f}"
            lines.append([f"{label}: {len(hidden)} other choices of options", "", span, ""])
        lines += [[f"{label}: {r['kernel']}", "wrong", "", ""] for r in mine if "error" in r]
    keys = [key for key in records[0] if key not in measures]
    return table([" ".join(keys) + ": kernel", "µs", unit, f"share of {baseline}"], lines)


def compile_times(records: Records) -> str:
    """Milliseconds for each shipped kernel."""
    lines = [[r["kernel"], f"{r['emit_ms']:.0f}", f"{r['cold_ms']:.0f}", f"{r['cached_ms']:.1f}"] for r in records]
    return table(["kernel, ms", "emit", "emit and compile, cold", "emit and load from the cache"], lines)


def launch(records: Records) -> str:
    """Microseconds of Python per launch."""
    rows = [[r["name"], f"{r['us']:.1f}", f"{r['python_us']:.1f}"] for r in records]
    return table(["launch", "µs", "without the driver's, µs"], rows)


def agreement(records: Records) -> str:
    """For each kernel and type, what differs between the GPU and the emulator."""
    lines = []
    for r in records:
        ulp = f"{r['max_ulp']:.1f}" if r["differing"] and r["max_ulp"] is not None else "0"
        share = f"{100 * r['share_of_bound']:.0f} %" if r["differing"] and r["share_of_bound"] is not None else "0"
        verdict = f"**{len(r['problems'])} disagree**" if r["problems"] else "agree"
        cells = (r["jobs"], r["elements"], r["differing"], ulp, share)
        lines.append([f"{r['kernel']} {r['dtype']}".strip(), *map(str, cells), r["bound"], verdict])
    agree = sum(not r["problems"] for r in records)
    header = ["kernel, type", "runs", "elements", "differing", "largest, ulp", "of the bound", "bound", "verdict"]
    total = f"{agree} of {len(records)} kernels and types agree, in {sum(r['jobs'] for r in records)} runs"
    return f"{total} on {sum(r['elements'] for r in records)} elements.\n\n{table(header, lines)}"


def mutants_gpu(records: Records) -> str:
    """The detectors' findings beside compute-sanitizer's."""
    counts = collections.Counter(r["verdict"] for r in records)
    controls = [r for r in records if r["is_control"]]
    clean = sum(not r["found_any"] for r in controls)
    lines = []
    for r in records:
        word = r["verdict"] if r["verdict"] in ("agree", "cannot see") else f"**{r['verdict']}**"
        lines.append([r["title"], r["ours"], r["theirs"], f"{word}: {r['reason']}" if r["reason"] else word])
    total = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    lines = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    head = f"{len(records)} kernels: {total}; {clean} of {len(controls)} unchanged ones without any finding."
    return f"{head}\n\n" + table(["kernel", "detectors", "compute-sanitizer", "verdict"], lines).replace("--:", "---")


PARTS = {
    "moe_align": (BENCHMARKS, moe),
    "vector_add": (BENCHMARKS, lambda records: rows(records, ["elements"])),
    "softmax": (BENCHMARKS, lambda records: rows(records, ["dtype", "rows", "cols"])),
    "layer_norm": (BENCHMARKS, lambda records: rows(records, ["dtype", "rows", "cols"])),
    "compile_time": (BENCHMARKS, compile_times),
    "launch": (BENCHMARKS, launch),
    **{name: (BENCHMARKS, functools.partial(speeds, baseline=base)) for name, base in BASELINES.items()},
    "decode_matmul": (BENCHMARKS, functools.partial(speeds, baseline="torch")),
    **{name: (BENCHMARKS, functools.partial(speeds, baseline=base, unit="TFLOP/s")) for name, base in PRODUCTS.items()},
    "agreement": (EMULATOR, agreement),
    "mutants_gpu": (EMULATOR, mutants_gpu),
}


def put(page: str, name: str, text: str) -> str:
    """The page with a text between the markers of a part.

    Raises:
        ValueError: It has no such markers.
    """
    pattern = re.compile(rf"(<!-- results: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    page, count = pattern.subn(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page)
    if not count:
        raise ValueError(f"no place for {name}")
    return page


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.publish", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--date", required=True, help="day of the measurement, as 2026-11-30")
    options = parser.parse_args(arguments)
    for name, (page, render) in PARTS.items():
        paths = [options.folder / f"{name}.json", *sorted(options.folder.glob(f"{name}.*.json"))]
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
        if not reports:
            continue
        texts = [f"{machine(report, options.date)}\n\n{render(report['records'])}" for report in reports]
        page.write_text(put(page.read_text(encoding="utf-8"), name, "\n\n".join(texts)), encoding="utf-8")
        print(f"{name}: {sum(len(report['records']) for report in reports)} records")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

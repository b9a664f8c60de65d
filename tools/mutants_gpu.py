"""compute-sanitizer's verdict on the planted faults of tests/emulator/mutants.py, beside that of the emulator's detectors.

    python tools/mutants_gpu.py [--json FILE] [--log FILE] [--only PART ...] [--limit-s 200]
    python tools/mutants_gpu.py --dry-run              without a GPU: compiles everything and prints the plan

    python tools/mutants_gpu.py --prepare FILE         in three steps, of which the second alone needs a GPU: compiles,
    python tools/mutants_gpu.py --launch FILE          launches, and writes what the tools say to FILE.told,
    python tools/mutants_gpu.py --judge FILE           emulates, and compares with FILE.told

Every faulty kernel, and every unchanged one as a control, is launched once under memcheck, racecheck, synccheck and
initcheck. Several processes work through a list of kernels each; one that hangs or loses its context is started again
behind the kernel it was at. Waits at mbarriers that come to no end are given up there: the launch counts as one that hangs,
and its process goes on. Exits with 1 when the two disagree about a kernel, with 3 when the machine lacks something.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np

from tle2cuda.compiler import EmittedKernel
from tle2cuda.runtime.contract import Dim3
from tools.launching import EXIT_MACHINE, encoded, memory_of, workers
from tools.mutants_verdict import Ours, Verdict, judge, ours_of, uses_of
from tools.sanitizer_output import TOOLS, Record, command, find_sanitizer, help_text, records
from tools.sanitizer_session import HANG_S, HANGS, MARK, Session

GIVE_UP_S = 0.5  # a wait at an mbarrier that takes so long is one without end
LISTS_PER_TOOL = 4
POISON_BYTES = (0xA5, 0x7B)  # what arrays hold that a kernel must write before it reads
_LOST = 3  # exit code of a worker whose CUDA context is gone


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel to launch: a fault, or an unchanged kernel.

    Attributes:
        kernel: Its name in the compiled file, unlike any other's.
        title: The mutant's name, or that of its subject.
        is_control: Nothing was changed.
        equivalent: Why the fault changes no results; empty for one that does.
        emitted: The kernel as the emulator takes it.
        for_gpu: The same for a GPU, under the name `kernel`; None when the fault stands in a twin.
        ctas: The grid.
        args: Values of the arguments by name.
        uninitialized: Arrays that hold nothing before the launch.
    """

    kernel: str
    title: str
    is_control: bool
    equivalent: str
    emitted: EmittedKernel
    for_gpu: EmittedKernel | None
    ctas: Dim3
    args: Mapping[str, Any]
    uninitialized: tuple[str, ...]


@dataclass(slots=True)
class Theirs:
    """What the tools said about one kernel.

    Attributes:
        found: Kinds of records with their counts, by tool.
        trouble: Launches that hung, died or were not made, by tool.
    """

    found: dict[str, collections.Counter[str]] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)


# ---- what there is to launch ----------------------------------------------------------------------------------------


def candidates(*only: str) -> list[Candidate]:
    """The unchanged kernels, then all faults whose name contains one of `only`, with the kernels they are made from."""
    from tests.emulator.mutants import mutants
    from tests.emulator.subjects import subject

    wanted = (mutant for mutant in mutants() if not mutant.arch)  # those of other targets run on other GPUs
    chosen = [mutant for mutant in wanted if not only or any(part in mutant.id for part in only)]
    found: list[Candidate] = []

    def add(title: str, name: str, emitted: EmittedKernel, for_gpu: EmittedKernel | None, **more: Any) -> None:
        launch = subject(name)
        kernel = f"candidate_{len(found):03d}"
        renamed = _renamed(for_gpu, kernel) if for_gpu else None
        args = {spec.name: launch.args[spec.name] for spec in emitted.contract.args}
        found.append(Candidate(kernel, title, emitted=emitted, for_gpu=renamed, ctas=launch.ctas, args=args, **more))

    for name in dict.fromkeys(mutant.subject for mutant in chosen):
        original = subject(name).emitted
        poisoned = _poisoned(subject(name).args)
        add(name, name, original, original, is_control=True, equivalent="", uninitialized=poisoned)
    for mutant in chosen:
        poisoned = _poisoned(subject(mutant.subject).args)
        faulty = (mutant.emitted(), mutant.emitted_for_gpu())
        add(mutant.id, mutant.subject, *faulty, is_control=False, equivalent=mutant.equivalent, uninitialized=poisoned)
    return found


def _renamed(emitted: EmittedKernel, kernel: str) -> EmittedKernel:
    name = emitted.contract.kernel_name
    source = giving_up(re.sub(rf"(?<!def )\b{name}(?=\()", kernel, emitted.source))
    return EmittedKernel(source, dataclasses.replace(emitted.contract, kernel_name=kernel), ())


def giving_up(source: str) -> str:
    """Waits of `mbarrier_wait` end their thread when they have taken `GIVE_UP_S`."""
    began = (".reg .pred late;", ".reg .u64 began, now;", "mov.u64 began, %%globaltimer;")
    late = ("mov.u64 now, %%globaltimer;", "sub.u64 now, now, began;", f"setp.gt.u64 late, now, {int(GIVE_UP_S * 1e9)};")
    source = source.replace(_ptx("WAIT:"), _ptx(*began, "WAIT:"))
    return source.replace(_ptx("bra WAIT;"), _ptx(*late, "@late exit;", "bra WAIT;"))


def _ptx(*instructions: str) -> str:
    """Instructions as they stand in inline assembly."""
    return "\n        ".join(f'"{instruction}\\n"' for instruction in instructions)


def _poisoned(args: Mapping[str, Any]) -> tuple[str, ...]:
    """Arrays of which every byte is the same poison."""
    names = []
    for name, value in args.items():
        array = memory_of(value)
        if array is not None and array.size:
            raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            if raw[0] in POISON_BYTES and (raw == raw[0]).all():
                names.append(name)
    return tuple(names)


def compile_one(source: str, contract: Any) -> bytes | str:
    """Machine code; or why there is none."""
    from tle2cuda.runtime.build import build_artifact

    try:
        return build_artifact(EmittedKernel(source, contract, ())).cubin
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def compile_all(chosen: Sequence[Candidate]) -> dict[str, bytes | str]:
    """Machine code of every kernel by name, compiled in as many processes as there are processors."""
    context = multiprocessing.get_context("spawn")
    jobs = [(one.kernel, one.for_gpu) for one in chosen if one.for_gpu is not None]
    with ProcessPoolExecutor(workers(), mp_context=context) as pool:
        started = {name: pool.submit(compile_one, emitted.source, emitted.contract) for name, emitted in jobs}
        return {name: future.result() for name, future in started.items()}


# ---- worker: launches a list of kernels -----------------------------------------------------------------------------


def work(payload: pathlib.Path, names: Sequence[str]) -> int:
    """Launches kernels one after the other, and says on standard output when each starts and is done."""
    import cupy

    launches = pickle.loads(payload.read_bytes())
    cupy.cuda.runtime.free(0)
    for name in names:
        print(f"{MARK} start {name}", flush=True)
        problem = ""
        try:
            if _launch(cupy.cuda.runtime, *launches[name]) >= GIVE_UP_S:
                problem = HANGS
        except Exception as error:
            problem = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        lost = problem not in ("", HANGS) and not _is_alive(cupy)
        print(f"{MARK} done {name} {problem}", flush=True)
        if lost:
            os._exit(_LOST)  # destructors would only raise again
    return 0


def _launch(runtime: Any, contract: Any, cubin: bytes, ctas: Dim3, args: Mapping[str, Any], unset: Sequence[str]) -> float:
    """One launch; gives the seconds it took. Each array is an allocation of its own, what lies beside it is nobody's."""
    from tle2cuda.runtime.launcher import Launcher

    pointers, values = [], []
    try:
        for spec in contract.args:
            value = args[spec.name]
            array = memory_of(value)
            if array is not None:
                raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
                pointers.append(runtime.malloc(max(raw.size, 1)))
                if spec.name not in unset and raw.size:
                    runtime.memcpy(pointers[-1], raw.ctypes.data, raw.size, runtime.memcpyHostToDevice)
                value = encoded(value, spec.dtype, pointers[-1]) if spec.kind == "tensor_map" else pointers[-1]
            values.append(value)
        launcher = Launcher(contract, cubin)
        runtime.deviceSynchronize()
        began = time.monotonic()
        launcher.launch(ctas, values, 0)
        runtime.deviceSynchronize()
        return time.monotonic() - began
    finally:
        for pointer in pointers:
            runtime.free(pointer)


def _is_alive(cupy: Any) -> bool:
    try:
        cupy.cuda.runtime.deviceSynchronize()
        return int(cupy.arange(3).sum()) == 3
    except Exception:
        return False


# ---- watcher ----------------------------------------------------------------------------------------------------------


def sessions(
    payload: pathlib.Path,
    names: Mapping[str, Sequence[str]],
    sanitizer: str,
    known: str,
    deadline: float,
    hang_s: float = HANG_S,
) -> list[Session]:
    """Every tool with the kernels that it is given, in lists of about the same length."""
    program = [sys.executable, str(pathlib.Path(__file__).resolve()), "--worker", str(payload)]
    return [
        Session(tool, part, command(sanitizer, tool, known, program), deadline, hang_s=hang_s)
        for number in range(LISTS_PER_TOOL)
        for tool in TOOLS
        if (part := names[tool][number::LISTS_PER_TOOL])
    ]


def theirs_of(finished: Sequence[Session], kernels: Sequence[str]) -> dict[str, Theirs]:
    """What all tools said, by kernel."""
    result = {kernel: Theirs() for kernel in kernels}
    for session in finished:
        for kernel, trouble in session.trouble.items():
            if kernel in result:
                result[kernel].trouble[session.tool] = trouble
        for record in _attributed(session):
            if record.kernel in result and session.trouble.get(record.kernel) != HANGS:  # what follows a wait without end
                result[record.kernel].found.setdefault(session.tool, collections.Counter())[record.what] += 1
    return result


def _attributed(session: Session) -> Iterator[Record]:
    """Records; those that name no kernel go to the one that ran when they were printed."""
    current, block = "", []
    for line in [*session.lines, f"{MARK} end"]:
        if line.startswith(MARK):
            for record in records(block, session.names):
                yield record if record.kernel else dataclasses.replace(record, kernel=current)
            block = []
            words = line.split()
            current = words[2] if len(words) > 2 else current
        else:
            block.append(line)


# ---- the whole ------------------------------------------------------------------------------------------------------


def emulate_all(chosen: Sequence[Candidate]) -> dict[str, Ours]:
    """The detectors' verdict on every kernel."""
    with ThreadPoolExecutor(workers()) as pool:
        started = {one.kernel: pool.submit(ours_of, one.emitted, one.ctas, one.args, one.uninitialized) for one in chosen}
        found = {kernel: future.result() for kernel, future in started.items()}
    # Where a fault is planted, the emulator's twins stand in the place of device helpers: the PTX is in the GPU's text.
    texts = {one.kernel: one.for_gpu.source for one in chosen if one.for_gpu is not None}
    return {
        kernel: dataclasses.replace(ours, uses=ours.uses | uses_of(texts.get(kernel, ""))) for kernel, ours in found.items()
    }


def plan(chosen: Sequence[Candidate], compiled: Mapping[str, bytes | str]) -> Iterator[str]:
    """What a run would do."""
    controls = sum(one.is_control for one in chosen)
    in_twins = [one.title for one in chosen if one.for_gpu is None]
    refused = {one.title: text for one in chosen if isinstance(text := compiled.get(one.kernel), str)}
    launches = sum(isinstance(code, bytes) for code in compiled.values())
    lists = min(LISTS_PER_TOOL, launches) * len(TOOLS)
    yield f"{len(chosen) - controls} faults, {controls} unchanged kernels; {launches} compiled"
    yield f"{launches * len(TOOLS)} launches under {', '.join(TOOLS)}, in {lists} processes"
    for title in in_twins:
        yield f"no GPU text: {title}: stands in the emulator's twin of a helper that has PTX on a GPU"
    for title, text in refused.items():
        yield f"REFUSED {title}: {text}"


def launches_of(chosen: Sequence[Candidate], compiled: Mapping[str, bytes | str]) -> dict[str, tuple[Any, ...]]:
    """What a worker needs of each kernel that has compiled."""
    by_name = {one.kernel: one for one in chosen if one.for_gpu is not None}
    launches = {}
    for name, code in compiled.items():
        if isinstance(code, bytes):
            one = by_name[name]
            assert one.for_gpu is not None
            launches[name] = (one.for_gpu.contract, code, one.ctas, dict(one.args), one.uninitialized)
    return launches


def run(
    launches: Mapping[str, tuple[Any, ...]], options: Any, before: Mapping[str, Theirs] | None = None
) -> dict[str, Theirs]:
    """Launches everything under all tools; what ran `before` stands, and only the rest is launched."""
    sanitizer = find_sanitizer()
    assert sanitizer is not None
    deadline = time.monotonic() + options.limit_s
    with tempfile.TemporaryDirectory(prefix="tle2cuda-mutants-") as folder:
        payload = pathlib.Path(folder) / "launches.pickle"
        payload.write_bytes(pickle.dumps(dict(launches)))
        names = {tool: [name for name in launches if not (before and _has_run(before[name], tool))] for tool in TOOLS}
        todo = sessions(payload, names, sanitizer, help_text(sanitizer), deadline, options.hang_s)
        with ThreadPoolExecutor(options.processes) as pool:
            finished = list(pool.map(Session.run, todo))
    if options.log:
        parts = ["\n".join([" ".join([*session.command, *session.names]), *session.lines, ""]) for session in finished]
        options.log.write_text("\n".join(parts), encoding="utf-8")
    theirs = theirs_of(finished, list(launches))
    for name, told in (before or {}).items():
        for tool in TOOLS:
            if _has_run(told, tool):
                theirs[name].found.update({tool: told.found[tool]} if tool in told.found else {})
                theirs[name].trouble.update({tool: told.trouble[tool]} if tool in told.trouble else {})
    return theirs


def _has_run(told: Theirs, tool: str) -> bool:
    return not told.trouble.get(tool, "").startswith("not run")


def report(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The lines that are printed: all that needs a look first, then the whole table, then the counts."""
    header = ("verdict", "kernel", "ours", "compute-sanitizer's")
    cells = [header, *((one.verdict, one.title, one.ours, one.theirs) for one in verdicts)]
    widths = [max(len(line[column]) for line in cells) for column in range(3)]
    for line in cells:
        yield "  ".join([*(text.ljust(width) for text, width in zip(line[:3], widths, strict=True)), line[3]]).rstrip()
    yield ""
    for one in verdicts:
        if one.reason:
            yield f"{one.verdict}: {one.title}: {one.reason}"
    counts = collections.Counter(one.verdict for one in verdicts)
    controls = [one for one in verdicts if one.is_control]
    clean = sum(not one.found_any for one in controls)
    yield f"{len(verdicts)} kernels: {', '.join(f'{count} {word}' for word, count in counts.most_common())}"
    yield f"{clean} of {len(controls)} unchanged kernels without any finding"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=(), metavar="PART", help="mutants whose name contains one of these")
    parser.add_argument("--skip", nargs="*", default=(), metavar="NAME", help="mutants and kernels to leave out")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="FILE", help="compile for --launch")
    parser.add_argument("--launch", type=pathlib.Path, metavar="FILE", help="launch what --prepare has compiled")
    parser.add_argument("--judge", type=pathlib.Path, metavar="FILE", help="compare what --launch has found")
    parser.add_argument("--dry-run", action="store_true", help="compile, print the plan, launch nothing")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the table there")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="keep everything that the tools print")
    parser.add_argument("--limit-s", type=float, default=200.0, help="launch for so many seconds (200)")
    parser.add_argument("--hang-s", type=float, default=HANG_S, help="silence of a launch that means it hangs (12)")
    parser.add_argument("--processes", type=int, default=min(12, workers()), help="how many at once")
    parser.add_argument("--worker", nargs="+", metavar="WORD", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        return work(pathlib.Path(options.worker[0]), options.worker[1:])
    if options.launch:
        return launch_prepared(options)
    began = time.monotonic()
    device: dict[str, Any] = {}
    if options.judge:
        only, titles, compiled, _ = pickle.loads(options.judge.read_bytes())
        chosen = [one for one in candidates(*only) if one.title in titles]
        device, theirs = _read_told(_told(options.judge))
        return conclude(chosen, compiled, emulate_all(chosen), theirs, device, options)
    if not (options.dry_run or options.prepare):
        why, device = _machine()
        if why:
            print(f"mutants_gpu.py: {why}; --dry-run needs neither GPU nor tool", file=sys.stderr)
            return EXIT_MACHINE
    chosen = candidates(*options.only)
    chosen = [one for one in chosen if one.title not in options.skip]
    if not chosen:
        parser.error(f"no mutant's name contains {options.only!r}")
    if options.dry_run or options.prepare:
        compiled = compile_all(chosen)
        lines = list(plan(chosen, compiled))
        print("\n".join(lines))
        if options.prepare:
            titles = {one.title for one in chosen}
            options.prepare.write_bytes(pickle.dumps((options.only, titles, compiled, launches_of(chosen, compiled))))
        return int(any(line.startswith("REFUSED") for line in lines))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        emulated = pool.submit(emulate_all, chosen)
        compiled = compile_all(chosen)
        print("\n".join(plan(chosen, compiled)))
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
        ours = emulated.result()
        print(f"emulated in {time.monotonic() - began:.0f} s", flush=True)
        # What may hang stands behind all else, as each of these takes its time.
        launches = sorted(launches_of(chosen, compiled).items(), key=lambda item: ours[item[0]].may_hang)
        theirs = run(dict(launches), options)
    code = conclude(chosen, compiled, ours, theirs, device, options)
    print(f"{time.monotonic() - began:.0f} s in all")
    return code


def launch_prepared(options: Any) -> int:
    """Launches what `--prepare` has compiled."""
    why, device = _machine()
    if why:
        print(f"mutants_gpu.py: {why}", file=sys.stderr)
        return EXIT_MACHINE
    *_, launches = pickle.loads(options.launch.read_bytes())
    told = _told(options.launch)
    theirs = run(launches, options, _read_told(told)[1] if told.exists() else None)
    content = {
        "device": device,
        "theirs": {name: {"found": one.found, "trouble": one.trouble} for name, one in theirs.items()},
    }
    told.write_text(json.dumps(content), encoding="utf-8")
    left = sum(not _has_run(one, tool) for one in theirs.values() for tool in TOOLS)
    print(f"{len(theirs)} kernels, {left} launches under a tool not made; run again to make these")
    return int(left > 0)


def conclude(
    chosen: Sequence[Candidate],
    compiled: Mapping[str, bytes | str],
    ours: Mapping[str, Ours],
    theirs: Mapping[str, Theirs],
    device: Mapping[str, Any],
    options: Any,
) -> int:
    """Compares, prints, and writes the table; 1 when something needs a look."""
    verdicts = []
    for one in chosen:
        told = theirs.get(one.kernel)
        refused = (
            compiled.get(one.kernel) if one.for_gpu is not None else "the fault stands in the emulator's twin of a helper"
        )
        found, trouble = (told.found, told.trouble) if told else ({}, {})
        verdicts.append(
            judge(one.title, ours[one.kernel], found, trouble, one.is_control, refused if isinstance(refused, str) else "")
        )
    print("\n".join(report(verdicts)))
    if options.json:
        content = {"device": device, "records": [dataclasses.asdict(one) for one in verdicts]}
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return int(any(one.is_bad for one in verdicts))


def _read_told(file: pathlib.Path) -> tuple[dict[str, Any], dict[str, Theirs]]:
    content = json.loads(file.read_text(encoding="utf-8"))
    theirs = {
        name: Theirs({tool: collections.Counter(kinds) for tool, kinds in one["found"].items()}, one["trouble"])
        for name, one in content["theirs"].items()
    }
    return content["device"], theirs


def _told(prepared: pathlib.Path) -> pathlib.Path:
    return prepared.with_name(f"{prepared.name}.told")


def _machine() -> tuple[str, dict[str, Any]]:
    """What the machine lacks, empty when it lacks nothing; and what it is."""
    from tle2cuda.emulator.toolchain import find_compiler
    from tle2cuda.errors import ToolchainError
    from tools.launching import GpuDevice

    sanitizer = find_sanitizer()
    if sanitizer is None:
        return "compute-sanitizer is neither on PATH nor in /usr/local/cuda", {}
    try:
        find_compiler()
        device = GpuDevice()
    except ToolchainError as error:
        return str(error).splitlines()[0], {}
    if not device.arch.startswith("sm_90"):
        return f"the mutants are emitted for sm_90a, this GPU is {device.arch}", {}
    version = subprocess.run([sanitizer, "--version"], capture_output=True, text=True, check=False).stdout.split("\n")
    return "", {**device.describe(), "compute-sanitizer": next((v for v in version if "ersion" in v), "").strip()}


if __name__ == "__main__":
    sys.exit(main())

"""Reads what compute-sanitizer prints: its command line, and which tool said what about which kernel.

A record begins with a line that says what is wrong, and goes on with indented lines that say where: `at KERNEL+0x150`, the
thread, the address. Records are attributed to kernels by name, as the tool prints them from a process of its own, in no
known order with the program's own output.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PREFIX = "========="
_PLACES = ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")

# What a tool is told besides its name; options that an installed version does not know are left out. Not among them is
# --destroy-on-device-error=kernel: with it the tools of CUDA 13.0 crash at their first report.
_OPTIONS = {
    "--print-limit": "100000",
    "--print-level": "info",
    "--show-backtrace": "no",
    "--launch-timeout": "60",
}
_OPTIONS_OF = {"memcheck": {"--padding": "512"}, "racecheck": {"--racecheck-report": "analysis"}}

_HEADS = (
    ("memcheck", re.compile(r"Invalid __(?:global|shared|local)__ (?:read|write|atomic)\S*(?: of size [\d,]+ bytes?)?")),
    ("memcheck", re.compile(r"(?:Out-of-range|Misaligned) Shared or Local Address|Misaligned Address", re.IGNORECASE)),
    ("racecheck", re.compile(r"(?:Error|Warning|Info): (?:Potential )?Race reported between \w+ access", re.IGNORECASE)),
    ("racecheck", re.compile(r"(?:Error|Warning|Info): (?:Potential )?(?:RAW|WAR|WAW) hazard detected", re.IGNORECASE)),
    ("synccheck", re.compile(r"Barrier error detected\.[^.]*\.?")),
    ("synccheck", re.compile(r"(?:Invalid|Missing) (?:use of )?(?:barrier|wait|arrive)[^.]*", re.IGNORECASE)),
    ("initcheck", re.compile(r"Uninitialized __(?:global|shared)__ memory \w+(?: of size [\d,]+ bytes?)?")),
)
_REFUSED = re.compile(r"Device not supported|Unable to|Target application terminated before|Failed to initialize", re.I)


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that a tool says.

    Attributes:
        tool: Which tool.
        what: What is wrong, as the tool words it, without sizes.
        kernel: The kernel, of those that were asked about; empty when the record names none.
        text: All of it.
    """

    tool: str
    what: str
    kernel: str
    text: str


def find_sanitizer() -> str | None:
    """The program, on PATH or in the toolkit's usual place."""
    return shutil.which("compute-sanitizer") or next((path for path in _PLACES if os.access(path, os.X_OK)), None)


def command(sanitizer: str, tool: str, known: str, program: Sequence[str]) -> list[str]:
    """The command line that runs a program under a tool.

    Args:
        sanitizer: Path of compute-sanitizer.
        tool: One of `TOOLS`.
        known: The output of its `--help`.
        program: What to run.
    """
    options = {**_OPTIONS, **_OPTIONS_OF.get(tool, {})}
    words = [word for name, value in options.items() if name in known for word in (name, value)]
    return [sanitizer, "--tool", tool, *words, *program]


def help_text(sanitizer: str) -> str:
    """What the program says about its options."""
    done = subprocess.run([sanitizer, "--help"], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def records(lines: Iterable[str], kernels: Sequence[str]) -> Iterator[Record]:
    """The records of an output, in its order.

    Args:
        lines: The output, in which other lines may stand between the tool's.
        kernels: Names to look for; none is part of another.
    """
    pending: list[str] = []
    for line in lines:
        if not line.startswith(PREFIX):
            continue
        text = line.removeprefix(PREFIX).rstrip()
        continues = bool(pending) and text.startswith("  ")
        if not continues:
            if pending:
                yield _record(pending, kernels)
            pending = []
            if _head(text) is None:
                continue
        pending.append(text.strip())
    if pending:
        yield _record(pending, kernels)


def refusal(lines: Iterable[str]) -> str:
    """Why the tool could not watch the program at all; empty when it could."""
    return next(
        (line.removeprefix(PREFIX).strip() for line in lines if line.startswith(PREFIX) and _REFUSED.search(line)), ""
    )


def _head(text: str) -> tuple[str, str] | None:
    for tool, pattern in _HEADS:
        if found := pattern.search(text):
            return tool, re.sub(r" of size [\d,]+ bytes?", "", found[0]).strip(" .")
    return None


def _record(lines: Sequence[str], kernels: Sequence[str]) -> Record:
    head = _head(lines[0])
    assert head is not None
    tool, what = head
    text = "\n".join(lines)
    if tool == "memcheck" and "misaligned" in text:
        what += ", misaligned"
    return Record(tool, what, next((name for name in kernels if name in text), ""), text)

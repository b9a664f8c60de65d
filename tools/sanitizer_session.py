"""Runs workers under a tool of compute-sanitizer: one that hangs or dies is started again behind the kernel it was at."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tools.sanitizer_output import refusal

START_S = 60.0  # silence in which a worker may start: imports and a CUDA context under a tool
HANG_S = 12.0  # silence behind the start of a launch that means it hangs
MARK = "@@@"  # in front of what a worker says itself: `start NAME`, `done NAME [problem]`
HANGS = "hangs"


@dataclass(slots=True)
class Session:
    """A tool that goes through a list of kernels, in one process or several.

    Attributes:
        tool: The tool.
        names: The kernels.
        command: Command line of the worker under the tool, to which names are added.
        deadline: When to stop, by `time.monotonic`.
        lines: Everything that was printed.
        trouble: What went wrong with a launch, by kernel.
        patience_s: Silence of the process that is running that means it hangs.
        hang_s: The same behind the start of a launch.
    """

    tool: str
    names: Sequence[str]
    command: Sequence[str]
    deadline: float
    lines: list[str] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)
    patience_s: float = START_S
    hang_s: float = HANG_S

    def run(self) -> Session:
        """Goes through the whole list."""
        rest = list(self.names)
        while rest:
            if time.monotonic() > self.deadline:
                self.trouble |= dict.fromkeys(rest, "not run: no time left")
                break
            done = self._run_some(rest)
            if not done and time.monotonic() > self.deadline:
                continue
            if not done:
                why = refusal(self.lines) or (self.lines[-1] if self.lines else "nothing was printed")
                self.trouble |= dict.fromkeys(rest, f"not run: the worker does not start: {why}"[:300])
                break
            rest = rest[done:]
        return self

    def _run_some(self, names: Sequence[str]) -> int:
        """Runs one process; returns how many kernels it is through with, the one it ended at included."""
        process = subprocess.Popen(
            [*self.command, *names],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        current, done, hangs = "", 0, False
        self.patience_s = START_S
        for line in self._lines_of(process):
            if line is None:
                hangs = True
                if current:
                    is_cut = time.monotonic() > self.deadline
                    self.trouble[current] = "not run: no time left to end" if is_cut else HANGS
                break
            self.lines.append(line)
            words = line.split(maxsplit=3)
            if words[:1] != [MARK]:
                continue
            self.patience_s = self.hang_s
            if words[1] == "start":
                current = words[2]
                continue
            done += 1
            current = ""
            if len(words) > 3:
                self.trouble[words[2]] = words[3].strip()
        _end(process, hangs)
        if current:
            self.trouble.setdefault(current, f"ended its process with code {process.returncode}")
            done += 1
        return done

    def _lines_of(self, process: subprocess.Popen[str]) -> Iterator[str | None]:
        """Lines as they come; None, and then no more, when there is none for too long."""
        lines: queue.Queue[str | None] = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        while True:
            patience = min(self.patience_s, max(self.deadline - time.monotonic(), 1.0))
            try:
                line = lines.get(timeout=patience)
            except queue.Empty:
                yield None
                return
            if line is None:
                return
            yield line.rstrip("\n")


def _end(process: subprocess.Popen[str], hangs: bool) -> None:
    """Ends a process with all it started: at once when it hangs."""
    try:
        process.wait(timeout=0 if hangs else 5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

"""Instructions of the machine code by operation and by Python line: what the emitted lines became.

The counts are static, as registers and spills are: an instruction in a loop counts once, an unrolled one each time it
stands there. They come from code with line information, which may differ from the code without by a few instructions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tle2cuda.runtime.nvrtc import span_of_line
from tle2cuda.runtime.sass import disassemble

if TYPE_CHECKING:
    from tle2cuda.runtime.compiled import Artifact

_PLACE = re.compile(r'"([^"]*)", line (\d+)')
_INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?(?P<opcode>[A-Z][A-Z0-9_]*)")
_PADDING = "NOP"


@dataclass(frozen=True, slots=True)
class Instructions:
    """How many instructions a kernel has.

    Attributes:
        total: All of them, padding apart.
        ops: Those of each operation of the kernel's IR, in the order of the emitted file; device helpers count for the
            operation that calls them. The rest belongs to no line.
        lines: Those of each line of the Python source, as `file.py:12`.
    """

    total: int
    ops: Mapping[str, int]
    lines: Mapping[str, int]


def count_instructions(artifact: Artifact) -> Instructions:
    """Count the instructions of a kernel that was compiled with line information.

    Raises:
        ToolchainError: nvdisasm is not installed, or fails.
    """
    sass = disassemble(artifact.cubin, artifact.contract.kernel_name, with_lines=True)
    first_body_line = artifact.op_map[0][0] if artifact.op_map else 1
    counts: Counter[int] = Counter()
    for places in instruction_places(sass.splitlines(), artifact.source_path.name):
        counts[next((line for line in places if line >= first_body_line), 0)] += 1
    op_of = dict(artifact.op_map)
    ops: Counter[str] = Counter()
    lines: Counter[tuple[str, int, str]] = Counter()
    for line in sorted(counts):
        if line in op_of:
            ops[op_of[line]] += counts[line]
        if line and (span := span_of_line(artifact.line_map, line)) is not None:
            lines[span.file, span.line, span.short()] += counts[line]
    return Instructions(counts.total(), dict(ops), {key[-1]: lines[key] for key in sorted(lines)})


def instruction_places(sass: Iterable[str], file: str) -> Iterator[tuple[int, ...]]:
    """For each instruction, lines of a file that it comes from: innermost first, then those they are inlined into."""
    places: tuple[int, ...] = ()
    follows_place = False
    for text in sass:
        if "//## File " in text:
            found = _PLACE.findall(text)
            numbers = tuple(int(number) for name, number in found if name.rpartition("/")[2] == file)
            places = (places if follows_place else ()) + numbers
            follows_place = True
            continue
        match = _INSTRUCTION.match(text)
        if match is None:
            continue
        follows_place = False
        if match["opcode"] != _PADDING:
            yield places


def render_instructions(instructions: Instructions) -> str:
    """The counts as lines for people."""
    rows = [("machine code", "in total", instructions.total)]
    rows += [("by operation", name, count) for name, count in instructions.ops.items()]
    if rest := instructions.total - sum(instructions.ops.values()):
        rows.append(("by operation", "the rest", rest))
    rows += [("by line", name, count) for name, count in instructions.lines.items()]
    width = max(len(name) for _, name, _ in rows)
    lines, last = [], ""
    for group, name, count in rows:
        unit = "instruction" if count == 1 else "instructions"
        lines.append(f"{group if group != last else '':<14}{name:<{width}}  {count} {unit}")
        last = group
    return "\n".join(lines)

"""From an emitted file to the C++ that is compiled in its place.

The text stays as it is, line for line, so that every place in it has the number it has in the emitted file, but for three
things that C++ cannot express by headers alone:

- Device helpers of ours that hold PTX are replaced by their twins, which stand beside them in `templates/device/*.cuh`.
- `__shared__` declarations become references into the shared memory of the calling thread's CTA. A macro in front of a
  declaration can give a variable one instance for the process or for each operating-system thread, and CTAs are neither:
  those of a cluster live at the same time, and all run in one thread, so that schedules can be reproduced.
- The kernel has another name: its own may be one of the C library, as `write` is, which the linker would take instead.
"""

from __future__ import annotations

import re

from tle2cuda.errors import NotSupported
from tle2cuda.lowering.helpers import Helper, all_helpers, find_helper
from tle2cuda.ptx.cpp import without_asm
from tle2cuda.targets import parse_target

_SHARED = re.compile(
    r"(?P<extern>extern\s+)?__shared__\s+(?:(?:__align__|alignas)\s*\((?P<alignment>\d+)\)\s+)?"
    r"(?P<type>[^;=]+?)\s*\b(?P<name>\w+)\s*(?P<extents>(?:\[[^\];]*\]\s*)*);"
)
# The struct that emitted files keep their shared memory in (templates/kernel.cu.j2), and what stands in it.
_STRUCT = re.compile(r"^struct (?:alignas\((?P<alignment>\d+)\) )?Shared \{(?P<body>.*?)^\};", re.DOTALL | re.MULTILINE)
_MEMBER_OR_BRACE = re.compile(r"(?P<open>\bunion\s*\{)|(?P<name>\w+)\s*(?:\[[^\];]*\]\s*)*;|\}\s*;")
_SIZE_CHECK = re.compile(r"^static_assert\(sizeof\(Shared\)[^\n]*;", re.MULTILINE)
_KERNEL_PREFIX = "tle2cuda_kernel_"
_GAP_IN_FRONT = 1024
_GAP_ALIGNMENT = 128  # which leaves every member in the banks that it has on the GPU
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ON_DEMAND = re.compile(r"^__device__ __forceinline__ void ((?:wgmma_m64|tcgen05_m|tcgen05_ld_)\w+)\(", re.MULTILINE)
_PTX = re.compile(r"\basm\b|\b__asm__\b")


def translation_unit(source: str, kernel: str) -> str:
    """The C++ text that stands for an emitted file: its lines, and behind them what the runner calls.

    Args:
        source: The emitted file.
        kernel: Name of its kernel.

    Raises:
        NotSupported: The text holds PTX of its own, or a shared declaration of a form that is not known.
    """
    text = without_asm(with_twins(source))
    text, members = with_gaps(text)
    text = with_shared_memory(text)
    bare = without_comments(text)
    if found := _PTX.search(bare):
        raise NotSupported(
            f"line {_line_of(bare, found.start())} of the emitted file holds inline PTX, which the emulator cannot execute",
            help="run this kernel on a GPU, or in the interpreter",
        )
    definition = re.compile(rf"__global__[^;{{}}]*?\b(?={re.escape(kernel)}\s*\()").search(bare)
    if definition is not None:
        text = text[: definition.end()] + _KERNEL_PREFIX + text[definition.end() :]
        kernel = _KERNEL_PREFIX + kernel
    return f"{text.rstrip()}\nTLE2CUDA_ENTRY({kernel})\n{members}"


def architecture_macro(target: str) -> str:
    """Definition of `__CUDA_ARCH__` for the target that a file was emitted for, as a compiler option."""
    major, minor = parse_target(target).capability
    return f"-D__CUDA_ARCH__={100 * major + 10 * minor}"


def helpers_with_twins() -> list[Helper]:
    """Device helpers that the emulator replaces, each once, by file and place."""
    return [helper for helper in dict.fromkeys(all_helpers().values()) if helper.twin]


def with_twins(source: str) -> str:
    """Every helper that holds PTX replaced by its twin, in as many lines."""
    on_demand = (find_helper(name) for name in dict.fromkeys(_ON_DEMAND.findall(source)))
    for helper in (*helpers_with_twins(), *(helper for helper in on_demand if helper is not None)):
        position = source.find(helper.text)
        if position >= 0:
            twin = _in_lines(helper.twin, helper.text.count("\n"))
            source = source[:position] + twin + source[position + len(helper.text) :]
    return source


def with_gaps(source: str) -> tuple[str, str]:
    """The struct `Shared` of an emitted file with room between its members, and what tells the runner where they are.

    So an access just outside of one member hits no other.

    Returns:
        The text, in as many lines, and text to put behind it.
    """
    bare = without_comments(source)
    struct = _STRUCT.search(bare)
    if struct is None:
        return source, ""
    pieces, names = _members_and_gaps(source, bare, struct)
    text = "".join((source[: struct.start("body")], *pieces, source[struct.end("body") :]))
    members = ", ".join(f"TLE2CUDA_SHARED_MEMBER(Shared, {name})" for name in names)
    aligned = f"alignas({struct['alignment']}) " if struct["alignment"] else ""
    behind = (
        f"namespace {{ struct {aligned}Shared_without_gaps "
        f"{{ {' '.join(struct['body'].split())} }}; }}\n"
        f'extern "C" const unsigned tle2cuda_shared_gaps = sizeof(Shared) - sizeof(Shared_without_gaps);\n'
        f'extern "C" const ::tle2cuda_emulator::SharedMember tle2cuda_shared_members[] = {{{members}, {{}}}};\n'
    )
    if check := _SIZE_CHECK.search(text):  # it means the struct as it was
        text = text[: check.start()] + text[check.end() :]
        behind += check[0].replace("sizeof(Shared)", "sizeof(Shared_without_gaps)") + "\n"
    return text, behind


def _members_and_gaps(source: str, bare: str, struct: re.Match[str]) -> tuple[list[str], list[str]]:
    """The body of `Shared` with a gap in front and behind each member or union, in pieces; and the names of its members."""
    alignment = max(int(struct["alignment"] or 1), _GAP_ALIGNMENT)  # members keep theirs
    front = -(-_GAP_IN_FRONT // alignment) * alignment
    pieces, last = [f" unsigned char gap_[{front}];"], struct.start("body")
    names: list[str] = []
    alike: list[str] = []  # members that share their bytes
    in_union = False
    for token in _MEMBER_OR_BRACE.finditer(bare, *struct.span("body")):
        if token["name"]:
            names.append(token["name"])
            alike.append(token["name"])
        in_union = bool(token["open"]) or (in_union and bool(token["name"]))
        if in_union or not alike:
            continue
        size = " + ".join(f"::tle2cuda_emulator::gap_behind<decltype({name}), {alignment}>()" for name in alike)
        pieces += [source[last : token.end()], f" unsigned char gap_{len(names)}[{size}];"]
        last = token.end()
        alike = []
    return [*pieces, source[last : struct.end("body")]], names


def with_shared_memory(source: str) -> str:
    """Every `__shared__` declaration as a reference into the CTA's shared memory.

    Raises:
        NotSupported: One has a form that is not known.
    """
    bare = without_comments(source)
    pieces, last = [], 0
    for match in _SHARED.finditer(bare):
        pieces += [source[last : match.start()], _declaration(match)]
        last = match.end()
    pieces.append(source[last:])
    result = "".join(pieces)
    if "__shared__" in (bare := without_comments(result)):
        line = _line_of(bare, bare.index("__shared__"))
        raise NotSupported(
            f"line {line} of the emitted file: the emulator does not know this form of `__shared__`",
            help="declare one variable at a time, without an initialiser: __shared__ float tile[32][33];",
        )
    return result


def _declaration(match: re.Match[str]) -> str:
    """The replacement of one declaration, on as many lines."""
    type_, name, extents = match["type"].strip(), match["name"], match["extents"].strip()
    newlines = "\n" * match.group().count("\n")
    if match["extern"]:
        base = "::tle2cuda_emulator::tle2cuda_dynamic_shared()"
        return f"{type_}* const {name} = reinterpret_cast<{type_}*>({base});{newlines}"
    alignment = f"alignof({name}_emulated)"
    if match["alignment"]:
        alignment = f"({alignment} > {match['alignment']} ? {alignment} : {match['alignment']})"
    return (
        f"typedef {type_} {name}_emulated{extents}; "
        f"static ::tle2cuda_emulator::SharedSlot {name}_slot = "
        f'{{static_cast<unsigned>(sizeof({name}_emulated)), static_cast<unsigned>({alignment}), 0, "{name}", '
        f"::tle2cuda_emulator::shape_of<{name}_emulated>()}}; "
        f"{name}_emulated& {name} = ::tle2cuda_emulator::shared_variable<{name}_emulated>({name}_slot);{newlines}"
    )


def without_comments(source: str) -> str:
    """The text with comments blanked out: every other character and every line stays in its place."""
    return _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)


def _in_lines(text: str, newlines: int) -> str:
    """A text made to have exactly so many line breaks: padded, or its last lines joined."""
    lines = text.split("\n")
    if len(lines) - 1 > newlines:
        lines = [re.sub(r"//.*", "", line) for line in lines]
        lines[newlines:] = [" ".join(line.strip() for line in lines[newlines:])]
    return "\n".join(lines) + "\n" * (newlines + 1 - len(lines))


def _line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1

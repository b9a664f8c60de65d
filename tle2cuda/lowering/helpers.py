"""Device helpers: fixed CUDA text of `templates/device/`, emitted only when used.

A `.cuh` file holds one concept in one or more sections. A section starts with `// defines: NAMES` and may go on with
`// needs: NAMES`; both lines are for this loader and are not emitted. What follows a line `// twin:` says the same without
PTX: the emulator compiles it in place of the text above, which alone is emitted. A `.cuh.j2` file is the template of such a
file, for helpers that differ in an instruction's suffixes. Helpers of which there are hundreds alike are written when they
are asked for (`find_helper`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tle2cuda.errors import InternalError

DEVICE_DIRECTORY = Path(__file__).resolve().parent.parent / "templates" / "device"

_DEFINES = re.compile(r"^// defines:(?P<names>.*)$", re.MULTILINE)
_TWIN = re.compile(r"^// twin:\n", re.MULTILINE)
_FUNCTION = re.compile(r"^__device__ [^(\n]*?(\w+)\(", re.MULTILINE)
_NEEDS = re.compile(r"\A// needs:(?P<names>.*)\n")


@dataclass(frozen=True, slots=True)
class Helper:
    """One section of a `.cuh` file.

    Attributes:
        names: What it defines, the first being its own name.
        needs: Names of what it uses.
        text: CUDA text, without a trailing newline.
        file: Name of the file.
        twin: The same for the emulator; empty where the text itself runs there.
    """

    names: tuple[str, ...]
    needs: tuple[str, ...]
    text: str
    file: str
    twin: str = ""


@functools.lru_cache(maxsize=1)
def all_helpers() -> dict[str, Helper]:
    """Every helper by each name that it defines."""
    found: dict[str, Helper] = {}
    for file, text in _files():
        for helper in _sections(text, file):
            for name in helper.names:
                if name in found:
                    raise InternalError(f"device helper {name} is defined in {found[name].file} and in {file}")
                found[name] = helper
    return found


def _files() -> Iterator[tuple[str, str]]:
    """Names and texts of the `.cuh` files, those made of templates included."""
    from tle2cuda.lowering.templates import render_template

    for path in sorted(DEVICE_DIRECTORY.iterdir()):
        if path.suffix == ".cuh":
            yield path.name, path.read_text(encoding="utf-8")
        elif path.name.endswith(".cuh.j2"):
            yield path.stem, render_template(f"{DEVICE_DIRECTORY.name}/{path.name}", None)


_WGMMA, _TCGEN05 = "wgmma_m64", ("tcgen05_m", "tcgen05_ld_")
"""How helpers begin that are written on demand: there are too many of them to write all."""


def find_helper(name: str) -> Helper | None:
    """The helper of a name; None when there is none."""
    if name.startswith(_TCGEN05):
        from tle2cuda.lowering import tcgen05_helpers

        if tcgen05_helpers.is_name(name):
            return tcgen05_helpers.tcgen05_helper(name)
    if name.startswith(_WGMMA):
        from tle2cuda.lowering import wgmma_helpers

        if wgmma_helpers.is_name(name):
            return wgmma_helpers.wgmma_helper(name)
    return all_helpers().get(name)


@functools.lru_cache(maxsize=1)
def helper_identifiers() -> frozenset[str]:
    """What helpers are called: their own names and those of the functions in them, which may be overloads of several."""
    texts = (helper.text for helper in all_helpers().values())
    return frozenset(all_helpers()).union(*(_FUNCTION.findall(text) for text in texts))


def _sections(text: str, file: str) -> list[Helper]:
    starts = list(_DEFINES.finditer(text))
    if not starts or text[: starts[0].start()].strip():
        raise InternalError(f"{file} does not start with `// defines: ...`")
    sections = []
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for match, end in zip(starts, ends, strict=True):
        body = text[match.end() : end].lstrip("\n")
        needs = _NEEDS.match(body)
        if needs is not None:
            body = body[needs.end() :]
        body, *twins = _TWIN.split(body)
        if len(twins) > 1:
            raise InternalError(f"{file}: {match['names'].strip()} has {len(twins)} twins")
        sections.append(
            Helper(
                tuple(match["names"].split()),
                tuple(needs["names"].split()) if needs is not None else (),
                body.strip("\n"),
                file,
                twins[0].strip("\n") if twins else "",
            )
        )
    return sections


def helper_texts(names: Collection[str]) -> list[str]:
    """The texts of these helpers and of all they need: what is needed first, otherwise by name.

    Raises:
        InternalError: There is no such helper, or helpers need each other in a circle.
    """
    done: dict[str, Helper] = {}
    open_: list[str] = []

    def visit(name: str) -> None:
        helper = find_helper(name)
        if helper is None:
            raise InternalError(f"no device helper defines {name}" + (f", which {open_[-1]} needs" if open_ else ""))
        key = helper.names[0]
        if key in done:
            return
        if key in open_:
            raise InternalError(f"device helpers need each other: {' -> '.join([*open_, key])}")
        open_.append(key)
        for needed in sorted(helper.needs):
            visit(needed)
        open_.pop()
        done[key] = helper

    for name in sorted(names):
        visit(name)
    return [helper.text for helper in done.values()]

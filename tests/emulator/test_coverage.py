"""What emitted files may use, derived from the emitter's own sources: each must exist in the emulator's headers."""

from __future__ import annotations

import pathlib
import re
import subprocess

import pytest

from tle2cuda.emulator import toolchain, translate
from tle2cuda.lowering import arithmetic, atomics, casts
from tle2cuda.lowering import math as math_lowering
from tle2cuda.lowering.helpers import DEVICE_DIRECTORY, all_helpers, helper_texts

PACKAGE = pathlib.Path(translate.__file__).parents[1]
INCLUDE = PACKAGE / "emulator" / "include"
LOWERING = sorted((PACKAGE / "lowering").glob("*.py"))
TEMPLATES = [*sorted((PACKAGE / "templates").glob("*.j2")), *sorted(DEVICE_DIRECTORY.glob("*.cuh"))]

KEYWORDS = {
    "__global__",
    "__device__",
    "__host__",
    "__forceinline__",
    "__noinline__",
    "__shared__",
    "__restrict__",
    "__launch_bounds__",
    "__cluster_dims__",
    "__align__",
    "__builtin_assume",
    "__LINE__",
}


def compiles(text: str) -> str:
    """What the host's compiler says against a text that includes all of the emulator's headers; empty when nothing."""
    compiler = toolchain.find_compiler()
    headers = "".join(f"#include <{name}>\n" for name in all_headers())
    command = [
        compiler.path,
        "-std=c++17",
        "-fsyntax-only",
        "-w",
        f"-I{INCLUDE}",
        "-include",
        "tle2cuda_emulator.h",
        "-x",
        "c++",
        "-",
    ]
    done = subprocess.run(command, input=headers + text, capture_output=True, text=True, check=False)
    return done.stderr


def all_headers() -> list[str]:
    """Headers that stand in for the toolkit's."""
    own = ("tle2cuda_emulator.h", "tle2cuda_emulator")
    names = [path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*") if path.is_file()]
    return sorted(name for name in names if name.split("/")[0] not in own)


def used_headers() -> set[str]:
    """Headers that lowering writes into emitted files, and that CUDA types need."""
    texts = [path.read_text(encoding="utf-8") for path in LOWERING]
    return {name for text in texts for name in re.findall(r"""includes\.add\(\s*["']([^"']+)["']""", text)}


def used_names() -> set[str]:
    """Functions of CUDA that lowering and templates spell."""
    names = {*math_lowering._FLOAT.values(), *math_lowering._DOUBLE.values(), *math_lowering._HALF.values()}
    names |= {name + suffix for name in math_lowering._LIBRARY - {"abs"} for suffix in ("", "f")}
    names |= {
        *arithmetic._ROUNDED.values(),
        *casts._BITCASTS.values(),
        *casts._TO_FLOAT.values(),
        *casts._FROM_FLOAT.values(),
    }
    names |= {name + suffix for name in atomics._NAMES.values() for suffix in atomics._SCOPE_SUFFIX.values()}
    for path in (*LOWERING, *TEMPLATES):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = re.sub(r'"""[\s\S]*?"""', "", text)
        else:
            text = translate.without_comments(text)
            names |= set(re.findall(r"\b(atomic[A-Z]\w*)\(", text))
        names |= {name for name in re.findall(r"(?<![\w.])__[a-z0-9]\w*?(?=\()", text) if not name.endswith("__")}
    return {name for name in names if name.rstrip("_") not in ("__h", "__u", "__")}


def test_every_helper_with_ptx_has_a_twin() -> None:
    missing = [
        f"{helper.file}: {helper.names[0]}"
        for helper in dict.fromkeys(all_helpers().values())
        if re.search(r"\basm\b", translate.without_comments(helper.text)) and not helper.twin
    ]
    assert not missing, f"device helpers with PTX and without `// twin:`: {missing}"


def test_a_twin_stands_only_where_it_is_needed_and_holds_no_ptx() -> None:
    for helper in translate.helpers_with_twins():
        is_wait = helper.names[0] == "mbarrier_poll"  # asks again and again; its twin says who waits for what
        assert is_wait or re.search(r"\basm\b", translate.without_comments(helper.text)), f"{helper.names[0]} needs no twin"
        assert not re.search(r"\basm\b", translate.without_comments(helper.twin)), (
            f"the twin of {helper.names[0]} holds PTX"
        )


def test_a_twin_declares_what_its_helper_declares() -> None:
    for helper in translate.helpers_with_twins():
        signature = re.search(r"(?:template[^\n]*\n)?__device__[^\n{]*", helper.text)
        assert signature, helper.names[0]
        assert signature.group().strip() in helper.twin, f"the twin of {helper.names[0]} has another signature"


def test_helpers_are_emitted_without_their_twins() -> None:
    texts = "\n".join(helper_texts(list(all_helpers())))
    assert "twin" not in texts and "tle2cuda_emulator" not in texts


def test_all_helpers_compile() -> None:
    text = "namespace {\n" + "\n\n".join(helper_texts(list(all_helpers()))) + "\n}\n"
    errors = compiles(translate.with_shared_memory(translate.with_twins(text)))
    assert not errors, errors[:2000]


def test_every_header_that_is_emitted_exists() -> None:
    headers = used_headers()
    assert {"cooperative_groups.h", "cub/block/block_scan.cuh"} <= headers
    missing = headers - set(all_headers())
    assert not missing, f"the emulator has no {sorted(missing)}"


def test_every_function_that_is_emitted_exists() -> None:
    names = used_names() - KEYWORDS
    assert {"__expf", "atomicAdd_system", "__shfl_xor_sync", "__hmul_rn", "erfinvf", "__stcs"} <= names
    errors = compiles("namespace check {\n" + "".join(f"using ::{name};\n" for name in sorted(names)) + "}\n")
    missing = sorted(set(re.findall(r"‘?'?(\w+)’?'? has not been declared|no member named '(\w+)'", errors)))
    assert not errors, f"the emulator lacks {missing}\n{errors[:1500]}"


@pytest.mark.parametrize(
    "name", sorted(KEYWORDS & {"__global__", "__cluster_dims__", "__launch_bounds__", "__noinline__", "__builtin_assume"})
)
def test_keywords_are_defined(name: str) -> None:
    assert not compiles(f"#ifndef {name}\n#error no {name}\n#endif\n")


def test_helpers_with_ptx_name_its_section() -> None:
    """An empty asm statement, which only holds the optimiser back, has none."""
    unnamed = []
    for helper in translate.helpers_with_twins():
        comment = re.sub(r"\n// ", " ", helper.text)
        if re.search(r'asm(?: volatile)?\(\s*"[^"]', helper.text) and "PTX ISA" not in comment:
            unnamed.append(f"{helper.file}: {helper.names[0]}")
    assert not unnamed, f"helpers whose comment names no section of the PTX ISA: {unnamed}"

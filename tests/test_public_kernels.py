"""Kernels of the development set are found in unpacked packages and cut out with what they need."""

import ast
import json
import textwrap

import pytest

from tools.public_kernels import extract, guess, harvest, records, table, worker
from tools.public_kernels.sources import Sources
from tools.public_kernels.usage import Flow

FILES = {
    "src/pack/__init__.py": "",
    "src/pack/config.py": """
        import os
        BITS = 8
        WIDTH = BITS * 2
    """,
    "src/pack/helpers.py": """
        import triton
        import triton.language as tl
        from .config import WIDTH as W
        if W > 4:
            @triton.jit
            def scale(x, factor: tl.constexpr = W):
                return x * factor
        else:
            scale = None
    """,
    "src/pack/ops/kernels.py": '''
        import torch
        import triton
        import triton.language as tl
        from pack import helpers
        from pack.helpers import *
        HAS_TRITON = torch.cuda.is_available()

        def make(bias):
            OFFSET = tl.constexpr(3)
            @triton.autotune(configs=[], key=["n"])
            @triton.jit(do_not_specialize=["n"])
            def kernel(x, n, flag: "anything", BLOCK: tl.constexpr):
                """What it does."""
                index = tl.arange(0, BLOCK)
                value = scale(tl.load(x + index)) + helpers.scale(index) + OFFSET
                tl.store(x + index, value)
            return kernel

        @triton.jit
        def pair(a, b, ROUND: tl.constexpr):
            return a + b, a - b
    ''',
}


def record(function, kernel, **changes):
    body = kernel.body[1:] if ast.get_docstring(kernel) else kernel.body
    fields = {
        "package": "pack",
        "version": "1.0",
        "file": "src/pack/ops/kernels.py",
        "function": function,
        "line": kernel.lineno,
        "hash": records.function_hash(kernel),
        "kind": "elementwise",
        "role": "kernel",
        "signature": {},
        "constexprs": {},
        "divisible_by_16": (),
        "num_warps": 4,
        "num_stages": 2,
    }
    assert body
    return records.Record(**{**fields, **changes})


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / "pack==1.0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / "src"


def function(name):
    tree = ast.parse(textwrap.dedent(FILES["src/pack/ops/kernels.py"]))
    return next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name)


def modules(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("*.py"))}


def test_a_kernel_is_cut_out_with_helpers_constants_and_closure(root, tmp_path):
    folder = extract.extract(record("kernel", function("kernel")), root, tmp_path / "cut")
    texts = modules(folder)
    home = texts["m0_src_pack_ops_kernels.py"]
    assert "@_triton.jit(do_not_specialize=['n'])\ndef kernel(x, n, flag, BLOCK: tl.constexpr):" in home
    assert "OFFSET = tl.constexpr(3)" in home
    assert "torch" not in home
    helpers = next(text for name, text in texts.items() if name.endswith("pack_helpers.py"))
    assert "@_triton.jit\ndef scale(x, factor: tl.constexpr=W):" in helpers
    config = next(text for name, text in texts.items() if name.endswith("pack_config.py"))
    assert "BITS = 8" in config and "WIDTH = BITS * 2" in config and "os" not in config
    assert texts["entry.py"] == "from .m0_src_pack_ops_kernels import kernel as KERNEL\n"
    for text in texts.values():
        ast.parse(text)


def test_a_scalar_function_becomes_a_kernel_over_pointers(root, tmp_path):
    folder = extract.extract(record("pair", function("pair"), role="pointwise"), root, tmp_path / "cut")
    text = modules(folder)["pointwise.py"]
    assert (
        "def pointwise_kernel(in0_ptr, in1_ptr, out0_ptr, out1_ptr, n, ROUND: _tl.constexpr, BLOCK: _tl.constexpr):" in text
    )
    assert "y0, y1 = pair(x0, x1, ROUND)" in text


def test_another_text_than_the_records_is_refused(root, tmp_path):
    changed = record("kernel", function("kernel"), hash="0" * 16, line=1)
    with pytest.raises(extract.NotFound, match=r"has no kernel at line 1"):
        extract.extract(changed, root, tmp_path / "cut")
    with pytest.raises(extract.NotFound, match=r"other==1.0 is not fetched"):
        extract.extract(record("kernel", function("kernel"), package="other"), root, tmp_path / "cut")


def test_names_of_other_vendors_give_way(root):
    path = root / "pack==1.0" / "src/pack/both.py"
    path.write_text(
        "try:\n    from triton.language.extra.hip import libdevice as lib\n"
        "except ImportError:\n    from triton.language.extra.cuda import utils as lib\n"
    )
    sources = Sources(root, "pack==1.0")
    module = sources.find("pack.both")
    assert sources.resolve(module, "lib").path == "triton.language.extra.cuda.utils"


@pytest.mark.parametrize("vendor", ["ascend", "cann", "hip", "mlu", "xpu"])
def test_a_branch_for_another_vendor_gives_way(root, vendor):
    path = root / "pack==1.0" / "src/pack/branch.py"
    path.write_text(
        "from pack.config import is_other\n"
        f"if is_other():\n    from triton.language.extra.{vendor} import utils\n"
        "else:\n    from triton.language.extra import utils\n"
    )
    sources = Sources(root, "pack==1.0")
    assert sources.resolve(sources.find("pack.branch"), "utils").path == "triton.language.extra.utils"


def test_reasons_are_grouped_without_names_and_numbers():
    assert worker.group("InvalidType: `x` has [16, 32] and 7") == worker.group("InvalidType: `y` has [8, 8] and 12")
    assert "`tl.dot`" in worker.group("NotSupported: `tl.dot` is not supported")


def test_results_are_tabulated_and_kept(root, tmp_path):
    first = record("kernel", function("kernel"))
    second = record("pair", function("pair"))
    outcomes = {
        first.hash: (first, worker.Outcome("passed", front_s=0.25, registers=40, spill_bytes=8, lines=90)),
        second.hash: (second, worker.Outcome("refused", "NotSupported: tl.x")),
    }
    text = table.summary(outcomes)
    assert text.startswith("2 records: 1 passed, 1 refused\n")
    assert "    1  NotSupported: tl.x" in text
    assert "1 of 1 with spills or local memory\n" in text
    table.to_json(outcomes, tmp_path / "out.json")
    row = json.loads((tmp_path / "out.json").read_text())[first.hash]
    assert row["status"] == "passed" and row["total_s"] == 0.25 and "triton" not in row


def test_spills_stand_beside_those_of_triton(root, tmp_path):
    pair, kernel = record("pair", function("pair")), record("kernel", function("kernel"))
    spilling = worker.Outcome("passed", registers=255, spill_bytes=900)
    outcomes = {pair.hash: (pair, spilling), kernel.hash: (kernel, worker.Outcome("passed", registers=72, spill_bytes=8))}
    used = {"registers": 148, "spill_bytes": 0, "local_bytes": 0}
    theirs = {kernel.hash: used, pair.hash: {"registers": 255, "spill_bytes": 400, "local_bytes": 200}}
    text = table.summary(outcomes, theirs)
    heading, first, second = text.splitlines()[-3:]
    assert heading == "2 of 2 with spills or local memory, 1 of them without any in Triton"
    assert "72 registers, 8 bytes spilled, 0 bytes local  (Triton: 148, 0, 0)" in first
    assert "(Triton: 255, 400, 200)" in second
    failing = table.summary(outcomes, {**theirs, kernel.hash: {"error": "ptxas"}})
    assert "0 of them without any in Triton" in failing and "(Triton fails)" in failing
    table.to_json(outcomes, tmp_path / "out.json", theirs)
    rows = json.loads((tmp_path / "out.json").read_text())
    assert rows[kernel.hash]["triton"] == used
    assert table.outcome_of(rows[kernel.hash]).registers == 72


def test_the_shipped_records_are_complete():
    found = records.load_records()
    assert len(found) == 250
    assert len({r.hash for r in found}) == 250
    for item in found:
        entries = records.signature_entries(item)
        assert set(entries).isdisjoint(item.constexprs)
        assert set(item.divisible_by_16) <= set(item.signature)


HARVESTED = {
    "src/pack/rows.py": """
        import triton
        import triton.language as tl

        @triton.jit
        def read(source, at, other):
            return tl.load(source + at, mask=at < 8, other=other)

        @triton.autotune([triton.Config({"BLOCK": 32}, num_warps=2)], key=[])
        @triton.jit
        def rows(x, index, mask, out, desc, n, eps, BLOCK: tl.constexpr, HAS_MASK: tl.constexpr, ACT: tl.constexpr = None):
            row = tl.program_id(0) + n
            row += 1
            place = tl.load(index + row)
            keep = tl.load(mask + tl.arange(0, BLOCK))
            at = x + place * BLOCK
            value = read(at, tl.arange(0, BLOCK), eps) + desc.load([0, row])
            if HAS_MASK and ACT == "silu":
                tl.store(out + tl.arange(0, BLOCK), value, mask=keep)

        def launch(x):
            rows[(1,)](x, x, x, x, None, 5, 1e-5, HAS_MASK=False, ACT="silu")
    """
}


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "pack==1.0" / "src/pack/rows.py"
    path.parent.mkdir(parents=True)
    path.write_text(textwrap.dedent(HARVESTED["src/pack/rows.py"]))
    (only,) = harvest.files_of(tmp_path / "pack==1.0")
    file = harvest.read_file(Sources(tmp_path, "pack==1.0"), only)
    (found,) = file.kernels  # `read` returns something: no kernel
    return file, found


def test_parameters_are_known_by_their_use(rows):
    file, found = rows
    usage = Flow(file.sources, found.module, found.node, found.scope).usage()
    assert usage.pointers == {"x", "index", "mask", "out"}
    assert usage.integers == {"index"}
    assert usage.masks == {"mask"}
    assert usage.descriptors == {"desc": 2}
    assert usage.flags == {"HAS_MASK"}
    assert usage.texts == {"ACT": ["silu"]}


def test_guesses_start_from_literals_and_learn(rows):
    file, found = rows
    flow = Flow(file.sources, found.module, found.node, found.scope)
    usage = flow.usage()
    given = harvest.literals(file.launches["rows"], usage.parameters)
    assert given == {"n": [5], "eps": [1e-5], "HAS_MASK": [False], "ACT": ["silu"]}
    guesser = guess.Guesser(usage, flow, given, guess.configurations(found.node), {}, "seed")
    first = guesser.guess(0)
    assert first.constexprs == {"BLOCK": 32, "HAS_MASK": True, "ACT": "silu"}
    assert (first.num_warps, first.signature["n"], first.signature["eps"]) == (2, "i32", "fp32")
    assert (first.signature["index"], first.signature["mask"]) == ("*i32", "*i1")
    at = ast.parse("tl.load(x + n)").body[0]
    guesser.learn("unexpected type fp32", at, 0)
    assert guesser.guess(1).signature["x"] == "*i32"
    kept = harvest.record_of("pack==1.0", found, guesser.guess(1))
    assert records.Record(**records.as_row(kept)) == kept

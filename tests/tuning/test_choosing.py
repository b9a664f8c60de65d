from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import cli
from tle2cuda.errors import ArgumentError
from tle2cuda.tuning.choosing import choose

SIGNATURE = "*fp32:16, *fp32:16, *fp32:16, i32"
KERNELS = """\
import triton
import triton.language as tl

CONFIGS = [
    triton.Config({"BLOCK": 256}),
    triton.Config({"BLOCK": 512}, num_warps=8, maxnreg=64),
    triton.Config({"BLOCK": 1024}, num_warps=8, num_stages=2),
]


@triton.autotune(CONFIGS, key=["n"])
@triton.heuristics({
    "EVEN": lambda args: args["n"] % args["BLOCK"] == 0,
    "HAS_BIAS": lambda args: args["bias"] is not None,
    "WIDE": lambda args: args["x"].element_size() * 2 if args["HAS_BIAS"] else args["x"].dtype.itemsize,
})
@triton.jit
def tuned(x, bias, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr, HAS_BIAS: tl.constexpr, WIDE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i) if EVEN else tl.load(x + i, mask=i < n)
    if HAS_BIAS:
        a += tl.load(bias + i, mask=i < n)
    tl.store(out + i, a * WIDE, mask=i < n)
"""


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    path = tmp_path / "tuned.py"
    path.write_text(KERNELS)
    return str(path)


def compile_cu(capsys: Any, path: str, signature: str, *arguments: str) -> tuple[str, list[str]]:
    """Standard error, and the lines of the CUDA that begin as a comment's or a kernel's head do."""
    code = cli.main(["compile", path, "--signature", signature, "--dump-cu", *arguments])
    out, err = capsys.readouterr()
    heads = [line for line in out.splitlines() if line.startswith(("//   constants", "extern"))]
    assert code == (0 if out else 2)
    return err, heads


@pytest.mark.parametrize(
    ("signature", "arguments", "summary", "constants", "bound"),
    [
        pytest.param(
            SIGNATURE,
            ["--constants", "EVEN=False"],
            "configuration 1 of 3: BLOCK=256; heuristics: HAS_BIAS=True WIDE=8",
            "BLOCK = 256, EVEN = False, HAS_BIAS = True, WIDE = 8",
            "__launch_bounds__(128)",
            id="first configuration, heuristics of types",
        ),
        pytest.param(
            SIGNATURE,
            ["--config", "2", "--constants", "EVEN=False"],
            "configuration 2 of 3: BLOCK=512 num_warps=8 maxnreg=64; heuristics: HAS_BIAS=True WIDE=8",
            "BLOCK = 512, EVEN = False, HAS_BIAS = True, WIDE = 8",
            "__maxnreg__(64)",
            id="a chosen configuration, with its registers",
        ),
        pytest.param(
            "*fp32:16, None, *fp32:16, i32, 1024, True, False, 1",
            [],
            "configuration 3 of 3: BLOCK=1024 num_warps=8 num_stages=2",
            "bias = None, BLOCK = 1024, EVEN = True, HAS_BIAS = False, WIDE = 1",
            "__launch_bounds__(256)",
            id="all given: the configuration that agrees",
        ),
        pytest.param(
            f"{SIGNATURE}, 2048",
            ["--constants", "EVEN=True", "--num-warps", "2"],
            "configuration 1 of 3: BLOCK=256, but for BLOCK=2048 num_warps=2; heuristics: HAS_BIAS=True WIDE=8",
            "BLOCK = 2048, EVEN = True, HAS_BIAS = True, WIDE = 8",
            "__launch_bounds__(64)",
            id="none agrees: the first, changed",
        ),
        pytest.param(
            "*fp32:16, None, *fp32:16, 512",
            ["--constants", "WIDE=3", "--maxnreg", "64"],
            "configuration 2 of 3: BLOCK=512 num_warps=8 maxnreg=64; heuristics: EVEN=True HAS_BIAS=False",
            "bias = None, n = 512, BLOCK = 512, EVEN = True, HAS_BIAS = False, WIDE = 3",
            "__maxnreg__(64)",
            id="an option chooses, and heuristics see constants",
        ),
    ],
)
def test_what_is_compiled(
    capsys: Any, tuned: str, signature: str, arguments: list[str], summary: str, constants: str, bound: str
) -> None:
    err, heads = compile_cu(capsys, f"{tuned}::tuned", signature, *arguments)
    assert err == f"tle2cuda: tuned: {summary}\n"
    assert heads[0] == f"//   constants {constants}"
    assert f" {bound}" in heads[1]


def test_file_with_one_tuned_kernel_needs_no_name(capsys: Any, tuned: str) -> None:
    _, heads = compile_cu(capsys, tuned, SIGNATURE, "--constants", "EVEN=False")
    assert heads


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            [],
            "tuned: the heuristic of `EVEN` asks for the value of `n`, which is not known before a launch\n"
            "  help: give the constant: --constants EVEN=...\n",
            id="an argument's value",
        ),
        pytest.param(
            ["--config", "4"],
            "--config is a number from 1 to 3 for tuned, got 4\n  1: BLOCK=256\n"
            "  2: BLOCK=512 num_warps=8 maxnreg=64\n  3: BLOCK=1024 num_warps=8 num_stages=2\n",
            id="no such configuration",
        ),
        pytest.param(["--maxnreg", "8"], "--maxnreg is between 16 and 255 registers, got 8\n", id="too few registers"),
    ],
)
def test_what_is_refused(capsys: Any, tuned: str, arguments: list[str], message: str) -> None:
    assert compile_cu(capsys, tuned, SIGNATURE, *arguments) == (f"tle2cuda: {message}", [])


@tle2cuda.jit
def plain(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr = False):
    tl.store(x + tl.arange(0, BLOCK), n)


def test_undecorated_kernels_keep_what_is_given() -> None:
    choice = choose(plain, "*i32, i32", {"BLOCK": 16}, {"num_warps": 8})
    assert (choice.constants, choice.options, choice.summary) == ({"BLOCK": 16}, {"num_warps": 8}, "")
    with pytest.raises(ArgumentError, match="plain has no configurations: nothing but autotune makes them"):
        choose(plain, "*i32, i32", {}, {}, config=1)


def test_outer_heuristics_do_not_see_the_configuration_as_at_a_launch() -> None:
    inner = tle2cuda.autotune([tle2cuda.Config({"BLOCK": 16})], key=[])(plain)
    seen = tle2cuda.heuristics({"EVEN": lambda args: "BLOCK" in args or args["n"] > 2})(inner)
    assert choose(seen, "*i32, i32", {}, {}, values={"n": 3}).constants == {"BLOCK": 16, "EVEN": True}
    wrong = tle2cuda.heuristics({"EVEN": lambda args: args["BLOCK"] > 2})(inner)
    with pytest.raises(ArgumentError, match="plain: the heuristic of `EVEN` fails: KeyError: 'BLOCK'"):
        choose(wrong, "*i32, i32", {}, {})


@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (lambda args: args["n"], "is the value of `n`"),
        (lambda args: 2 * args["n"], "asks for the value of `n`"),
        (lambda args: bool(args["n"]), "asks for the value of `n`"),
        (lambda args: f"{args['n']}", "asks for the value of `n`"),
        (lambda args: args["x"].shape[0], "asks for `x.shape`"),
    ],
)
def test_heuristics_of_what_a_launch_alone_knows(function: Any, asked: str) -> None:
    kernel = tle2cuda.heuristics({"BLOCK": function})(plain)
    with pytest.raises(ArgumentError, match=f"heuristic of `BLOCK` {asked}, which is not known before a launch"):
        choose(kernel, "*i32, i32", {}, {})

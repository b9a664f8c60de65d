from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.devices import find_devices
from tests.runtime import samples
from tle2cuda import cli
from tle2cuda.errors import (
    ArgumentError,
    CompilationError,
    DeviceCodeError,
    InternalError,
    OutOfResources,
    ToolchainError,
)
from tle2cuda.passes.pipeline import PASSES
from tle2cuda.runtime.contract import LaunchContract
from tle2cuda.version import __version__

ROOT = Path(__file__).parents[1]
SIGNATURE = "*fp32:16, *fp32:16, *fp32:16, i32"
KERNEL_FILE = """\
import tle2cuda


def plain(x, n):
    pass


class JitFunction:
    def __init__(self, fn):
        self.fn = fn


@JitFunction
def add(x, y, out, n):
    pass


number = 3
"""


@pytest.fixture
def kernel_file(tmp_path: Path) -> Path:
    path = tmp_path / "add_file.py"
    path.write_text(KERNEL_FILE)
    return path


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def emitted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Lets the front end give a hand-written kernel, and records what it was asked."""
    calls: list[dict[str, Any]] = []

    def emit(fn: Any, **options: Any) -> samples.Sample:
        calls.append({"fn": fn, **options})
        dumps = {"trace": "kernel @add {\n}\n", "fuse": "kernel @add fused {\n}\n"}
        return replace(samples.ADD, ir_dumps=dumps if options["dump_ir"] else {})

    from tle2cuda import compiler

    monkeypatch.setattr(compiler, "emit", emit)
    return calls


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_dump_cu_to_standard_output(capsys: Any, kernel_file: Path, emitted: list[dict[str, Any]]) -> None:
    code, out, err = run(
        capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--constants", "A=1", "B=x", "--dump-cu"
    )
    assert (code, out, err) == (0, samples.ADD_SOURCE, "")
    assert emitted[0]["fn"].fn.__name__ == "add"
    assert emitted[0]["constants"] == {"A": 1, "B": "x"}
    assert (emitted[0]["num_warps"], emitted[0]["arch"], emitted[0]["dump_ir"]) == (4, "sm_90a", None)


@pytest.mark.usefixtures("emitted")
def test_dump_cu_needs_no_cuda(capsys: Any, kernel_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    code, out, _ = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--dump-cu")
    assert (code, out) == (0, samples.ADD_SOURCE)


@pytest.mark.usefixtures("emitted")
def test_dumps_to_files(capsys: Any, kernel_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("cupy")
    cu, ptx = tmp_path / "add.cu", tmp_path / "add.ptx"
    code, out, _ = run(
        capsys,
        *("compile", f"{kernel_file}::add", "--signature", SIGNATURE),
        *("--dump-cu", str(cu), f"--dump-ptx={ptx}"),
    )
    assert (code, out) == (0, "")
    assert cu.read_text() == samples.ADD_SOURCE
    assert ".visible .entry add(" in ptx.read_text()


@pytest.mark.usefixtures("emitted")
def test_report(capsys: Any, kernel_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("cupy")
    for flags in (("--report",), ()):
        code, out, _ = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, *flags)
        assert code == 0
        lines = dict(line.split(None, 1) for line in out.splitlines() if not line.startswith(("local", "shared", "emit")))
        assert lines["kernel"] == "add for sm_90a, 8 lines of CUDA"
        assert lines["spills"] == "0 bytes stored, 0 bytes loaded"
        assert lines["occupancy"] == "16 CTAs per SM, 100 % of its warps, limited by warps"
        assert f"emitted file  {tmp_path / 'cache' / 'cu'}" in out
    written = tmp_path / "add.cu"
    code, out, _ = run(
        capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--report", f"--dump-cu={written}"
    )
    assert (code, out.splitlines()[-1]) == (0, f"emitted file  {written}")


def test_dump_ir(capsys: Any, kernel_file: Path, emitted: list[dict[str, Any]]) -> None:
    reference = f"{kernel_file}::add"
    code, out, _ = run(capsys, "compile", reference, "--signature", SIGNATURE, "--dump-ir", "fuse")
    assert (code, out) == (0, "// IR after fuse\nkernel @add fused {\n}\n")
    code, out, _ = run(capsys, "compile", reference, "--signature", SIGNATURE, "--dump-ir")
    assert out == "// IR after trace\nkernel @add {\n}\n// IR after fuse\nkernel @add fused {\n}\n"
    assert {call["dump_ir"] for call in emitted} == {"all"}
    code, out, err = run(capsys, "compile", reference, "--signature", SIGNATURE, "--dump-ir", "fuze")
    assert (code, out) == (2, "")
    passes = ("trace", *(each.name for each in PASSES))
    assert err == (f"tle2cuda: there is no pass 'fuze'\n  passes: {', '.join(passes)}\n")


@pytest.mark.usefixtures("emitted")
def test_dump_contract(capsys: Any, kernel_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    arguments = ("compile", f"{kernel_file}::add", "--signature", SIGNATURE)
    code, out, _ = run(capsys, *arguments, "--dump-contract")
    assert (code, LaunchContract.from_json(out)) == (0, samples.ADD.contract)
    target = tmp_path / "launch.json"
    assert run(capsys, *arguments, f"--dump-contract={target}", f"--dump-cu={tmp_path / 'a.cu'}") == (0, "", "")
    assert LaunchContract.from_json(target.read_text("utf-8")) == samples.ADD.contract
    assert not (tmp_path / "a.json").exists()  # one contract is enough
    code, out, _ = run(capsys, *arguments, "--dump-contract", "--dump-cu")
    assert (code, out.count("// cu\n"), out.count("// contract\n")) == (0, 1, 1)


@pytest.mark.usefixtures("emitted")
def test_contract_is_written_beside_the_file(capsys: Any, kernel_file: Path, tmp_path: Path) -> None:
    arguments = ("compile", f"{kernel_file}::add", "--signature", SIGNATURE)
    assert run(capsys, *arguments, f"--dump-cu={tmp_path / 'add.cu'}") == (0, "", "")
    assert LaunchContract.from_json((tmp_path / "add.json").read_text("utf-8")) == samples.ADD.contract
    (tmp_path / "add.json").unlink()
    code, out, _ = run(capsys, *arguments, f"--dump-cu={tmp_path / 'add.cu'}", "--dump-contract")
    assert (code, out) == (0, (tmp_path / "add.json").read_text("utf-8"))
    assert run(capsys, *arguments, f"--dump-cu={os.devnull}") == (0, "", "")
    assert run(capsys, *arguments, f"--dump-cu={tmp_path / 'odd.json'}") == (0, "", "")
    assert (tmp_path / "odd.json").read_text("utf-8") == samples.ADD_SOURCE


@pytest.mark.usefixtures("emitted")
def test_dump_sass(capsys: Any, kernel_file: Path) -> None:
    pytest.importorskip("cupy")
    from tle2cuda.runtime import toolkit

    if not (toolkit.find_tool("nvdisasm") or toolkit.find_tool("cuobjdump")):
        pytest.skip("no disassembler is installed")
    code, out, _ = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--dump-cu", "--dump-sass")
    assert code == 0
    assert out.startswith("// cu\n// add.cu\n")
    assert "// sass\n" in out
    assert "FADD" in out


def test_options_reach_the_compiler(capsys: Any, kernel_file: Path, emitted: list[dict[str, Any]]) -> None:
    run(
        capsys,
        *("compile", f"{kernel_file}::plain", "--signature", SIGNATURE, "--dump-cu"),
        *("--arch", "sm_80", "--num-warps", "8", "--headers", "toolkit"),
    )
    assert emitted[0]["fn"].__name__ == "plain"
    assert (emitted[0]["arch"], emitted[0]["num_warps"], emitted[0]["headers"]) == ("sm_80", 8, "toolkit")


def test_file_with_one_kernel_needs_no_name(capsys: Any, kernel_file: Path, emitted: list[dict[str, Any]]) -> None:
    assert run(capsys, "compile", str(kernel_file), "--signature", SIGNATURE, "--dump-cu")[0] == 0
    assert emitted[0]["fn"].fn.__name__ == "add"


LONG = "a" * 300
USAGE = [
    (["compile"], "the kernel is missing\n  help: name it as PATH::KERNEL, such as add.py::add"),
    (["compile", "FILE::add"], "--signature is missing\n  help: give types and constants in order, such as "
     "--signature '*fp32:16, *fp32:16, i32, 1024'"),
    (["compile", "--dump-cu", "FILE::add"], "--dump-cu took 'FILE::add' for its file, so the kernel is missing\n"
     "  help: put PATH::KERNEL before --dump-cu"),
    (["compile", "--constants", "B=1", "FILE::add"], "--constants took 'FILE::add' for a constant, so the kernel is "
     "missing\n  help: put PATH::KERNEL before --constants"),
    (["compile", "nowhere.py::add"], f"there is no kernel file 'nowhere.py'\n  looked for in {Path.cwd()}\n"
     "  help: name a kernel as PATH::KERNEL, such as add.py::add"),
    (["compile", "FILE:add"], "there is no kernel file 'FILE:add'\n  help: write two colons: FILE::add"),
    (["compile", "FOLDER/ad_file.py::add"], "there is no kernel file 'FOLDER/ad_file.py'\n  help: did you mean 'FILE'?"),
    (["compile", "::add"], "the kernel's file is missing\n  help: name a kernel as PATH::KERNEL, such as add.py::add"),
    (["compile", f"{LONG}.py::add"], f"cannot read the kernel file '{LONG}.py': File name too long"),
    (["run", LONG], f"cannot read the script '{LONG}': File name too long\n"
     f"  help: to run a module: tle2cuda run -m {LONG}"),
    (["compile", "FOLDER::add"], "'FOLDER' is a folder, not a kernel file\n"
     "  help: name a kernel as PATH::KERNEL, such as add.py::add"),
    (["compile", "FILE::addd", "--signature", "i32"], "add_file.py: `addd` is not there\n  kernels: add\n"
     "  help: did you mean `add`?"),
    (["compile", "FILE::subtract", "--signature", "i32"], "add_file.py: `subtract` is not there\n  kernels: add"),
    (["compile", "FILE::number", "--signature", "i32"], "add_file.py: `number` is of type int, not a kernel\n"
     "  kernels: add"),
    (["compile", "FILE::add", "--signature", "i32", "--constants", "B"], "a constant is written NAME=VALUE, got 'B'"),
    (["compile", "FILE::add", "--signature", "i32", "--num-warps", "3"],
     "--num-warps is a power of two between 1 and 32, got 3"),
    (["compile", "FILE::add", "--signature", "(i32"], "unbalanced quote or bracket in signature '(i32'"),
    (["compile", "FILE::add", "--signature", "i32", "--dump-cu", "FOLDER"], "cannot write FOLDER: Is a directory"),
    (["compile", "FILE::add", "--signature", "i32", "--dump-cu", "FILE/a.cu"], "cannot write FILE/a.cu: Not a directory"),
    (["compile", "FILE::add", "--signature", "i32", "--dump-ptx", "FILE"], "--dump-ptx FILE would overwrite the kernel's "
     "own file"),
    (["compile", "FILE::add", "--signature", "i32", "--dump-cu", "FOLDER/a", "--dump-sass", "FOLDER/a"],
     "--dump-cu and --dump-sass name the same file, FOLDER/a"),
    (["compile", "FILE::add", "--signature", "i32", "--grid", "4"], "--grid is for --inputs\n"
     "  help: give the inputs, such as --inputs x=4096 n=4096"),
    (["compile", "FILE::add", "--signature", "i32", "--inputs", "x=4"], "--grid is missing\n"
     "  help: say how many programs run, such as --grid 4 or --grid 8,2"),
    (["compile", "FILE::add", "--signature", "i32", "--inputs", "x=4", "--grid", "4;2"],
     "--grid takes one to three numbers separated by commas, got '4;2'"),
    (["compile", "FILE::add", "--signature", "i32", "--inputs", "x=no.npy", "--grid", "4"],
     "--inputs: cannot read no.npy: No such file or directory"),
    (["compile", "FILE::add", "--signature", "i32", "--inputs", "no.py::make"], "--inputs: there is no file 'no.py'\n"
     "  help: name a function as PATH::FUNCTION"),
    (["compile", "--inputs", "x=4", "FILE::add"], "--inputs took 'FILE::add' for an input, so the kernel is missing\n"
     "  help: put PATH::KERNEL before --inputs"),
    (["run", "--dump-cu", "FILE", "FILE"], "cannot write to FILE: it is a file, not a folder"),
    (["run", "--dump-cu", "FILE/cu", "FILE"], "cannot write to FILE/cu: Not a directory"),
    (["run", "nowhere.py"], "cannot read the script 'nowhere.py': No such file or directory"),
    (["export", "FILE::add", "-o", "d"], "exporting a kernel with a C++ launcher (`tle2cuda export`) "
     "is not supported in this version"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_wrong_command_lines(capsys: Any, kernel_file: Path, arguments: list[str], message: str) -> None:
    """Told before the kernel's file is run, but for what only the file knows."""
    if "`" not in message:
        kernel_file.write_text("raise RuntimeError('it ran')\n")

    def filled(text: str) -> str:
        return text.replace("FILE", str(kernel_file)).replace("FOLDER", str(kernel_file.parent))

    code, out, err = run(capsys, *map(filled, arguments))
    assert (code, out) == (2, "")
    assert err == f"tle2cuda: {filled(message)}\n"


@pytest.mark.parametrize(
    "arguments",
    [[], ["frobnicate"], ["compile", "--arch"], ["compile", "--nonsense"], ["run"], ["run", "--on", "abacus", "x.py"]],
)
def test_what_argparse_refuses(capsys: Any, arguments: list[str]) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert "\ntle2cuda: " in err


def test_unknown_architecture(capsys: Any, kernel_file: Path) -> None:
    code, _, err = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--arch", "sm_91")
    assert code == 2
    assert err.startswith("tle2cuda: unknown target architecture 'sm_91'\n  known: sm_70, ")


@pytest.mark.usefixtures("emitted")
def test_unwritable_dump(capsys: Any, kernel_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "no" / "add.cu"
    code, _, err = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, f"--dump-cu={target}")
    assert (code, err) == (2, f"tle2cuda: cannot write {target}: No such file or directory\n")


def test_folder_of_a_dump_is_looked_for_before_the_file_runs(capsys: Any, tmp_path: Path) -> None:
    path, target = tmp_path / "raises.py", tmp_path / "no" / "add.cu"
    path.write_text("raise RuntimeError('it ran')\n")
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", "i32", f"--dump-cu={target}")
    assert (code, out, err) == (2, "", f"tle2cuda: cannot write {target}: No such file or directory\n")


def test_another_name_in_cuda_is_told(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "letters.py"
    path.write_text("import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x):\n    tl.store(x, 1)\n")
    code, out, err = run(capsys, "compile", f"{path}::k", "--signature", "*i32", "--dump-cu")
    assert (code, err) == (0, "tle2cuda: `k` is called `k_` in CUDA, which has other uses for its name\n")
    assert "\nk_(int* x)\n" in out


def test_syntax_error(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def add(x):\n    return x +\n")
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", "i32")
    assert (code, out) == (1, "")
    assert err == ("broken.py:2:15: syntax error: invalid syntax\n\n  2 |     return x +\n    |               ^\n")


def test_file_that_fails(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "fails.py"
    path.write_text("ok = 1\nbad = 1 / 0\n")
    code, _, err = run(capsys, "compile", f"{path}::add", "--signature", "i32")
    assert code == 1
    assert err.startswith("fails.py:2:")
    assert "the file fails when it is run: ZeroDivisionError: division by zero\n\n  2 | bad = 1 / 0\n" in err


FAILING = """\
import tle2cuda

@tle2cuda.jit
def k(x):
    pass

{line}
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("class E(BaseException): pass\nraise E('it is')", ": the file fails when it is run: E: it is\n\n"
         "  8 | raise E('it is')\n"),
        ("\nk[lambda meta: (meta['BLOCK'],)](1)", ": the file fails when it is run: k: the grid asks for 'BLOCK', "
         "which is no parameter of the kernel\n\n  8 | k[lambda meta: (meta['BLOCK'],)](1)\n  parameters: x\n"),
    ],
)  # fmt: skip
def test_whatever_a_file_fails_with_is_told_at_its_line(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, told: str
) -> None:
    path = tmp_path / "fails.py"
    path.write_text(FAILING.format(line=line))
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    code, out, err = run(capsys, "compile", f"{path}::k", "--signature", "i32")
    assert (code, out) == (1, "")
    place, text = err[: len("fails.py:8:")], re.sub(r"\n    \| +\^+", "", err)
    assert place == "fails.py:8:" and text[text.index(": the") :] == told


def test_an_interrupted_command_says_nothing(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "waits.py"
    path.write_text("raise KeyboardInterrupt\n")
    assert run(capsys, "compile", f"{path}::k", "--signature", "i32") == (130, "", "")


@pytest.mark.parametrize(("variable", "wrong"), [("DEVICE", "gpu"), ("DETECT", "foo"), ("LANGUAGE", "9")])
def test_wrong_words_in_the_environment(
    capsys: Any, kernel_file: Path, monkeypatch: pytest.MonkeyPatch, variable: str, wrong: str
) -> None:
    kernel_file.write_text("raise RuntimeError('it ran')\n")
    monkeypatch.setenv(f"TLE2CUDA_{variable}", wrong)
    for arguments in (("run", str(kernel_file)), ("compile", f"{kernel_file}::add", "--signature", "i32")):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err.startswith(f"tle2cuda: TLE2CUDA_{variable} ") and err.endswith(f"got {wrong!r}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_output_that_cannot_be_written() -> None:
    command = f"{sys.executable} -m tle2cuda {{}} >{{}}"
    compile_ = f"compile kernels/vector_add.py::vector_add --signature '{SIGNATURE}, 1024' --dump-cu"
    full = subprocess.run(command.format(compile_, "/dev/full"), shell=True, cwd=ROOT, capture_output=True, text=True)
    assert (full.returncode, full.stderr) == (2, "tle2cuda: cannot write to standard output: No space left on device\n")
    closed = subprocess.run(command.format(compile_, "&-"), shell=True, cwd=ROOT, capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


def test_file_that_ends_the_program_does_not_pass_for_success(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text("import sys\n\nsys.exit(0)\n")
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", "i32")
    assert (code, out) == (1, "")
    assert err == (
        "script.py:3:1: the file ends the program when it is run: SystemExit(0)\n\n"
        "  3 | sys.exit(0)\n    | ^^^^^^^^^^^\n"
        '  help: put what is not part of a kernel under `if __name__ == "__main__":`\n'
    )


def test_file_that_imports_what_is_not_there(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "imports.py"
    path.write_text("import no_such_module.inner\n")
    code, _, err = run(capsys, "compile", f"{path}::add", "--signature", "i32")
    assert code == 3
    assert "imports.py imports no_such_module, which is not installed\n" in err
    assert err.endswith("  help: pip install no_such_module\n")


TRITON_SCRIPT = """\
import triton
import triton.language as tl
{imported}

@triton.jit
def twice(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


print("the script runs")
"""


def test_compile_serves_triton_as_run_does(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "script_that_imports_triton.py"
    path.write_text(TRITON_SCRIPT.format(imported=""))
    before = sys.modules.get("triton")
    code, out, err = run(capsys, "compile", f"{path}::twice", "--signature", "*fp32:16, i32, 1024", "--dump-cu")
    assert (code, err) == (0, "the script runs\n")
    assert out.startswith("// twice.cu: emitted by tle2cuda from script_that_imports_triton.py:6 (twice).")
    assert sys.modules.get("triton") is before


def test_compile_of_a_file_that_imports_a_part_of_triton_that_is_not_served(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "imports_profiler.py"
    path.write_text(TRITON_SCRIPT.format(imported="import triton.profiler.viewer"))
    code, out, err = run(capsys, "compile", f"{path}::twice", "--signature", "*fp32:16, i32, 1024")
    assert (code, out) == (3, "")
    assert err == (
        "imports_profiler.py:3:1: imports_profiler.py imports triton.profiler.viewer: tle2cuda serves triton, without "
        "triton.profiler.viewer: no profile is recorded; profile with Nsight Systems or Nsight Compute\n\n"
        "  3 | import triton.profiler.viewer\n    | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
    )


CLUSTER_COMMAND = (
    "compile",
    "kernels/moe_align_block_size/cluster.py::moe_align_cluster",
    "--signature",
    "*i32:16, *i32:16, *i32:16, *i32:16, i32, i32, i32",
    "--num-warps=16",
    "--constants",
    "CLUSTER_SIZE=8",
    "FIRST_EXPERT=0",
    "NUM_GROUPS=512",
    "BLOCK_SIZE=16",
    "SLOT_TILE=512",
    "GROUP_TILE=512",
    "SEARCH_STEPS=9",
    "THREADS=512",
    "PREFILL=False",
)


def run_alone(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own: nothing is imported, the current directory is not on the path."""
    program = "import sys; sys.path.remove(''); from tle2cuda.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mesh", ["CLUSTER_MESH", "kernels.moe_align_block_size.cluster:CLUSTER_MESH"])
def test_kernel_of_a_package_with_a_mesh(mesh: str) -> None:
    done = run_alone(*CLUSTER_COMMAND, f"mesh={mesh}", "--dump-cu", cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "tests" / "golden" / "moe_align_cluster.cu").read_text("utf-8")


def test_kernel_of_a_package_from_another_directory(tmp_path: Path) -> None:
    path, _, kernel = CLUSTER_COMMAND[1].partition("::")
    arguments = ("compile", f"{ROOT / path}::{kernel}", *CLUSTER_COMMAND[2:], "mesh=CLUSTER_MESH", "--report")
    pytest.importorskip("cupy")
    done = run_alone(*arguments, cwd=tmp_path, TLE2CUDA_CACHE_DIR=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "spills        0 bytes stored, 0 bytes loaded" in done.stdout


def test_wrong_mesh_says_how_to_give_one(capsys: Any) -> None:
    reference = f"{ROOT / CLUSTER_COMMAND[1]}"
    code, _, err = run(capsys, "compile", reference, *CLUSTER_COMMAND[2:], "mesh=MESH", "--dump-cu")
    assert code == 1
    assert "shard_id: mesh must be a device_mesh, got str\n" in err
    assert "on the command line by its name: --constants mesh=MESH\n" in err


def test_object_of_a_module_that_is_not_there(capsys: Any, kernel_file: Path) -> None:
    arguments = ("compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--dump-cu", "--constants")
    code, _, err = run(capsys, *arguments, "A=no_such_module:B")
    assert code == 2
    assert err.startswith("tle2cuda: `A`: 'no_such_module:B' names the module no_such_module, which cannot be imported: ")
    code, _, err = run(capsys, *arguments, "A=math:pie")
    assert (code, err) == (2, "tle2cuda: `A`: the module math has no 'pie'\n  help: did you mean `pi`?\n")


def test_relative_imports_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "own_kernels" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package.parent / "sizes.py").write_text("BLOCK = 256\n")
    (package / "add.py").write_text(f"from ..sizes import BLOCK\n{ADD_KERNEL}")
    arguments = ("compile", "inner/add.py", "--signature", "*fp32, *fp32, *fp32, i32", "--constants", "BLOCK=BLOCK")
    done = run_alone(*arguments, "--dump-cu", cwd=package.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert "constants BLOCK = 256" in done.stdout


def test_own_directories_are_not_to_be_installed(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    path = tmp_path / "mine" / "deep" / "k.py"
    path.write_text("import mine.parts\n")
    code, _, err = run(capsys, "compile", f"{path}::k", "--signature", "i32")
    assert code == 1
    assert "k.py imports mine, which is not found\n" in err
    assert err.endswith(f"  help: `mine` is {tmp_path / 'mine'}: run in {tmp_path}, or add that directory to PYTHONPATH\n")
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "compile", f"{path}::k", "--signature", "i32")
    assert code == 1
    assert "k.py imports mine.parts, which is not found\n" in err
    assert err.endswith(f"  help: `mine` is {tmp_path / 'mine'}, which holds no such module\n")


def test_kernel_file_may_import_its_neighbours(capsys: Any, kernel_file: Path, emitted: list[dict[str, Any]]) -> None:
    (kernel_file.parent / "other_kernels.py").write_text("from add_file import add\n")
    reference = f"{kernel_file.parent / 'other_kernels.py'}::add"
    assert run(capsys, "compile", reference, "--signature", SIGNATURE, "--dump-cu")[0] == 0
    assert len(emitted) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CompilationError("wrong"), 1),
        (OutOfResources(2, 1, "shared memory"), 1),
        (DeviceCodeError("refused"), 1),
        (InternalError("ours"), 1),
        (ArgumentError("signature"), 2),
        (ToolchainError("missing"), 3),
    ],
)
def test_exit_codes(capsys: Any, kernel_file: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, code: int) -> None:
    def emit(*_: Any, **__: Any) -> None:
        raise error

    from tle2cuda import compiler

    monkeypatch.setattr(compiler, "emit", emit)
    assert run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--dump-cu")[0] == code


def test_a_fault_of_ours_says_so(capsys: Any, kernel_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tle2cuda import compiler

    monkeypatch.setattr(compiler, "emit", lambda *_, **__: {}["no such key"])
    code, _, err = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--dump-cu")
    assert code == 1
    assert "KeyError: 'no such key'" in err
    assert err.endswith("internal error: this is a fault of tle2cuda, not of your kernel\n")


@pytest.mark.usefixtures("emitted")
def test_machine_without_cupy(capsys: Any, kernel_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tle2cuda.runtime import toolkit

    def missing() -> None:
        raise ToolchainError("CuPy is not installed", help="pip install cupy-cuda12x")

    monkeypatch.setattr(toolkit, "require_cupy", missing)
    toolkit.require_nvrtc.cache_clear()
    code, _, err = run(capsys, "compile", f"{kernel_file}::add", "--signature", SIGNATURE, "--report")
    toolkit.require_nvrtc.cache_clear()
    assert (code, err) == (3, "CuPy is not installed\n  help: pip install cupy-cuda12x\n")


ADD_KERNEL = """\
import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""


def test_real_kernel_from_file_to_cubin(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "real_add.py"
    path.write_text(ADD_KERNEL)
    signature = "*fp32:16, *fp32:16, *fp32:16, i32, 1024"
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", signature, "--dump-cu", "--dump-ir")
    assert (code, err) == (0, "")
    assert 'extern "C" __global__' in out
    assert "// IR after trace" in out
    pytest.importorskip("cupy")
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", signature, "--report")
    assert (code, err) == (0, "")
    assert "spills        0 bytes stored, 0 bytes loaded" in out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_dumps_do_not_depend_on_the_locale(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "real_add.py"
    path.write_text(ADD_KERNEL.replace("i = ", "名 = ").replace(" + i,", " + 名,").replace("i < n", "名 < n"), "utf-8")
    arguments = [sys.executable, "-m", "tle2cuda", "compile", f"{path}::add", "--signature"]
    arguments += ["*fp32:16, *fp32:16, *fp32:16, i32, 1024", "--dump-cu"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    shown = subprocess.run(arguments, env=environment, capture_output=True, check=True).stdout
    assert b"// \\u540d = tl.program_id(0)" in shown
    target = tmp_path / "add.cu"
    subprocess.run([*arguments, str(target)], env=environment, check=True)
    assert "// 名 = tl.program_id(0)" in target.read_text("utf-8")


def test_unwritable_cache_is_one_plain_warning(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    path = tmp_path / "real_add.py"
    path.write_text(ADD_KERNEL)
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(path / "cache"))
    code, out, err = run(capsys, "compile", f"{path}::add", "--signature", "*fp32:16, *fp32:16, *fp32:16, i32, 1024")
    assert code == 0
    assert re.fullmatch(r"tle2cuda: warning: cannot write to the cache directory .*\n", err)
    kept = re.search(r"^emitted file  (.*)$", out, re.MULTILINE)
    assert kept and 'extern "C" __global__' in Path(kept[1]).read_text()


def test_real_kernel_with_a_wrong_signature(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "real_add.py"
    path.write_text(ADD_KERNEL)
    code, _, err = run(capsys, "compile", f"{path}::add", "--signature", "*fp32, *fp32, i32", "--dump-cu")
    assert code == 2
    assert err == (
        "tle2cuda: the signature of add has 3 entries, expected 5\n"
        "  parameters without a constant: x, y, out, n, BLOCK\n"
        "  entries: *fp32, *fp32, i32\n"
        "  help: give one entry per parameter: a type such as *fp32:16 or i32, or the value of a constexpr "
        "(constants= and --constants take it, too)\n"
    )


def test_doctor(capsys: Any) -> None:
    pytest.importorskip("cupy")
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    states = {line[8:30].strip(): line[:8].strip() for line in out.splitlines() if line[:8].strip()}
    assert states["tle2cuda"] == states["NVRTC"] == states["CUDA headers"] == states["NVRTC compiles"] == "ok"
    assert set(states.values()) <= {"ok", "absent"}


def test_doctor_of_a_machine_without_a_driver(capsys: Any) -> None:
    pytest.importorskip("cupy")
    devices = find_devices()
    if devices.capabilities:
        pytest.skip("there is a GPU")
    _, out, _ = run(capsys, "doctor")
    assert f"absent  GPU                   no GPU: {devices.why_none}\n" in out


def test_doctor_of_a_bare_machine(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tle2cuda.runtime import toolkit

    def missing() -> None:
        raise ToolchainError("CuPy is not installed", help="pip install cupy-cuda12x")

    monkeypatch.setattr(toolkit, "require_cupy", missing)
    for function in (toolkit.require_nvrtc, toolkit.include_directories):
        function.cache_clear()
    code, out, _ = run(capsys, "doctor")
    for function in (toolkit.require_nvrtc, toolkit.include_directories):
        function.cache_clear()
    assert code == 3
    assert "missing CuPy                  CuPy is not installed\n" in out
    assert out.endswith("Kernels cannot be compiled to cubins here; emitting CUDA and interpreting still work.\n")


def test_version(capsys: Any) -> None:
    assert run(capsys, "--version") == (0, f"tle2cuda {__version__}\n", "")


def test_module_is_the_same_program() -> None:
    done = subprocess.run([sys.executable, "-m", "tle2cuda", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tle2cuda {__version__}\n"


def test_import_is_light() -> None:
    code = (
        "import sys, time; start = time.process_time(); import tle2cuda.cli, tle2cuda.runtime; "
        "print(time.process_time() - start); "
        "print(sorted({'cupy', 'torch', 'jinja2', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    elapsed, heavy = done.stdout.splitlines()
    assert float(elapsed) < 0.3
    assert heavy == "[]"


def test_warnings_of_kernels_name_their_lines(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "shift.py"
    path.write_text(
        "import tle2cuda\nimport tle2cuda.language as tl\n\n\n@tle2cuda.jit(do_not_specialize=['m'])\n"
        "def shift(x):\n    tl.store(x, tl.load(x) << 40)\n"
    )
    code, _, err = run(capsys, "compile", f"{path}::shift", "--signature", "*i32", "--dump-cu")
    assert code == 0
    assert err == (
        "shift.py:5: warning: do_not_specialize names 'm', which is not a parameter\n"
        "shift.py:7: warning: `<<`: scalar i32 is shifted by 40, only 0 to 31 leave something of it; convert to a wider "
        "type first\n"
    )

"""The command line: `tle2cuda compile`, `tle2cuda run` and `tle2cuda doctor`.

Exit codes: 0 done, 1 the kernel is wrong, 2 the command line is wrong, 3 the machine lacks something, 130 interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from tle2cuda.cli_checks import ALL_PASSES, DUMPS, STDOUT, check_environment, check_options
from tle2cuda.errors import ArgumentError, DeviceCodeError, KernelError, KernelWarning, ToolchainError
from tle2cuda.levels import LEVELS
from tle2cuda.paths import write_text
from tle2cuda.targets import DEFAULT_STAGES, DEFAULT_TARGET
from tle2cuda.version import __version__

if TYPE_CHECKING:
    from tle2cuda.compiler import EmittedKernel

EXIT_DONE, EXIT_KERNEL, EXIT_USAGE, EXIT_MACHINE = 0, 1, 2, 3
EXIT_INTERRUPTED = 130  # as of a program that a shell's user has interrupted

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_DEFAULT_WARPS = 4
_LATER = {
    "export": "exporting a kernel with a C++ launcher",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # it was closed when Python started
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if isinstance(stream, io.TextIOWrapper):  # a kernel's letters may not exist in the terminal's encoding
            stream.reconfigure(errors="backslashreplace")
    if arguments and arguments[0] in _LATER:
        return _fail(f"{_LATER[arguments[0]]} (`tle2cuda {arguments[0]}`) is not supported in this version", EXIT_USAGE)
    try:
        options = _parser().parse_args(arguments)
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code: int = options.command(options)
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse has printed its message
        return exit_.code if isinstance(exit_.code, int) else EXIT_USAGE
    except KernelError as error:
        return _fail(str(error), exit_code(error))
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _forget_output()
        return EXIT_DONE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None:
            _forget_output()
            return _fail(f"cannot write to standard output: {error.strerror}", EXIT_USAGE)
        traceback.print_exc()
        return _fail("internal error: this is a fault of tle2cuda, not of your kernel", EXIT_KERNEL)


def _forget_output() -> None:
    """Let nothing more be written, about which Python would complain when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(error: KernelError) -> int:
    """What an error says about who can mend it."""
    if isinstance(error, ToolchainError) and not isinstance(error, DeviceCodeError):
        return EXIT_MACHINE
    return EXIT_USAGE if isinstance(error, ArgumentError) else EXIT_KERNEL


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as what it is: at its line when it is about a kernel, else without the line that raised it."""
    from tle2cuda.runtime.nvrtc import DeviceCodeWarning

    is_of_kernel = issubclass(category, (KernelWarning, DeviceCodeWarning))
    place = f"{Path(filename).name}:{lineno}" if is_of_kernel else "tle2cuda"
    print(f"{place}: warning: {message}", file=file or sys.stderr)


def _fail(message: str, code: int) -> int:
    print(f"tle2cuda: {message}" if code == EXIT_USAGE else message, file=sys.stderr)
    return code


class _Parser(argparse.ArgumentParser):
    """A parser whose messages begin like all of ours."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"tle2cuda: {message}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="tle2cuda",
        description="Compile tile kernels written in Python to readable CUDA.",
        epilog="exit codes: 0 done, 1 the kernel is wrong, 2 the command line is wrong, 3 the machine lacks something",
    )
    parser.add_argument("--version", action="version", version=f"tle2cuda {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_compile(commands)
    _add_run(commands)
    doctor = commands.add_parser("doctor", help="say what is installed, what works, and what to do about the rest")
    doctor.set_defaults(command=_doctor)
    return parser


def _add_compile(commands: Any) -> None:
    parser = commands.add_parser(
        "compile",
        help="compile one kernel",
        description="Compile one kernel. Without a dump or --report, the report is printed. "
        "--dump-cu, --dump-contract and --dump-ir need no CUDA. Of a kernel that autotune made one configuration is "
        "compiled, which standard error names: the first that agrees with the constants and options given here, else the "
        "first, changed by them. Heuristics are computed from what the signature, --constants and --inputs say.",
    )
    parser.set_defaults(command=_compile)
    parser.add_argument("kernel", metavar="PATH::KERNEL", nargs="?", help="kernel in a Python file")
    parser.add_argument(
        "--signature",
        metavar="S",
        help="types and values of the parameters in order, such as '*fp32:16, *fp32:16, i32, 1024'",
    )
    parser.add_argument(
        "--constants",
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="values of constexpr parameters that the signature leaves out: literals, names of module-level objects "
        "of the kernel's file such as a mesh, MODULE:NAME, or else strings",
    )
    parser.add_argument("--arch", default=DEFAULT_TARGET, metavar="ARCH", help="target (default: %(default)s)")
    parser.add_argument("--num-warps", type=int, metavar="N", help=f"warps of one CTA (default: {_DEFAULT_WARPS})")
    parser.add_argument(
        "--num-stages",
        type=int,
        metavar="N",
        help=f"iterations of loads in flight in loops with matrix products (default: {DEFAULT_STAGES})",
    )
    parser.add_argument("--maxnreg", type=int, metavar="N", help="most registers of a thread (default: no bound)")
    parser.add_argument(
        "--config", type=int, metavar="N", help="of a kernel that autotune made, take the configuration N, counted from 1"
    )
    parser.add_argument("--language", choices=LEVELS, help="read the kernel by the rules of this Triton (default: 3.6)")
    parser.add_argument(
        "--headers",
        choices=("toolkit", "minimal"),
        help="use CUDA's own headers where they serve, or inline PTX that compiles faster",
    )
    _add_debug(parser)
    parser.add_argument("--line-info", action="store_true", help="keep lines for profilers and sanitizers")
    for name, what in (("cu", "the emitted CUDA"), ("ptx", "the PTX"), ("sass", "the SASS")):
        parser.add_argument(
            f"--dump-{name}",
            nargs="?",
            const=STDOUT,
            metavar="FILE",
            help=f"write {what} to FILE or standard output",
        )
    parser.add_argument(
        "--dump-contract",
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        help="write the launch contract, JSON, to FILE or standard output; unless it has a FILE of its own, --dump-cu FILE "
        "writes it beside that one",
    )
    parser.add_argument(
        "--dump-ir",
        nargs="?",
        const=ALL_PASSES,
        metavar="PASS",
        help="print the IR after PASS, or after every pass",
    )
    parser.add_argument("--report", action="store_true", help="print registers, spills, shared memory, occupancy")
    parser.add_argument(
        "--inputs",
        metavar="INPUT",
        nargs="+",
        help="add to the report what a run on the CPU counts, by Python line: sectors, bank conflicts, barriers. "
        "PATH::FUNCTION returns grid and arguments; or NAME=VALUE for each argument: n=4096, x=64x128, ids=4096:0..512, "
        "x=x.npy",
    )
    parser.add_argument("--grid", metavar="N[,N[,N]]", help="grid of that run, as kernel[grid] counts it")


def _add_debug(parser: Any) -> None:
    parser.add_argument("--debug", action="store_true", help="compile device assertions in, and checks of integer overflow")


def _add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run a Python script that launches kernels, on a chosen device",
        description="Run a Python script that launches kernels. Its exit code, output and tracebacks are the script's own.",
    )
    parser.set_defaults(command=_run)
    parser.add_argument(
        "--on",
        choices=("cuda", "emulator", "interpreter", "eager"),
        help="where kernels run: on the GPU, as emitted CUDA on the CPU, in the interpreter, or as ordinary Python, for "
        "breakpoint and print (default: where their arrays lie; NumPy arrays in the emulator)",
    )
    parser.add_argument(
        "--detect",
        metavar="WORDS",
        help="what the emulator looks for in every launch, separated by commas: bounds (the default), races, "
        "uninitialized, alignment, exit, offsets, all; or none. The first finding is an error at the Python line",
    )
    _add_debug(parser)
    parser.add_argument(
        "--dump-cu",
        metavar="FOLDER",
        help="write the emitted file and the launch contract of every kernel that is launched there",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="SCRIPT is a module, as for python -m")
    parser.add_argument("script", metavar="SCRIPT", help="Python file that uses triton or tle2cuda")
    parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="arguments of the script")


def _run(options: argparse.Namespace) -> int:
    """`tle2cuda run`."""
    from tle2cuda.runtime.script import run_script

    check_environment(options.on, options.detect)
    return run_script(
        options.script,
        options.arguments,
        options.on,
        options.dump_cu,
        options.debug,
        options.detect,
        is_module=options.is_module,
    )


def _compile(options: argparse.Namespace) -> int:
    """`tle2cuda compile`: triton is served to the kernel's file, as `run` serves it to a script."""
    check_options(options)
    from tle2cuda.triton_imports import install

    with install():
        return _compile_served(options)


def _compile_served(options: argparse.Namespace) -> int:
    from tle2cuda.runtime.loading import import_path, load_kernel
    from tle2cuda.runtime.signature import parse_constant

    with contextlib.redirect_stdout(sys.stderr):  # what the file prints when it is run is no part of a dump
        kernel, module = load_kernel(options.kernel)
    with import_path(Path(module.__file__ or "")):
        constants = dict(parse_constant(text, vars(module)) for text in options.constants)
    from tle2cuda import compiler

    constants = _choose(kernel, constants, options)
    extra = {"headers": options.headers} if options.headers else {}
    emitted = compiler.emit(
        kernel,
        signature=options.signature,
        constants=constants,
        num_warps=options.num_warps,
        num_stages=options.num_stages,
        max_registers=options.maxnreg,
        arch=options.arch,
        language=options.language,
        debug=options.debug or None,
        dump_ir=ALL_PASSES if options.dump_ir else None,
        **extra,
    )
    _, is_named, name = options.kernel.rpartition("::")
    emitted_name = emitted.contract.kernel_name
    if is_named and name != emitted_name:
        print(f"tle2cuda: `{name}` is called `{emitted_name}` in CUDA, which has other uses for its name", file=sys.stderr)
    return _show(emitted, options)


def _choose(kernel: Any, constants: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Complete the launch options, and the constants by those that autotune and heuristics decide."""
    from tle2cuda.tuning.choosing import OPTIONS, choose

    given = {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}
    values = _scalars(options.inputs or ())
    choice = choose(kernel, options.signature, constants, given, options.config, values)
    if choice.summary:
        print(f"tle2cuda: {choice.summary}", file=sys.stderr)
    defaults = {"num_warps": _DEFAULT_WARPS, "num_stages": DEFAULT_STAGES}
    for name, value in {**defaults, **choice.options}.items():
        setattr(options, name, value)
    return choice.constants


def _scalars(inputs: Sequence[str]) -> dict[str, Any]:
    """The numbers among ``NAME=VALUE`` of `--inputs`, by name; what is wrong with others is told later."""
    from tle2cuda.runtime.signature import parse_constant

    found = dict(parse_constant(word) for word in inputs if re.fullmatch(r"\w+=[^:]+", word))
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


def _show(emitted: EmittedKernel, options: argparse.Namespace) -> int:
    """Write the dumps and the report that were asked for; compile only for those that need it."""
    wanted = {name: target for name in DUMPS if (target := getattr(options, f"dump_{name}")) is not None}
    shown = list(wanted.values()).count(STDOUT) + (options.dump_ir is not None)
    if options.dump_ir is not None:
        _show_ir(emitted.ir_dumps, options.dump_ir)
    texts = {"cu": emitted.source, "contract": emitted.contract.to_json()}
    report = options.report or options.inputs is not None or not (wanted or options.dump_ir)
    built: Any = None
    if report or not wanted.keys() <= texts.keys():
        from tle2cuda.runtime import CompileOptions, build

        try:
            settings = CompileOptions(options.arch, line_info=options.line_info, max_registers=options.maxnreg)
            built = build(emitted, options=settings)
        except ToolchainError as error:
            if options.inputs is None or not wanted.keys() <= texts.keys() or exit_code(error) != EXIT_MACHINE:
                raise
            print(f"{'registers':<14}not known without CUDA: {error.message}")
    for name, target in wanted.items():
        _write(texts[name] if name in texts else built.asm[name], target, name, shown > 1)
    if wanted.get("contract", STDOUT) == STDOUT and wanted.get("cu", STDOUT) != STDOUT:
        beside = Path(wanted["cu"]).with_suffix(".json")
        if Path(wanted["cu"]).is_file() and beside != Path(wanted["cu"]):  # no contract beside /dev/stdout
            _write(texts["contract"], str(beside), "contract", False)
    if report and built is not None:
        print(built.report.render())
        written = wanted.get("cu", STDOUT)
        emitted_file = built.source_path if written == STDOUT else Path(written)
        if emitted_file.exists():
            print(f"{'emitted file':<14}{emitted_file}")
    if options.inputs is not None:
        _show_counters(emitted, options)
        if built is not None:
            _show_instructions(emitted, options)
    return EXIT_DONE


def _show_counters(emitted: Any, options: argparse.Namespace) -> None:
    """Print what an emulation counts."""
    from tle2cuda.emulator.counter_report import render_counters
    from tle2cuda.emulator.inputs import emulate_inputs

    print("\n" + render_counters(emulate_inputs(emitted, options.inputs, options.grid).counters))


def _show_instructions(emitted: Any, options: argparse.Namespace) -> None:
    """Print what the machine code consists of; it needs line information, which the code in use may lack."""
    from tle2cuda.runtime import CompileOptions
    from tle2cuda.runtime.build import build_artifact
    from tle2cuda.runtime.instructions import count_instructions, render_instructions

    try:
        settings = CompileOptions(options.arch, line_info=True, max_registers=options.maxnreg)
        counts = count_instructions(build_artifact(emitted, options=settings))
    except ToolchainError as error:
        print(f"\n{'machine code':<14}not known: {error.message}")
    else:
        print("\n" + render_instructions(counts))


def _show_ir(dumps: Any, wanted: str) -> None:
    """Print IR after one pass or all."""
    for name, text in dumps.items():
        if wanted in (ALL_PASSES, name):
            print(f"// IR after {name}")
            print(text.rstrip("\n"))


def _write(text: str, target: str, name: str, titled: bool) -> None:
    """Write a dump to a file, or to standard output under a title when several go there.

    Raises:
        ArgumentError: The file cannot be written.
    """
    if target == STDOUT:
        if titled:
            print(f"// {name}")
        print(text.rstrip("\n"))
        return
    write_text(Path(target), text)


def _doctor(options: argparse.Namespace) -> int:
    """`tle2cuda doctor`."""
    from tle2cuda.runtime.doctor import examine, healthy

    checks = []
    for check in examine():
        checks.append(check)
        print(check.render(), flush=True)
    if healthy(checks):
        return EXIT_DONE
    print("\nKernels cannot be compiled to cubins here; emitting CUDA and interpreting still work.")
    return EXIT_MACHINE

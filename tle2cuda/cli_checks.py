"""What is wrong with the command line of `tle2cuda compile` is told before the kernel's file is run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from tle2cuda.errors import ArgumentError, InvalidArgument, LaunchError
from tle2cuda.levels import default_level
from tle2cuda.near_names import did_you_mean
from tle2cuda.paths import check_writable
from tle2cuda.targets import MAX_REGISTERS_PER_THREAD, parse_target

STDOUT = "-"
DUMPS = ("cu", "contract", "ptx", "sass")
ALL_PASSES = "all"


def check_options(options: argparse.Namespace) -> None:
    """Refuse what can be refused before the kernel's file is run.

    Raises:
        ArgumentError: An option is missing or wrong.
    """
    if options.kernel is None:
        raise _missing_kernel(options)
    from tle2cuda.runtime.loading import find_file
    from tle2cuda.runtime.signature import parse_constant, split_signature

    path = find_file(options.kernel)
    if options.signature is None:
        raise ArgumentError(
            "--signature is missing",
            help="give types and constants in order, such as --signature '*fp32:16, *fp32:16, i32, 1024'",
        )
    split_signature(options.signature)
    for text in options.constants:
        parse_constant(text.partition(":")[0])
    parse_target(options.arch)
    check_environment(language=options.language)
    _check_numbers(options)
    _check_dumps(options, path)
    _check_inputs(options)


def check_environment(device: str | None = None, detect: str | None = None, language: str | None = None) -> None:
    """Refuse wrong words in the environment, where no option takes their place.

    Raises:
        ArgumentError: A variable says what there is not.
    """
    from tle2cuda.emulator.detectors import launch_detectors
    from tle2cuda.runtime.device import chosen_device

    try:
        if device is None:
            chosen_device()
        if detect is None:
            launch_detectors()
        if language is None:
            default_level()
    except (InvalidArgument, LaunchError) as error:
        raise ArgumentError(error.message) from None


def _missing_kernel(options: argparse.Namespace) -> ArgumentError:
    """The error for a command line without a kernel, which an option may have taken."""
    for name in (*DUMPS, "ir"):
        value = getattr(options, f"dump_{name}")
        if value and (".py" in value or "::" in value):
            return ArgumentError(
                f"--dump-{name} took {value!r} for its file, so the kernel is missing",
                help=f"put PATH::KERNEL before --dump-{name}",
            )
    lists: tuple[tuple[str, list[str], Callable[[str], bool]], ...] = (
        ("--constants", options.constants, lambda word: "::" in word or word.endswith(".py")),
        ("--inputs", (options.inputs or [])[1:], lambda word: "::" in word),
    )
    for option, words, is_kernel in lists:
        for word in filter(is_kernel, words):
            return ArgumentError(
                f"{option} took {word!r} for {'a constant' if option == '--constants' else 'an input'}, so the kernel is "
                "missing",
                help=f"put PATH::KERNEL before {option}",
            )
    return ArgumentError("the kernel is missing", help="name it as PATH::KERNEL, such as add.py::add")


def _check_numbers(options: argparse.Namespace) -> None:
    stages, warps, registers = options.num_stages, options.num_warps, options.maxnreg
    if stages is not None and stages < 1:
        raise ArgumentError(f"--num-stages is 1 or more, got {stages}")
    if warps is not None and (not 1 <= warps <= 32 or warps & (warps - 1)):
        raise ArgumentError(f"--num-warps is a power of two between 1 and 32, got {warps}")
    if registers is not None and not 16 <= registers <= MAX_REGISTERS_PER_THREAD:
        raise ArgumentError(f"--maxnreg is between 16 and {MAX_REGISTERS_PER_THREAD} registers, got {registers}")


def _check_dumps(options: argparse.Namespace, kernel: Path) -> None:
    taken: dict[Path, str] = {}
    for name in DUMPS:
        target = getattr(options, f"dump_{name}")
        if target in (None, STDOUT):
            continue
        path = Path(target)
        check_writable(path)
        if path.exists() and path.samefile(kernel):
            raise ArgumentError(f"--dump-{name} {target} would overwrite the kernel's own file")
        if path.is_file() or not path.exists():  # two may go to a device
            if path.resolve() in taken:
                raise ArgumentError(f"--dump-{taken[path.resolve()]} and --dump-{name} name the same file, {target}")
            taken[path.resolve()] = name
    if options.dump_ir not in (None, ALL_PASSES):
        from tle2cuda.passes.pipeline import PASSES, TRACE

        passes = (TRACE, *(each.name for each in PASSES))
        if options.dump_ir not in passes:
            raise ArgumentError(
                f"there is no pass {options.dump_ir!r}",
                facts=(f"passes: {', '.join(passes)}",),
                help=did_you_mean(options.dump_ir, passes),
            )


def _check_inputs(options: argparse.Namespace) -> None:
    if options.inputs is None:
        if options.grid is not None:
            raise ArgumentError("--grid is for --inputs", help="give the inputs, such as --inputs x=4096 n=4096")
        return
    from tle2cuda.emulator.inputs import check_words, parse_grid

    check_words(options.inputs)
    if len(options.inputs) > 1 or "::" not in options.inputs[0]:
        parse_grid(options.grid)
    elif options.grid is not None:
        raise ArgumentError("--grid is given by the function of --inputs", help="leave out --grid")


__all__ = ["ALL_PASSES", "DUMPS", "STDOUT", "check_environment", "check_options"]

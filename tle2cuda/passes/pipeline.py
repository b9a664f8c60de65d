"""The order of the passes, and why each stands where it stands."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError, InvalidArgument, KernelError, OutOfResources
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, Op

TRACE = "trace"
"""Names, among the dumps, the kernel as the front end made it."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of the pipeline; the module `tle2cuda.passes.NAME` has `run(kernel) -> Kernel`.

    Attributes:
        name: Name on the command line and in messages.
        reason: Why it stands at this place.
    """

    name: str
    reason: str


PASSES: tuple[Pass, ...] = (
    Pass("canonicalise", "first: constants, dead code and duplicates would only be carried through the rest"),
    Pass("pipeliner", "before tensor_maps and partitions: the copies it makes may be theirs; needs only clean IR"),
    Pass("tensor_maps", "before partitions and layouts: copies that no tensor map serves become loads and stores"),
    Pass("partitions", "before layouts: nothing that lies in registers may cross into the warps of a worker"),
    Pass("pipes", "after partitions, whose regions say who runs what; before layouts, which serve its copies"),
    Pass("products", "before layouts, which put operands and sums where the instructions want them"),
    Pass("layouts", "gives every tile its place in registers; the passes below ask which thread holds what"),
    Pass("tensor_memory", "after layouts, which put operands into shared memory; the sums it loads are tiles like others"),
    Pass("settling", "after layouts, which decide who holds what; before scratch, which such loops then need none of"),
    Pass("scratch", "after layouts, which decide what reductions, scans and conversions exchange between warps"),
    Pass("unscaled_sums", "before fuse, which makes loops of their own of what it marks; needs layouts"),
    Pass("fuse", "after scratch: an operation that exchanges data between threads ends a loop"),
    Pass("barriers", "after fuse, so that no later pass moves a memory access; scratch counts like any buffer"),
    Pass("shared_map", "last: overlays scratch where barriers already keep uses apart, which costs nothing"),
)


def pass_names() -> tuple[str, ...]:
    """Names that `dump` accepts, in order."""
    return (TRACE, *(each.name for each in PASSES))


def run(kernel: Kernel, dump: str | Collection[str] | None = None) -> tuple[Kernel, dict[str, str]]:
    """Run all passes.

    Args:
        kernel: The traced kernel.
        dump: Passes after which to keep the printed IR: a name, several, ``all``, or None.

    Returns:
        The kernel, ready for lowering, and the printed IR by pass name in the order of the passes.

    Raises:
        KernelError: The kernel is wrong, or needs more than the target has.
        InternalError: A pass failed or made illegal IR; the message names it.
    """
    wanted = _wanted(dump)
    dumps: dict[str, str] = {}
    _keep(kernel, TRACE, wanted, dumps)
    legal: set[Op] = set()
    _verified(kernel, "front end", legal)
    todo = list(PASSES)
    whole: Kernel | None = None  # as it came to the pipeliner, with stores of whole tiles
    is_halved = False
    while todo:
        each = todo.pop(0)
        if each.name == "pipeliner" and whole is None:
            whole = kernel
        try:
            kernel = _run_one(each.name, kernel)
        except OutOfResources:
            if whole is None or (smaller := _with_less_shared_memory(whole, kernel, is_halved)) is None:
                raise
            kernel, is_halved = smaller
            todo = [p for p in PASSES if p.name not in _names_before("pipeliner")]
            continue
        _keep(kernel, each.name, wanted, dumps)
        _verified(kernel, f"pass {each.name}", legal)
    return kernel, dumps


def _with_less_shared_memory(whole: Kernel, kernel: Kernel, is_halved: bool) -> tuple[Kernel, bool] | None:
    """What to try next where a kernel with rings of stages does not fit, and whether it stores halves; None without rings.

    As many stages with stores that take less memory come first, then one stage less with the stores as they were.

    Args:
        whole: The kernel as it came to the pipeliner.
        kernel: What became of it.
        is_halved: Whether that stores large products in halves.
    """
    from tle2cuda.passes.pipeliner import stages_of
    from tle2cuda.passes.store_parts import with_halved_stores

    stages = stages_of(kernel)
    if stages <= 1:
        return None
    if not is_halved and (halved := with_halved_stores(replace(whole, most_stages=stages))) is not None:
        return halved, True
    return replace(whole, most_stages=stages - 1), False


def _names_before(name: str) -> set[str]:
    names = [each.name for each in PASSES]
    return set(names[: names.index(name)])


def _run_one(name: str, kernel: Kernel) -> Kernel:
    module = importlib.import_module(f"tle2cuda.passes.{name}")
    try:
        result = module.run(kernel)
    except InternalError as error:
        raise InternalError(
            f"internal error in pass {name}: {error.message}", error.span, error.facts, error.help
        ) from error
    except KernelError:
        raise  # the user's mistake, found by this pass
    except Exception as error:
        text = str(error) or "no message"
        raise InternalError(f"internal error in pass {name}: {type(error).__name__}: {text}", kernel.span) from error
    assert isinstance(result, Kernel)
    return result


def _verified(kernel: Kernel, maker: str, legal: set[Op]) -> None:
    try:
        verify(kernel, legal)
    except InternalError as error:
        raise InternalError(
            f"internal error in {maker}: it made illegal IR: {error.message}", error.span, error.facts
        ) from error


def _wanted(dump: str | Collection[str] | None) -> frozenset[str]:
    if dump is None:
        return frozenset()
    names = {dump} if isinstance(dump, str) else set(dump)
    if "all" in names:
        return frozenset(pass_names())
    for name in sorted(names):
        if name not in pass_names():
            raise InvalidArgument(f"no pass is called {name!r}", facts=("passes: " + ", ".join((*pass_names(), "all")),))
    return frozenset(names)


def _keep(kernel: Kernel, name: str, wanted: frozenset[str], dumps: dict[str, str]) -> None:
    if name in wanted:
        from tle2cuda.ir.printer import print_kernel  # only dumps need it

        dumps[name] = print_kernel(kernel)

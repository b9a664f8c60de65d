"""A launch in eager mode: program by program, in the caller's thread as long as none waits for another."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tle2cuda.eager.debugger import hidden_frames
from tle2cuda.eager.functions import Session
from tle2cuda.eager.memory import Memory, Region
from tle2cuda.eager.numbers import VALUES, round_to
from tle2cuda.eager.problems import in_words
from tle2cuda.eager.program import Launch, Program, enter
from tle2cuda.eager.tensors import make_tensor_descriptor
from tle2cuda.eager.values import Tile, describe
from tle2cuda.errors import CompilationError, InvalidType, KernelError, LaunchError, MeshError
from tle2cuda.ir.types import DType
from tle2cuda.levels import DEFAULT_LEVEL, allows_plain_globals
from tle2cuda.ops.mesh import _mesh_to_cluster_dims, is_block_mesh
from tle2cuda.ops.values import pointer_type
from tle2cuda.runtime.contract import ArgSpec, Dim3, check_grid, normalize_grid
from tle2cuda.runtime.frames import hide_frames
from tle2cuda.runtime.scalars import scalar_number
from tle2cuda.runtime.signature import DescriptorArgument, Specialization, TupleArgument

LARGEST_CLUSTER = 16


def run(
    fn: Any,
    grid: int | Sequence[int],
    specialization: Specialization,
    values: Sequence[Any],
    cluster_dims: Dim3 | None = None,
    num_warps: int = 4,
    language: str = DEFAULT_LEVEL,
    checks_overflow: bool = False,
    refusals: Callable[[], Sequence[CompilationError]] | None = None,
) -> None:
    """Run a kernel's Python function; results go into the arrays.

    Args:
        fn: The kernel's Python function.
        grid: Extents in CTAs, or in clusters for a cluster kernel.
        specialization: Names and types of the run-time arguments, and the compile-time ones.
        values: The run-time arguments, arrays as NumPy sees them.
        cluster_dims: Cluster shape asked for by the launch.
        num_warps: Warps of a CTA, which kernels may ask for.
        language: Level of the language that the kernel is read by (`tle2cuda.levels`).
        checks_overflow: Integer arithmetic of fewer than 64 bits that overflows is an error.
        refusals: What the front end says is wrong with the kernel; asked when it turns out that something is.

    Raises:
        KernelError: The kernel is at fault; the traceback ends in the user's line.
        Deadlock: Programs wait for each other without end.
    """
    __tracebackhide__ = True  # debuggers that know of it pass over these frames
    asked = functools.cache(refusals) if refusals is not None else tuple
    session = Session(language == "3.9", allows_plain_globals())
    known = {name: session.exchange(value) for name, value in specialization.constants}
    cluster = _cluster(session, fn, known, cluster_dims)
    if math.prod(cluster) > LARGEST_CLUSTER:
        shape = " x ".join(map(str, cluster))
        raise MeshError(
            f"a cluster of {shape} = {math.prod(cluster)} CTAs is larger than the {LARGEST_CLUSTER} that GPUs allow",
            help=f"use at most {LARGEST_CLUSTER} CTAs; up to 8 work on every GPU with clusters",
        )
    ctas = tuple(n * c for n, c in zip(normalize_grid(grid), cluster, strict=True))
    extents: Dim3 = (ctas[0], ctas[1], ctas[2])
    check_grid(extents)
    memory = Memory()
    arguments: dict[str, Any] = dict(known)
    kept = []  # arrays must outlive the launch
    leaves: dict[str, Any] = {}
    with np.errstate(all="ignore"):  # a number that is too large for its type becomes infinite, as on a GPU
        for spec, value in zip(specialization.args, values, strict=True):
            leaves[spec.name], keep = _argument(spec, value, memory)
            kept.append(keep)
    for name, value in known.items():
        arguments[name] = _assembled(value, leaves)
    arguments |= leaves
    function = session.function(fn)

    @functools.cache
    def asked_early() -> Sequence[CompilationError]:
        return () if session.calls_host(fn, known) else asked()

    launch = Launch(extents, cluster, memory, num_warps, language, checks_overflow, asked, asked_early)

    def run_program(program: Program) -> None:
        __tracebackhide__ = True
        enter(program)
        try:
            with np.errstate(all="ignore"):
                returned = function(**arguments)
            if returned is not None:
                raise InvalidType(
                    f"{fn.__name__}: a kernel returns nothing, got {describe(returned)}", help="store the result to memory"
                )
        except Exception as error:
            known = in_words(error, session, asked)
            _explain(known, program)
            if known is error:
                raise
            raise known.with_traceback(error.__traceback__) from error.__cause__
        finally:
            enter(None)

    launch.turns.run_program = run_program
    x, y, z = extents
    try:
        with hidden_frames(session.codes):
            launch.turns.run_all([Program(launch, (i, j, k)) for k in range(z) for j in range(y) for i in range(x)])
    except Exception as error:
        hide_frames(error)
        raise


def _cluster(session: Session, fn: Any, constants: dict[str, Any], asked: Dim3 | None) -> Dim3:
    """The one cluster shape of the launch and of the meshes that the kernel sees."""
    shapes = {_mesh_to_cluster_dims(mesh) for mesh in session.meshes(fn, constants) if not is_block_mesh(mesh)}
    if asked is not None:
        return asked
    if len(shapes) > 1:
        raise MeshError(
            f"{fn.__name__} sees meshes with clusters of different shapes: {', '.join(map(str, sorted(shapes)))}",
            help="choose the cluster of the launch with cluster_dims=(x, y, z)",
        )
    return next(iter(shapes), (1, 1, 1))


def _assembled(item: Any, leaves: dict[str, Any]) -> Any:
    """A tuple or descriptor put together from its run-time parts, which are taken out of `leaves`; else `item`."""
    if isinstance(item, ArgSpec):
        return leaves.pop(item.name)
    if isinstance(item, TupleArgument):
        items = [_assembled(inner, leaves) for inner in item.items]
        return item.kind(*items) if hasattr(item.kind, "_fields") else tuple(items)
    if isinstance(item, DescriptorArgument):
        base, *parts = (leaves.pop(leaf.name) for leaf in item.leaves())
        rank = len(item.shape)
        return make_tensor_descriptor(base, parts[:rank], [*parts[rank:], 1], item.block_shape, item.padding)
    return item


def _argument(spec: ArgSpec, value: Any, memory: Memory) -> tuple[Tile, Any]:
    dtype = DType(spec.dtype)
    if spec.kind == "pointer":
        if not isinstance(value, np.ndarray):
            raise LaunchError(f"argument `{spec.name}`: eager mode takes arrays in host memory, got {type(value).__name__}")
        region = memory.add(Region(spec.name, value))
        base = np.array(value.ctypes.data, np.int64)
        return Tile(base, pointer_type(dtype), None, region), value
    number = scalar_number(spec.name, spec.dtype, value)
    if dtype.is_floating():
        return Tile(round_to(np.array(number), dtype), dtype), None
    return Tile(np.array(number, VALUES[dtype]), dtype), None


def _explain(error: Exception, program: Program) -> None:
    """Says in which program it happened."""
    (fact,) = program.facts()
    if isinstance(error, KernelError):
        if fact not in error.facts:
            error.facts = (*error.facts, fact)
    elif hasattr(error, "add_note"):  # Python 3.11
        error.add_note(fact)

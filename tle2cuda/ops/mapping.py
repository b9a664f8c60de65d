"""`tl.map_elementwise`, `tl.condition`, and small names of the language that have no operation of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, NotSupported
from tle2cuda.ir import builder
from tle2cuda.ir.classify import ELEMENTWISE, is_tile
from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.types import element_of, with_shape
from tle2cuda.ops import core
from tle2cuda.ops.combine import unwrap_result
from tle2cuda.ops.core import (
    broadcast_all,
    builtin,
    call_function,
    describe_type,
    fact,
    meaning,
    numeric,
    stretch,
    tensor,
    to_tensor,
)
from tle2cuda.ops.join import join, split
from tle2cuda.ops.shape import reshape

_WHAT = "tl.map_elementwise"
EFFECTS_IN_MAP = f"{_WHAT}: the function may compute and branch, but not access memory, print or synchronise"
EFFECTS_IN_MAP_HELP = "load before, and store or print what it returns"
_CONTROL = frozenset(("if", "for", "while"))
_COMPUTES = ELEMENTWISE | _CONTROL | {"constant", "program_id", "num_programs", "yield", "condition", "assert"}
"""What a function of elements may do: nothing that others could see."""


class const:
    """Annotation of a pointer parameter that the kernel only reads: ``x: tl.const``. What it says is found out anyway."""


@builtin
def condition(arg1: Any, disable_licm: Any = False) -> Any:
    """The condition of a `while`, with a hint for the compiler.

    Args:
        arg1: The condition.
        disable_licm: Accepted without effect.

    Example:
        ``while tl.condition(i < n, disable_licm=True):``
    """
    core.static_bool(disable_licm, "tl.condition: disable_licm")
    return arg1


@builtin
def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1) -> Any:
    """A function of scalars, applied to every element: it may branch and loop on them.

    Args:
        scalar_fn: A jit function of scalars: `pack` neighbours of the first argument, then `pack` of the second, ...
            It computes without accesses to memory.
        *args: Tiles or scalars, which broadcast.
        pack: How many neighbours, in row-major order, one call gets: a power of two.

    Returns:
        What the function returns, as tiles: one, or a tuple. With `pack`, so many neighbours of the first result, then
        of the second, ...

    Raises:
        InvalidArgument: There are no arguments, or `pack` does not divide the number of elements.
        InvalidType: The function returns nothing, or makes tiles.
        NotSupported: It does more than to compute.

    Example:
        ``y = tl.map_elementwise(clip, x, low, high)``
    """
    width = core.static_int(pack, f"{_WHAT}: pack")
    if not args:
        raise InvalidArgument(f"{_WHAT} needs at least one argument behind the function")
    values = broadcast_all(tuple(numeric(x, _WHAT) for x in args), _WHAT)
    dims = values[0].dims
    check_pack(width, core.num_elements(dims), tuple(fact(f"argument {i + 1}", x) for i, x in enumerate(values)))
    if width > 1:
        values = tuple(part for x in values for part in _neighbours(reshape(x, (core.num_elements(dims),)), width))
    results = _mapped(scalar_fn, values)
    if len(results) % width:
        raise InvalidArgument(
            f"{_WHAT}: with pack={width} the function must return {width} neighbours of each result, "
            f"it returned {len(results)} value(s)"
        )
    if width > 1:
        groups = [results[i : i + width] for i in range(0, len(results), width)]
        results = [reshape(_together(group), dims) for group in groups]
    return tuple(results) if len(results) > 1 else results[0]


def check_pack(width: int, elements: int, facts: tuple[str, ...] = ()) -> None:
    """Refuses a number of neighbours that does not divide the elements.

    Raises:
        InvalidArgument: It is such a number.
    """
    if width < 1 or width & (width - 1) or width > elements:
        raise InvalidArgument(f"{_WHAT}: pack must be a power of two of at most {elements}, got {width}", facts=facts)


def _neighbours(x: tensor, width: int) -> list[tensor]:
    """The elements of a row by their number in groups of `width`: each a tile of one element a group."""
    if width == 1:
        return [x]
    even, odd = split(reshape(x, (x.dims[0] // 2, 2)))
    if width == 2:
        return [even, odd]
    pairs = zip(_neighbours(even, width // 2), _neighbours(odd, width // 2), strict=True)
    return [part for pair in pairs for part in pair]


def _together(parts: Sequence[tensor]) -> tensor:
    """The inverse of `_neighbours`."""
    if len(parts) == 1:
        return parts[0]
    joined = join(_together(parts[0::2]), _together(parts[1::2]))
    return reshape(joined, (core.num_elements(joined.dims),))


def _mapped(scalar_fn: Any, values: Sequence[tensor]) -> list[tensor]:
    """The function applied to tiles of one shape, or to scalars."""
    current = builder.current()
    dims = values[0].dims
    if not dims:
        return [to_tensor(x) for x in unwrap_result(_called(scalar_fn, values))]
    params = tuple(Value(x.element) for x in values)
    with current.region() as ops:
        returned = _called(scalar_fn, tuple(tensor(p) for p in params))
        yielded = tuple(to_tensor(x) for x in unwrap_result(returned))
        for value in yielded:
            if value.dims or value.is_pointer:
                raise InvalidType(f"{_WHAT}: the function must return scalars, it returned {describe_type(value)}")
        current.emit("yield", tuple(x.value for x in yielded))
    region = Region(params, tuple(ops))
    for op in walk(region):
        _check(op)
    if not any(op.name in _CONTROL for op in region.ops):
        return _on_tiles(region, values, dims)
    types = tuple(with_shape(x.element, dims) for x in yielded)
    name = getattr(scalar_fn, "__name__", "") or "mapped"
    made = current.emit("map", tuple(x.value for x in values), types, {"fn": name}, (region,))
    return [tensor(value) for value in made]


def _called(scalar_fn: Any, values: Sequence[tensor]) -> Any:
    returned = call_function(scalar_fn, tuple(values))
    if core.unwrap(returned) is None:
        raise InvalidType(f"{_WHAT}: the function returns nothing", help="end it with `return` and a value")
    return returned


def _check(op: Op) -> None:
    if any(is_tile(v) for v in (*op.operands, *op.results)):
        raise InvalidType(f"{_WHAT}: the function takes single elements, but makes a tile here", op.span)
    if op.name not in _COMPUTES:
        raise NotSupported(EFFECTS_IN_MAP, op.span, help=EFFECTS_IN_MAP_HELP)


def _on_tiles(region: Region, values: Sequence[tensor], dims: tuple[int, ...]) -> list[tensor]:
    """A function without branches: the same operations on whole tiles."""
    current = builder.current()
    known: dict[Value, tensor] = dict(zip(region.params, values, strict=True))
    for op in region.body:
        operands = [known[v] for v in op.operands]
        with current.at(op.span):
            shape = dims if any(x.dims for x in operands) else ()
            operands = [stretch(x, shape) if shape else x for x in operands]
            types = tuple(with_shape(element_of(v.type), shape) for v in op.results)
            made = current.emit(op.name, tuple(x.value for x in operands), types, op.attrs)
        for old, new in zip(op.results, made, strict=True):
            known[old] = tensor(new)
            if old.name:
                object.__setattr__(new, "name", old.name)  # nobody has seen it yet
    return [stretch(known[v], dims) for v in region.terminator.operands]


# -- meaning ----------------------------------------------------------------------------------------


@meaning("map")
def _map(ctx: Any, op: Op, *inputs: Any) -> Any:
    found = ctx.call_region(op.regions[0], inputs)
    return found if len(found) > 1 else found[0]

"""What names mean across loops, branches and returns: the checks that rewritten functions make as they run.

A compiled loop hands values of fixed types from one iteration to the next, and a name set on one path only has no value
afterwards. Python knows neither rule, so the rewritten function asks here. What a path that is not taken would do stays
unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from tle2cuda.eager.aggregates import Aggregate
from tle2cuda.eager.program import current, reads_3_9
from tle2cuda.eager.values import Tile, decay, describe, is_number, number_dtype, static_int
from tle2cuda.errors import CompilationError, DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch, UnsupportedSyntax
from tle2cuda.ir.types import BOOL, DType
from tle2cuda.ops.loops import range_refused

Names = Mapping[str, Any]

MOST_UNROLLED = 1 << 14


class Unrolled:
    """`tl.static_range` in a kernel: only loops and comprehensions go over it, as in compiled kernels.

    Args:
        constants: The values of the loop's variable.
    """

    def __init__(self, constants: range) -> None:
        self._constants = constants

    def __repr__(self) -> str:
        return f"tl.static_{self._constants!r}"

    def values(self) -> Iterator[Any]:
        """The variable's values, for a loop."""
        return iter(self._constants)

    def constants(self) -> range:
        """The same, for a comprehension."""
        return self._constants

    def _refuse(self, *_: Any) -> Any:
        raise range_refused()

    __iter__ = __getitem__ = __contains__ = __reversed__ = _refuse


class Counted:
    """`range` in a kernel: a loop of the run time, whose variable is a scalar.

    Args:
        start: First value.
        stop: Value that is not reached.
        step: From one value to the next.
        values: Makes the variable's values.
    """

    def __init__(self, start: Any, stop: Any, step: Any, values: Callable[[Any, Any, Any], Iterator[Tile]]) -> None:
        self.bounds = (start, stop, step)
        self._values = values

    def values(self) -> Iterator[Tile]:
        """The variable's values, for a loop."""
        return self._values(*self.bounds)

    def _refuse(self, *_: Any) -> Any:
        raise range_refused()

    __iter__ = __getitem__ = __contains__ = __reversed__ = _refuse

    def constants(self) -> range:
        """The values of a range that is known at compile time.

        Raises:
            ConstexprRequired: It is not.
        """
        names = ("start", "end", "step")
        return range(*(static_int(bound, f"range: {name}") for name, bound in zip(names, self.bounds, strict=True)))


def _parts(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, tuple):
        return value
    return tuple(value._fields_.values()) if isinstance(value, Aggregate) else None


def _make(value: Any) -> Any:
    """What values made of parts, or of a block, must have in common."""
    if isinstance(value, Aggregate):
        return value._maker_
    return type(value), getattr(value, "block", None), getattr(value, "block_shape", None)


def _problem(name: str, before: Any, after: Any, where: str) -> CompilationError | None:
    """How two values of a name differ in type; None when they do not."""
    first, second = _parts(before), _parts(after)
    if first is not None or second is not None:
        if first is None or second is None or len(first) != len(second) or _make(before) != _make(after):
            return CompilationError(where.format(name, _said(before), _said(after)))
        pairs = (_problem(name, a, b, where) for a, b in zip(first, second, strict=True))
        return next((problem for problem in pairs if problem is not None), None)
    a, b = (decay(value) for value in (before, after))
    if isinstance(a, Tile) and isinstance(b, Tile):
        text = where.format(name, describe(a), describe(b))
        if a.shape != b.shape:
            return ShapeMismatch(text)
        return None if a.dtype == b.dtype else DTypeMismatch(text)
    if isinstance(a, Tile) or isinstance(b, Tile):
        return CompilationError(where.format(name, _said(before), _said(after)))
    same = a is b or _make(a) == _make(b) if hasattr(a, "block") or hasattr(a, "block_shape") else _same(a, b)
    return None if same else CompilationError(where.format(name, _said(before), _said(after)))


def _same(a: Any, b: Any) -> bool:
    """Whether two things that are no numbers may stand for each other; objects of the run time may, by their class."""
    if a is None or b is None or isinstance(a, (str, bool)) or isinstance(b, (str, bool)):
        return bool(a == b)
    return type(a) is type(b)


def _said(value: Any) -> str:
    parts = _parts(value)
    if parts is not None and isinstance(value, tuple):
        return f"tuple ({', '.join(map(_said, parts))})"
    return describe(value)


# -- loops --------------------------------------------------------------------------------------------


class Loop:
    """A `for` or `while` that runs, and what its iterations hand on.

    Args:
        names: Names that an iteration hands to the next one, or to what follows.
        fixed: Those of them that are annotated constants wherever the body assigns them.
        known: The function's names before the loop.
    """

    def __init__(self, names: Sequence[str], fixed: Sequence[str], known: Names) -> None:
        self.counted = True
        self.fixed = frozenset(fixed)
        self.before = {name: known[name] for name in names if name in known}
        self.known = frozenset(known)

    def carry(self, now: Names) -> None:
        """Ends an iteration.

        Raises:
            CompilationError: A name has another type than before the loop.
        """
        if not self.counted:
            return
        where = "`{}` is {} before the loop and {} after an iteration"
        for name, before in self.before.items():
            after = now.get(name)
            if after is before:
                continue
            if name in self.fixed and is_number(before) and before != after:
                raise CompilationError(where.format(name, describe(before), describe(after)))
            problem = _problem(name, before, after, where)
            if problem is not None:
                raise problem

    def loses(self, name: str) -> bool:
        """Whether a name has no value behind the loop: only the body assigns it."""
        return self.counted and name not in self.known


class For(Loop):
    """``for target in iterable``.

    Args:
        iterable: What it goes over.
        unpacks: The target is more than one name.
        names: As of `Loop`.
        fixed: As of `Loop`.
        known: As of `Loop`.
    """

    def __init__(self, iterable: Any, unpacks: bool, names: Sequence[str], fixed: Sequence[str], known: Names) -> None:
        super().__init__(names, fixed, known)
        if isinstance(iterable, Tile):
            raise InvalidType(
                f"a kernel cannot iterate over {describe(iterable)}",
                help="iterate over range, tl.range, tl.static_range or a tuple",
            )
        self.counted = isinstance(iterable, Counted)
        if self.counted and unpacks:
            raise UnsupportedSyntax("a loop over a range has one name as its target")
        self.iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.iterable, Counted):
            return self.iterable.values()
        values = self.iterable.values() if isinstance(self.iterable, Unrolled) else self.iterable
        return current().sites.repeated(values)


class While(Loop):
    """``while condition``."""

    def __init__(self, names: Sequence[str], fixed: Sequence[str], known: Names) -> None:
        super().__init__(names, fixed, known)
        self.is_first = True

    def goes_on(self, condition: Any) -> Any:
        """The condition, checked. Triton 3.6 tests bool alone, 3.9 integers too.

        Raises:
            CompilationError: It is always true.
            DTypeMismatch: It is a tile, or of another dtype.
        """
        if not isinstance(condition, Tile):
            if self.is_first and condition:
                raise CompilationError(
                    "the condition of this `while` is always true, so the loop never ends",
                    help="test a value that the body assigns, or one that the condition loads",
                )
            return condition
        self.is_first = False
        if condition.is_pointer or condition.dtype is not BOOL:
            if condition.is_pointer or not condition.dtype.is_int() or not reads_3_9():
                allowed = "bool or an integer" if reads_3_9() else "bool"
                raise DTypeMismatch(
                    f"`while`: the condition must be {allowed}, got {describe(condition)}",
                    help="compare it with something, such as x != 0",
                )
        return condition


def leave(*loops: Any) -> None:
    """A `return` inside of loops.

    Raises:
        UnsupportedSyntax: One of them is a loop of the run time.
    """
    if any(loop.counted for loop in loops):
        raise UnsupportedSyntax(
            "`return` inside a loop is not supported in a kernel",
            help="use `while` with the condition for going on, or return behind the loop",
        )


def leave_by(test: Any, *loops: Any) -> Any:
    """A condition in front of arms that return, inside of loops.

    Raises:
        UnsupportedSyntax: The condition is one of the run time, and so is a loop.
    """
    if isinstance(test, Tile):
        leave(*loops)
    return test


def unrolled(iterable: Any) -> Any:
    """What a comprehension goes over: constants.

    Raises:
        InvalidType: A tile.
    """
    if isinstance(iterable, Tile):
        raise InvalidType(f"a kernel cannot iterate over {describe(iterable)}")
    values = iterable.constants() if isinstance(iterable, (Counted, Unrolled)) else iterable
    return current().sites.repeated(values)


# -- branches -----------------------------------------------------------------------------------------


def arms(test: Any, message: str, help: str) -> Any:
    """A condition in front of arms that hold what is refused, whichever is taken.

    Raises:
        UnsupportedSyntax: The condition is one of the run time.
    """
    if isinstance(test, Tile):
        raise UnsupportedSyntax(message, help=help)
    return test


def merged(
    test: Any,
    before: Names,
    now: Names,
    names: Mapping[str, str],
    literals: Mapping[str, Any],
    site: tuple[Hashable, ...],
    arm: int,
) -> dict[str, Any] | None:
    """The names behind an `if`, of those that its arms assign and what follows reads.

    Args:
        test: The condition.
        before: The function's names in front of it.
        now: Those at the end of the arm that was taken.
        names: For each name where it is assigned: ``here``, ``there``, ``both``, or ``alike`` for both and equally.
        literals: The constants that the other arm is seen to assign.
        site: Which `if` it is.
        arm: Which of its arms was taken: 0 or 1.

    Returns:
        The values; names that are left out have none. None when the condition is a constant.

    Raises:
        CompilationError: A name has another type than on the other side.
    """
    if not isinstance(test, Tile):
        return None
    values = {}
    for name, where in names.items():
        if where not in ("both", "alike") and name not in before:
            continue
        if name not in now:
            continue
        value = now[name]
        if name in literals:
            _check_sides(f"`{name}`", value, literals[name])
        if where == "here":
            problem = _problem(f"`{name}`", value, before[name], _SIDES)
            if problem is not None:
                raise problem
            if not (is_number(value) and is_number(before[name]) and value == before[name]):
                value = _as_run_time(value)
        elif where == "there" or where == "both":  # the other arm may give it another value
            value = _as_run_time(value)
            if where == "both":
                _compare_sides(f"`{name}` is ", (*site, name), arm, value)
        values[name] = value
    return values


_SIDES = "{} is {} on one side of this `if` and {} on the other"


def _compare_sides(words: str, site: Hashable, arm: int, value: Any) -> None:
    """Refuses types that differ by the side of a branch, once a launch has taken both sides.

    Unrolled loops and calls of one function with several types come by here as well, so only what the front end
    refuses is refused.

    Args:
        words: How the front end's error begins.
        site: Which branch it is.
        arm: Which side was taken.
        value: What it gives.

    Raises:
        CompilationError: The front end refuses it, in its words.
    """
    launch = current().launch
    seen = launch.seen.setdefault(site, {})
    if 1 - arm in seen and _problem("", value, seen[1 - arm], _SIDES) is not None:
        for refusal in launch.refusals():
            if refusal.message.startswith(words) and "on one side of this `if`" in refusal.message:
                raise refusal
    seen[arm] = value


def compare_results(function: Callable[..., Any], value: Any) -> None:
    """Refuses a function that returns another type than before, where the front end refuses that.

    Raises:
        CompilationError: It does.
    """
    launch = current().launch
    seen = launch.seen.setdefault(function, {})
    if 0 in seen and _problem("", value, seen[0], _SIDES) is not None:
        for refusal in launch.refusals():
            if refusal.message.startswith(("the returned value is ", "the function returns a value on one side")):
                raise refusal
    seen[0] = value


def _check_sides(what: str, value: Any, other: Any) -> None:
    """Refuses texts, dtypes and None that the run time would have to choose.

    Raises:
        CompilationError: They differ.
    """
    differ = type(value) is not type(other) or value != other
    if differ and any(x is None or isinstance(x, (str, DType)) for x in (value, other)):
        raise CompilationError(
            f"{what} is {describe(value)} on one side of this `if` and {describe(other)} on the other",
            help="what depends on a run-time condition must be a number, tile or pointer on both sides",
        )


def _as_run_time(value: Any) -> Any:
    """A value that another one may stand in for: numbers are no constants then."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_as_run_time(item) for item in value)
    return decay(value)


def side(test: Any, value: Any, site: tuple[Hashable, ...], arm: int, *other: Callable[[], Any]) -> Any:
    """One side of a conditional expression, which is no constant where the run time decides.

    Args:
        test: The condition.
        value: The side that was taken.
        site: Which expression it is.
        arm: Which of its sides was taken: 0 or 1.
        *other: Gives the other one, where it is a constant or something from outside.
    """
    if not isinstance(test, Tile):
        return value
    if other:
        _check_sides("the result", value, other[0]())
    value = _as_run_time(value)
    _compare_sides("the result is ", site, arm, value)
    return value


def result(value: Any, *tests: Any) -> Any:
    """What a function returns, which is no constant where the run time decided that it is this."""
    return _as_run_time(value) if any(isinstance(test, Tile) for test in tests) else value


# -- refusals -----------------------------------------------------------------------------------------


def refuse_in(loop: Loop, message: str, help: str) -> None:
    """A loop whose body holds what kernels cannot contain, however often it runs.

    Raises:
        UnsupportedSyntax: It is a loop of the run time.
    """
    if loop.counted:
        raise UnsupportedSyntax(message, help=help)


def refuse(message: str, help: str) -> Any:
    """What kernels cannot contain, reached.

    Raises:
        UnsupportedSyntax: Always.
    """
    raise UnsupportedSyntax(message, help=help)


def refuse_raise(text: str) -> None:
    """A `raise`, reached.

    Raises:
        CompilationError: Always.
    """
    raise CompilationError(
        f"`raise` is reached while the kernel is compiled: {text}" if text else "`raise` is reached",
        help="a `raise` is accepted only under a compile-time condition that is false",
    )


def set_attribute(owner: Any, name: str, value: Any) -> None:
    """``owner.name = value``, in the `__init__` of an aggregate.

    Raises:
        UnsupportedSyntax: Something else.
    """
    if not isinstance(owner, Aggregate):
        raise UnsupportedSyntax("assigning to an attribute is not supported in a kernel", help="assign to a name")
    setattr(owner, name, value)


def range_bound(x: Any, name: str, what: str) -> Any:
    """A bound or step of a counted loop.

    Raises:
        InvalidType: It is no integer scalar.
        InvalidArgument: A step of 0.
    """
    if isinstance(x, Tile):
        fits = not x.shape and not x.is_pointer and x.dtype.is_int()
    else:
        fits = is_number(x) and number_dtype(x).is_int()
    if not fits:
        raise InvalidType(f"{what}: {name} must be an integer scalar, got {describe(x)}")
    if name == "step" and not isinstance(x, Tile) and x == 0:
        raise InvalidArgument(f"{what}: step must not be 0")
    return x

"""Arguments that must be known at compile time, whichever way a function then uses them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tle2cuda.eager.values import Tile, describe
from tle2cuda.errors import ConstexprRequired

_CONSTANT = frozenset(
    """
    allow_tf32 approx asm axis bitcast boundary_check cache_modifier can_reorder constraints descending dim dtype
    eviction_policy fast_math fp_downcast_rounding hex ieee_rounding input_precision is_async is_pure keep_dims lhs_format
    lhs_k_pack max_num_imprecise_acc n_rounds num_bins out_dtype pack padding_option propagate_nan return_indices
    return_indices_tie_break_left reverse rhs_format rhs_k_pack sanitize_overflow scope sem tie_break_left volatile
    """.split()
)
"""Parameters of the language's functions that take no value of the run time."""


def with_constants(name: str, function: Any) -> Any:
    """A function of the language that refuses values of the run time where it needs constants.

    Args:
        name: What it is called in messages, such as ``tl.sum``.
        function: The function; classes, and functions without such parameters, come back as they are.
    """
    if isinstance(function, type) or not callable(function):
        return function
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return function
    places = {p.name: None if p.kind is p.KEYWORD_ONLY else i for i, p in enumerate(parameters) if p.name in _CONSTANT}
    return _checked(name, function, places) if places else function


def _checked(name: str, function: Callable[..., Any], places: dict[str, int | None]) -> Callable[..., Any]:
    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for parameter, place in places.items():
            value = args[place] if place is not None and place < len(args) else kwargs.get(parameter)
            if isinstance(value, Tile):
                raise ConstexprRequired(
                    f"{name}: {parameter} must be known at compile time, got a run-time value ({describe(value)})",
                    help="pass it as a tl.constexpr parameter",
                )
        return function(*args, **kwargs)

    return checked

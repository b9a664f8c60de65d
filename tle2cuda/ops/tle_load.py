"""`tle.load`: `tl.load` with a wish for asynchronous staging."""

from __future__ import annotations

from typing import Any

from tle2cuda.ops import memory
from tle2cuda.ops.core import builtin, static_bool, tensor


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
    is_async: Any = False,
) -> tensor:
    """`tl.load`; `is_async` never changes the value.

    Args:
        pointer: As in `tl.load`, and so the following ones.
        mask: bool.
        other: Value of masked-off elements.
        boundary_check: As in `tl.load`.
        padding_option: As in `tl.load`.
        cache_modifier: ``""``, ``".ca"``, ``".cg"``, ``".cs"`` or ``".cv"``.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``.
        volatile: Never merge, hoist or drop the access.
        is_async: Wish for staging with cp.async (constexpr), which may be ignored.

    Raises:
        InvalidType: As in `tl.load`.

    Example:
        ``v = tle.load(x + i, mask=i < n, other=0.0, is_async=True)``
    """
    wish = static_bool(is_async, "tle.load: is_async")
    options = (boundary_check, padding_option, cache_modifier, eviction_policy, volatile)
    return memory.load_as(pointer, mask, other, *options, attrs={"is_async": True} if wish else {})

"""C names: the user's, suffixed only on a clash."""

from __future__ import annotations

import contextlib
import keyword
import re
from collections.abc import Iterator

_RESERVED = frozenset(
    """
    alignas alignof and asm auto bool break case catch char class const constexpr continue decltype default delete
    do double else enum explicit export extern false float for friend goto if inline int long mutable namespace
    new noexcept not nullptr operator or private protected public register return short signed sizeof static
    struct switch template this throw true try typedef typename union unsigned using virtual void volatile while
    xor threadIdx blockIdx blockDim gridDim warpSize dim3 half int2 int4 float2 float4 uint4 uint2 min max abs exp
    log sin cos sqrt floor ceil round printf assert cg cub cuda std Shared shared Vector thread run k
    """.split()
)


class Names:
    """Names in use, by nested C++ scopes."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]

    def fresh(self, hint: str, depth: int | None = None) -> str:
        """A name like `hint` that clashes with nothing in the open scopes.

        Args:
            hint: Wanted name; characters that C does not allow become underscores.
            depth: Scope that will hold it, counted from the outermost (0); the innermost by default.
        """
        base = re.sub(r"\W", "_", hint) or "value"
        if base[0].isdigit():
            base = f"_{base}"
        if keyword.iskeyword(base):
            base += "_"
        name, count = base, 1
        while name in _RESERVED or any(name in scope for scope in self._scopes):
            count += 1
            name = f"{base}_{count}" if base not in _RESERVED or count > 2 else f"{base}_"
        self._scopes[-1 if depth is None else depth].add(name)
        return name

    @property
    def depth(self) -> int:
        """Index of the innermost open scope."""
        return len(self._scopes) - 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Names made inside are free again afterwards."""
        self._scopes.append(set())
        try:
            yield
        finally:
            self._scopes.pop()

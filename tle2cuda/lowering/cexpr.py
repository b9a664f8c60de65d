"""C expressions with just the parentheses they need, and index sums that read as a person writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tle2cuda.layout import Term

PRIMARY, UNARY, MUL, ADD, SHIFT, RELATIONAL, EQUALITY = 16, 15, 13, 12, 11, 10, 9
BIT_AND, BIT_XOR, BIT_OR, AND, OR, TERNARY = 8, 7, 6, 5, 4, 3

K, RUN, THREAD = "k", "run", "thread"
_NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class C:
    """A C expression.

    Attributes:
        text: Its text.
        precedence: How tightly it binds.
        deps: Loop variables that it depends on.
        opposite: A text that binds as tightly and means its negation, where there is a shorter one than `!(text)`.
    """

    text: str
    precedence: int = PRIMARY
    deps: frozenset[str] = _NOTHING
    opposite: str = ""

    def at(self, precedence: int) -> str:
        """The text, in parentheses when it binds less tightly than asked."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def __str__(self) -> str:
        return self.text

    @property
    def is_simple(self) -> bool:
        """A name, a literal or an element access: nothing gained by naming it."""
        return self.precedence == PRIMARY and "(" not in self.text


LEAST_INT = C("(-2147483647 - 1)")  # what -2147483648 is as an int; with the sign in front of the number it is a long


def deps_of(*parts: C) -> frozenset[str]:
    """Loop variables that an expression of these parts depends on."""
    deps = _NOTHING
    for part in parts:
        deps |= part.deps
    return deps


def binary(op: str, precedence: int, a: C, b: C) -> C:
    """`a op b`, left-associative."""
    return C(f"{a.at(precedence)} {op} {b.at(precedence + 1)}", precedence, deps_of(a, b))


def mixed_bits(op: str, precedence: int, a: C, b: C) -> C:
    """A bit operation or shift; operands that bind by another operator get parentheses, as compilers ask for."""

    def side(x: C) -> str:
        return x.text if x.precedence >= UNARY or (x.precedence == precedence and op in "&|^") else f"({x.text})"

    return C(f"{side(a)} {op} {side(b)}", precedence, deps_of(a, b))


def call(function: str, *args: C) -> C:
    """`function(args...)`."""
    return C(f"{function}({', '.join(a.text for a in args)})", PRIMARY, deps_of(*args))


def static_cast(type_: str, a: C) -> C:
    """`static_cast<type>(a)`."""
    return C(f"static_cast<{type_}>({a.text})", PRIMARY, a.deps)


def ternary(condition: C, a: C, b: C) -> C:
    """`condition ? a : b`."""
    text = f"{condition.at(TERNARY + 1)} ? {a.at(TERNARY + 1)} : {b.at(TERNARY)}"
    return C(text, TERNARY, deps_of(condition, a, b))


def negate(condition: C) -> C:
    """`!condition`; `a != b` for `a == b`, where the comparison knows its opposite."""
    if condition.opposite:
        return C(condition.opposite, condition.precedence, condition.deps, condition.text)
    return C(f"!{condition.at(UNARY)}", UNARY, condition.deps)


def all_of(conditions: Iterable[C]) -> C | None:
    """Conjunction of conditions; None when there are none."""
    parts = [c for c in conditions if c.text != "true"]
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = binary("&&", AND, result, part)
    return result


@dataclass(frozen=True, slots=True)
class Affine:
    """An integer sum: a constant, scaled uniform expressions, and fields of `thread`, `run` and `k`."""

    const: int = 0
    uniforms: tuple[tuple[C, int], ...] = ()
    terms: tuple[Term, ...] = ()

    @property
    def deps(self) -> frozenset[str]:
        own = frozenset(t.source for t in self.terms if t.source in (K, RUN))
        return own | deps_of(*(u for u, _ in self.uniforms))

    def plus(self, other: Affine, sign: int = 1) -> Affine:
        """Sum, or difference for sign -1."""
        uniforms = list(self.uniforms)
        for text, factor in other.uniforms:
            for i, (mine, count) in enumerate(uniforms):
                if mine.text == text.text:
                    uniforms[i] = (mine, count + sign * factor)
                    break
            else:
                uniforms.append((text, sign * factor))
        terms = list(self.terms) + [replace(t, scale=sign * t.scale) for t in other.terms]
        return Affine(self.const + sign * other.const, tuple((u, n) for u, n in uniforms if n), _merge_terms(terms))

    def times(self, factor: int) -> Affine:
        """Product with a constant."""
        if factor == 0:
            return Affine()
        return Affine(
            self.const * factor,
            tuple((u, n * factor) for u, n in self.uniforms),
            tuple(replace(t, scale=t.scale * factor) for t in self.terms),
        )

    def without_k(self) -> Affine:
        """The value at k = 0."""
        return Affine(self.const, self.uniforms, tuple(t for t in self.terms if t.source != K))

    @property
    def k_terms(self) -> tuple[Term, ...]:
        return tuple(t for t in self.terms if t.source == K)

    @property
    def constant(self) -> int | None:
        """The value when it is a known constant."""
        return self.const if not self.uniforms and not self.terms else None

    def split(self, count: int) -> tuple[Affine, Affine] | None:
        """Quotient and remainder by a power of two; None when parts of the sum may carry into each other."""
        used = 0
        for bits in (self.const, *(term.result_bits for term in self.terms)):
            if bits < 0 or bits & used:
                return None
            used |= bits
        if self.uniforms or any(term.scale & (term.scale - 1) for term in self.terms):
            return None
        low = (count - 1).bit_length()
        above, below = [], []
        for term in self.terms:
            inner = min(max(low - (term.scale.bit_length() - 1), 0), term.width)
            if inner:
                below.append(replace(term, width=inner))
            if inner < term.width:
                scale = (term.scale << inner) // count
                above.append(replace(term, shift=term.shift + inner, width=term.width - inner, scale=scale))
        quotient = Affine(self.const // count, (), _merge_terms(above))
        return quotient, Affine(self.const % count, (), _merge_terms(below))

    @property
    def has_only_fields(self) -> bool:
        """Whether no uniform expression takes part, so that the sum is small and non-negative parts cannot wrap."""
        return not self.uniforms

    @property
    def fields_fit_an_int(self) -> bool:
        """Whether the fields and the constant, added in any order, stay inside of 32 bits."""
        reach = abs(self.const) + sum(abs(t.scale) * ((1 << t.width) - 1) for t in self.terms)
        return reach < 1 << 31

    def to_c(self, names: dict[str, str]) -> C:
        """The sum as C text: uniform parts, thread, run, constant, k."""
        parts: list[tuple[int, C]] = []
        for text, factor in self.uniforms:
            parts.append((factor, _scaled(text, abs(factor))))
        order = {THREAD: 0, RUN: 1, K: 3}
        fields = sorted(self.terms, key=lambda t: (order[t.source], -abs(t.scale)))
        for term in fields:
            if term.source != K:
                parts.append((term.scale, _field(term, names)))
        if self.const or not (parts or fields):
            parts.append((1, LEAST_INT) if self.const == -(1 << 31) else (self.const, C(str(abs(self.const)))))
        for term in fields:
            if term.source == K:
                parts.append((term.scale, _field(term, names)))
        parts.sort(key=lambda part: part[0] < 0)  # a sum does not start with a minus when it can help it
        first_sign, first = parts[0]
        result = first if first_sign >= 0 else C(f"-{first.at(UNARY)}", UNARY, first.deps)
        for sign, part in parts[1:]:
            result = binary("+" if sign >= 0 else "-", ADD, result, part)
        return C(result.text, result.precedence, self.deps)


def _scaled(text: C, factor: int) -> C:
    return text if factor == 1 else C(f"{text.at(MUL)} * {factor}", MUL, text.deps)


def _field(term: Term, names: dict[str, str]) -> C:
    deps = frozenset((term.source,)) if term.source in (K, RUN) else _NOTHING
    text, precedence = names[term.source], PRIMARY
    if term.shift:
        text, precedence = f"{text} / {1 << term.shift}", MUL
    if term.shift + term.width < term.source_bits:
        text, precedence = f"{text} % {1 << term.width}", MUL
    scale = abs(term.scale)
    if scale != 1:
        text, precedence = (f"{scale} * {text}" if precedence == PRIMARY else f"{text} * {scale}"), MUL
    return C(text, precedence, deps)


def _merge_terms(terms: list[Term]) -> tuple[Term, ...]:
    """Add equal fields and join fields that continue each other."""
    merged: list[Term] = []
    for term in sorted(terms, key=lambda t: (t.source, t.shift)):
        for i, other in enumerate(merged):
            if (other.source, other.shift, other.width) == (term.source, term.shift, term.width):
                merged[i] = replace(other, scale=other.scale + term.scale)
                break
            if (
                other.source == term.source
                and other.shift + other.width == term.shift
                and other.scale << other.width == term.scale
            ):
                merged[i] = replace(other, width=other.width + term.width)
                break
        else:
            merged.append(term)
    return tuple(t for t in merged if t.scale)


Expr = C | Affine

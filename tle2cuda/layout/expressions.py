"""Index expressions: a linear map printed as a person would write it in CUDA.

The bits of the inputs and of the result are paired one by one; runs of pairs along a diagonal (input bits i,
i+1, ... to result bits o, o+1, ...) are one field, `(input >> i & mask) << o`, printed with `/`, `%` and `*`
for unsigned values. Fields that share no result bit add up; those that do are XORed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .distributed import Layout, log2_exact, normalize_axis
from .errors import LayoutError

REGISTER = "register"
THREAD = "thread"
VECTOR = "k"
RUN = "run"

_PRINT_ORDER = (THREAD, RUN, REGISTER, VECTOR)


@dataclass(frozen=True, slots=True)
class Term:
    """One field of an index expression: `((source >> shift) & (2**width - 1)) * scale`.

    Attributes:
        source: Name of the input: 'register' or 'thread' (lanes are its bits 0..4, warps the bits above), 'k'
            and 'run' for the two parts of a register index, or an axis name.
        shift: First input bit.
        width: Number of input bits.
        scale: Factor, a power of two.
        source_bits: Number of bits of the whole input; a field that reaches its end needs no mask.
    """

    source: str
    shift: int
    width: int
    scale: int
    source_bits: int

    @property
    def result_bits(self) -> int:
        """Mask of the result bits that this field may set."""
        return ((1 << self.width) - 1) * self.scale

    def evaluate(self, value: int) -> int:
        """Return the field's value for a value of its input."""
        return (value >> self.shift & ((1 << self.width) - 1)) * self.scale


class IndexExpression(NamedTuple):
    """A list of fields and whether they add up (`disjoint`) or some must be XORed."""

    terms: tuple[Term, ...]
    disjoint: bool

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the index for given values of the inputs."""
        result = 0
        for term in self.terms:
            result ^= term.evaluate(values[term.source])
        return result

    def restrict(self, *sources: str) -> IndexExpression:
        """Return the part that depends on the given inputs."""
        return make_expression(term for term in self.terms if term.source in sources)

    def scaled(self, factor: int) -> IndexExpression:
        """Return the expression times a power of two, as from elements to bytes."""
        log2_exact(factor, "scale of an index expression")
        return IndexExpression(
            tuple(Term(t.source, t.shift, t.width, t.scale * factor, t.source_bits) for t in self.terms),
            self.disjoint,
        )


def make_expression(terms: Iterable[Term]) -> IndexExpression:
    """Return the expression of these fields, finding out whether they are disjoint."""
    kept = tuple(terms)
    seen = 0
    disjoint = True
    for term in kept:
        disjoint = disjoint and not seen & term.result_bits
        seen |= term.result_bits
    return IndexExpression(kept, disjoint)


def linear_terms(sources: Iterable[tuple[str, Sequence[int]]]) -> IndexExpression:
    """Return the expression of a linear map given, for each input, by the images of its bits."""
    terms: list[Term] = []
    for source, images in sources:
        pairs = {
            (bit, result) for bit, image in enumerate(images) for result in range(image.bit_length()) if image >> result & 1
        }
        for bit, result in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
            if (bit - 1, result - 1) in pairs:
                continue
            width = 1
            while (bit + width, result + width) in pairs:
                width += 1
            terms.append(Term(source, bit, width, 1 << result, len(images)))
    return make_expression(terms)


def fields(layout: Layout, axis: int, vector_elems: int | None = None) -> IndexExpression:
    """Return the coordinate along an axis as fields of 'register' and 'thread'.

    Args:
        layout: The layout.
        axis: The axis of the coordinate.
        vector_elems: When given, the register index is taken apart into 'k' (its low bits, below this power
            of two) and 'run' (the rest): `register = run * vector_elems + k`.
    """
    at = normalize_axis(axis, layout.rank)
    registers = [image[at] for image in layout.registers]
    threads = [image[at] for image in (*layout.lanes, *layout.warps)]
    return linear_terms((*register_sources(registers, vector_elems), (THREAD, threads)))


def flat_fields(layout: Layout, vector_elems: int | None = None) -> IndexExpression:
    """Return the row-major index in the tile as fields of 'register' and 'thread' (see `fields`)."""
    return linear_terms((*register_sources(layout.flat_registers, vector_elems), (THREAD, layout.flat_threads)))


def register_sources(images: Sequence[int], vector_elems: int | None) -> tuple[tuple[str, Sequence[int]], ...]:
    """Return the inputs that stand for the register index, taken apart into 'k' and 'run' when asked for."""
    if vector_elems is None:
        return ((REGISTER, images),)
    width = log2_exact(vector_elems, "vector width")
    if width > len(images):
        raise LayoutError(f"a vector of {vector_elems} elements exceeds the {1 << len(images)} registers of a thread")
    return (VECTOR, images[:width]), (RUN, images[width:])


def _format_term(term: Term, name: str, scale: int) -> str:
    text = name
    if term.shift:
        text += f" / {1 << term.shift}"
    if term.shift + term.width < term.source_bits:
        text += f" % {1 << term.width}"
    if scale == 1:
        return text
    return f"{text} * {scale}" if text != name else f"{scale} * {text}"


def _overlapping_groups(terms: Sequence[Term]) -> list[list[Term]]:
    """Group the fields that share result bits, directly or through others."""
    groups: list[tuple[int, list[Term]]] = []
    for term in terms:
        bits, members = term.result_bits, [term]
        apart = []
        for other_bits, other in groups:
            if other_bits & bits:
                bits |= other_bits
                members = other + members
            else:
                apart.append((other_bits, other))
        groups = [*apart, (bits, members)]
    return [members for _, members in groups]


def _format_group(group: Sequence[Term], names: Mapping[str, str]) -> str:
    if len(group) == 1:
        return _format_term(group[0], names[group[0].source], group[0].scale)
    common = min(term.scale for term in group)
    operands = []
    for term in group:
        text = _format_term(term, names[term.source], term.scale // common)
        operands.append(f"({text})" if " " in text else text)
    text = f"({' ^ '.join(operands)})"
    return text if common == 1 else f"{text} * {common}"


def format_index(terms: IndexExpression | Sequence[Term], names: Mapping[str, str] | None = None, constant: int = 0) -> str:
    """Return the C text of an index expression.

    Args:
        terms: The fields, from `fields` or `linear_terms`.
        names: C spelling of each input, a primary expression of a non-negative value. By default
            `threadIdx.x`, `register_index`, `run` and `k`; other inputs print as they are called.
        constant: A constant to add; it may not be negative. (XOR never reaches into it.)

    Returns:
        Text such as `4 * threadIdx.x + 512 * run`, or "0". Operators of the outermost level are `+` when
        there are several fields, so parenthesise it before multiplying.
    """
    spelling = {THREAD: "threadIdx.x", REGISTER: "register_index", **(names or {})}
    fields_ = terms.terms if isinstance(terms, IndexExpression) else tuple(terms)
    complete = {term.source: spelling.get(term.source, term.source) for term in fields_}
    precedence = {source: position for position, source in enumerate(_PRINT_ORDER)}

    def key(term: Term) -> tuple[int, int]:
        return precedence.get(term.source, 0), -term.scale

    ordered = sorted(fields_, key=key)
    groups = sorted(_overlapping_groups(ordered), key=lambda group: ordered.index(group[0]))
    parts = [_format_group(group, complete) for group in groups]
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)


def format_xor(expression: IndexExpression, constant: int, names: Mapping[str, str] | None = None) -> str:
    """Return the C text of an expression XORed with a constant, as `+` where they share no bit."""
    reached = 0
    for term in expression.terms:
        reached |= term.result_bits
    if not constant & reached:
        return format_index(expression, names, constant)
    text = format_index(expression, names)
    return f"({text}) ^ {constant}" if " " in text else f"{text} ^ {constant}"

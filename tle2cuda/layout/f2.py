"""Linear algebra over F2 on machine words.

A vector is a non-negative `int` whose bit i is its i-th coordinate, addition is XOR, and a matrix is the
sequence of its columns: the images of the unit vectors. A combination of columns is again an `int`, bit i
saying whether column i takes part. Everything is Gaussian elimination on at most a few dozen columns, so
plain Python integers are fast enough for use inside a compiler pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class EchelonBasis:
    """A growing set of independent vectors, with the combination of inputs that made each.

    Vectors are offered in order; those that depend on earlier ones are not kept. A solution found here uses
    kept inputs only, so offering the preferred columns first makes them the ones that appear in solutions.
    """

    __slots__ = ("_combinations", "_count", "_rows")

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        self._rows: dict[int, int] = {}  # highest set bit -> reduced vector
        self._combinations: dict[int, int] = {}  # highest set bit -> inputs that sum to that vector
        self._count = 0
        for vector in vectors:
            self.add(vector)

    def __len__(self) -> int:
        return len(self._rows)

    def reduce(self, vector: int) -> tuple[int, int]:
        """Return the residue of `vector` modulo the span, and the combination of inputs taken off."""
        combination = 0
        residue = vector
        # Clear every pivot, not only the leading ones, so that the residue is zero in all pivot positions.
        for pivot in sorted(self._rows, reverse=True):
            if residue >> pivot & 1:
                residue ^= self._rows[pivot]
                combination ^= self._combinations[pivot]
        return residue, combination

    def add(self, vector: int) -> bool:
        """Offer the next input; return whether it was independent and so kept."""
        residue, combination = self.reduce(vector)
        index = self._count
        self._count += 1
        if residue == 0:
            return False
        pivot = residue.bit_length() - 1
        self._rows[pivot] = residue
        self._combinations[pivot] = combination ^ (1 << index)
        return True

    def __contains__(self, vector: int) -> bool:
        return self.reduce(vector)[0] == 0

    def solve(self, target: int) -> int | None:
        """Return a combination of the inputs offered so far that sums to `target`, or None."""
        residue, combination = self.reduce(target)
        return combination if residue == 0 else None


def apply(columns: Sequence[int], vector: int) -> int:
    """Return the image of `vector` under the matrix."""
    result = 0
    while vector:
        low = vector & -vector
        result ^= columns[low.bit_length() - 1]
        vector ^= low
    return result


def compose(outer: Sequence[int], inner: Sequence[int]) -> tuple[int, ...]:
    """Return the matrix of `outer` after `inner`."""
    return tuple(apply(outer, column) for column in inner)


def identity(size: int) -> tuple[int, ...]:
    """Return the unit vectors."""
    return tuple(1 << bit for bit in range(size))


def rank(vectors: Iterable[int]) -> int:
    """Return the dimension of the span."""
    return len(EchelonBasis(vectors))


def independent(vectors: Iterable[int], modulo: Iterable[int] = ()) -> tuple[int, ...]:
    """Return those vectors, in order, that are independent of the earlier ones and of `modulo`."""
    basis = EchelonBasis(modulo)
    return tuple(vector for vector in vectors if basis.add(vector))


def solve(columns: Sequence[int], target: int) -> int | None:
    """Return a combination of the earliest independent columns that sums to `target`, or None."""
    return EchelonBasis(columns).solve(target)


def kernel(columns: Sequence[int]) -> tuple[int, ...]:
    """Return a basis of the combinations of columns that sum to zero."""
    basis = EchelonBasis()
    result = []
    for index, column in enumerate(columns):
        residue, combination = basis.reduce(column)
        if residue == 0:
            result.append(combination ^ (1 << index))
        basis.add(column)
    return tuple(result)


def inverse(columns: Sequence[int]) -> tuple[int, ...]:
    """Return the inverse of a square matrix.

    Raises:
        ValueError: the matrix is singular.
    """
    basis = EchelonBasis(columns)
    size = len(columns)
    solutions = [basis.solve(1 << bit) for bit in range(size)]
    if len(basis) != size or any(solution is None for solution in solutions):
        raise ValueError(f"singular matrix over F2: rank {len(basis)} of {size}")
    return tuple(solution for solution in solutions if solution is not None)


def intersection(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """Return a basis of the intersection of two spans."""
    kept = independent(first)
    joint = (*kept, *independent(second))
    low = (1 << len(kept)) - 1
    return independent(apply(kept, combination & low) for combination in kernel(joint))


def complete(vectors: Sequence[int], candidates: Iterable[int], modulo: Iterable[int] = ()) -> tuple[int, ...]:
    """Return the candidates that extend `vectors`, each independent of all before it and of `modulo`."""
    return independent(candidates, (*modulo, *vectors))


def factor(outer: Sequence[int], inner: Sequence[int], size: int) -> tuple[int, ...] | None:
    """Return G (with `size` columns) such that G after `inner` equals `outer`, or None.

    G is zero off the image of `inner`. It exists when whatever `inner` sends to zero, `outer` sends to
    zero too.
    """
    if any(apply(outer, combination) for combination in kernel(inner)):
        return None
    # Unit vectors independent of the image complete it to a basis on which G is given; they go to zero.
    extension = complete(inner, identity(size))
    full = EchelonBasis((*inner, *extension))
    values = (*outer, *(0 for _ in extension))
    result = []
    for bit in range(size):
        combination = full.solve(1 << bit)
        assert combination is not None, "image and extension span the space"
        result.append(apply(values, combination))
    return tuple(result)

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tle2cuda.layout import f2

vectors = st.lists(st.integers(0, 255), max_size=10)


def span(columns: list[int]) -> set[int]:
    return {f2.apply(columns, combination) for combination in range(1 << len(columns))}


@settings(deadline=None)
@given(vectors)
def test_rank_counts_the_span(columns):
    assert len(span(columns)) == 1 << f2.rank(columns)


@settings(deadline=None)
@given(vectors, st.integers(0, 255))
def test_solve_finds_a_solution_exactly_when_there_is_one(columns, target):
    solution = f2.solve(columns, target)
    assert (solution is not None) == (target in span(columns))
    if solution is not None:
        assert f2.apply(columns, solution) == target


@settings(deadline=None)
@given(vectors)
def test_kernel_is_a_basis_of_all_dependencies(columns):
    kernel = f2.kernel(columns)
    assert all(f2.apply(columns, combination) == 0 for combination in kernel)
    assert len(kernel) == f2.rank(kernel) == len(columns) - f2.rank(columns)


@settings(deadline=None)
@given(vectors, vectors)
def test_intersection(first, second):
    assert span(list(f2.intersection(first, second))) == span(first) & span(second)


@settings(deadline=None)
@given(st.lists(st.integers(0, 63), min_size=6, max_size=6))
def test_inverse(columns):
    if f2.rank(columns) < 6:
        with pytest.raises(ValueError, match="singular"):
            f2.inverse(columns)
        return
    inverse = f2.inverse(columns)
    assert f2.compose(columns, inverse) == f2.identity(6) == f2.compose(inverse, columns)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 31)), max_size=7))
def test_factor_finds_a_map_exactly_when_there_is_one(pairs):
    outer, inner = [a for a, _ in pairs], [b for _, b in pairs]
    factor = f2.factor(outer, inner, 5)
    combinations = range(1 << len(pairs))
    exists = all(f2.apply(outer, c) == 0 for c in combinations if f2.apply(inner, c) == 0)
    assert (factor is not None) == exists
    if factor is not None:
        assert f2.compose(factor, inner) == tuple(outer)

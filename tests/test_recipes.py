"""Launch recipes fit the records of the development set, and comparisons find differences."""

from __future__ import annotations

import dataclasses
from argparse import Namespace

import numpy as np
import pytest

from tools.public_kernels import check, recipe
from tools.public_kernels.recipe import Concrete, Launch, Tolerance, Values, compare
from tools.public_kernels.records import Record, load_records, without_bf16

RECORDS = load_records()
MOST_BYTES = 8 << 20  # of one array at the small size


def record_of(start: str) -> Record:
    found = [r for r in RECORDS if r.hash.startswith(start)]
    assert len(found) == 1, f"{len(found)} records start with {start}"
    return found[0]


@pytest.mark.parametrize("start", sorted(recipe.all_recipes()))
def test_recipe_fits_its_record(start):
    record, chosen = record_of(start), recipe.all_recipes()[start]
    assert recipe.recipe_of(record) is chosen
    before = recipe.concrete(record, chosen, full=False)
    assert 1 <= len(before.launch.grid) <= 3
    assert all(isinstance(n, int) and n > 0 for n in before.launch.grid)
    assert set(before.launch.ignore) <= set(before.arrays)
    for name, array in before.arrays.items():
        assert array.dtype == recipe.element_dtype(record.signature[name])
        assert array.flags.c_contiguous and 0 < array.nbytes < MOST_BYTES, name
    for name, value in before.others.items():
        type_ = record.signature[name]
        if name not in record.constexprs and value is not None:
            assert type_ != "constexpr" and not type_.startswith(("*", "tensordesc")), f"{name} is an array"
    again = recipe.concrete(record, chosen, full=False)
    assert all(array.tobytes() == again.arrays[name].tobytes() for name, array in before.arrays.items())
    if (own := recipe.expected_arrays(before)) is not None:
        assert all(own[name].shape == array.shape for name, array in before.arrays.items())
        assert any(found.wrong for found in compare(before, before.arrays, own)), "what is expected is there already"
    same = compare(before, before.arrays, before.arrays)
    assert same and not any(found.wrong or found.worst for found in same)


def test_kinds_have_enough_recipes():
    kinds = [record_of(start).kind for start in recipe.all_recipes()]
    memory = ("quantization", "scatter/gather/atomics", "moe")
    for kind in (*memory, "reduction", "softmax/loss", "scan", "sampling", "sort/topk", "norm", "elementwise"):
        assert kinds.count(kind) >= 8, kind
    for kind in ("conv", "ssm", "matmul", "attention"):
        assert kinds.count(kind) >= 5, kind


def test_what_a_recipe_expects_itself_is_asked_of_no_other_side():
    own = record_of("c03a5112")
    nowhere = Namespace(oracle="/nowhere/python", packages=".", cut=".", seed=0, wide=False)
    assert isinstance(check.expected_of([own], nowhere)[own.hash], str)
    with pytest.raises(FileNotFoundError, match="/nowhere/python"):
        check.expected_of([own, record_of("c840945f")], nowhere)


def test_two_recipes_of_one_record_are_refused():
    start = next(iter(recipe.all_recipes()))
    with pytest.raises(ValueError, match=f"two recipes for {start}"):
        recipe.recipe(start)(lambda full: Launch((1,)))


def test_wrong_names_are_reported():
    record = record_of("07646aaf")
    wrong = recipe.Recipe("07646aaf", lambda full: Launch((1,), in0_ptr=recipe.zeros(4), out1_ptr=recipe.zeros(4), n=4))
    with pytest.raises(ValueError, match=r"missing \['in1_ptr', 'out0_ptr'\], unknown \['out1_ptr'\]"):
        recipe.concrete(record, wrong, full=False)


def test_records_without_bf16_keep_all_else():
    record = dataclasses.replace(record_of("07646aaf"), signature={"x": "*bf16", "y": "*fp16", "s": "bf16", "n": "i32"})
    assert without_bf16(record).signature == {"x": "*fp32", "y": "*fp16", "s": "bf16", "n": "i32"}


# ---- contents -------------------------------------------------------------------------------------------------------


def drawn(values: Values, dtype: str) -> np.ndarray:
    return values.fill(np.random.default_rng(0), recipe.element_dtype(f"*{dtype}"))


def test_contents_keep_to_their_ranges():
    assert set(drawn(recipe.integers(1000, low=-2, high=3), "i8")) == {-2, -1, 0, 1, 2}
    assert sorted(drawn(recipe.permutation(100), "i64")) == list(range(100))
    assert drawn(recipe.offsets([3, 0, 4]), "i32").tolist() == [0, 3, 3, 7]
    assert drawn(recipe.normal(1000, scale=3.0), "i32").dtype == np.int32
    assert np.isfinite(drawn(recipe.bits(5000), "fp16").astype(np.float32)).all()
    assert 200 < drawn(recipe.booleans(1000, share=0.3), "i1").sum() < 400
    low, high = 2.0, 2.5
    numbers = drawn(recipe.uniform(1000, low=low, high=high), "fp32")
    assert numbers.min() >= low and numbers.max() <= high


# ---- comparison -----------------------------------------------------------------------------------------------------


def differences(got, want, tolerance=None, **how):
    values = dataclasses.replace(recipe.array(want), **how)
    before = Concrete(Launch((1,), tolerance=tolerance, out=values), {"out": np.asarray(want)}, {})
    return compare(before, {"out": np.asarray(got)}, {"out": np.asarray(want)})


def test_integers_must_be_equal():
    want = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert differences(want.copy(), want)[0].wrong == 0
    got = want.copy()
    got[1, 2] += 1
    (found,) = differences(got, want, Tolerance(1.0, 100.0))
    assert found.wrong == 1 and found.worst == np.inf and found.where == "[1, 2] 7 for 6"
    (found,) = differences(np.array([True, False]), np.array([True, True]))
    assert found.wrong == 1


def test_large_integers_are_not_rounded():
    want = np.array([1 << 62], np.int64)
    assert differences(want + 1, want)[0].wrong == 1


@pytest.mark.parametrize("got", [np.nan, 1.0, -np.inf])
@pytest.mark.parametrize("want", [np.nan, np.inf, 2.0])
def test_nan_and_infinity_agree_with_themselves_only(got, want):
    both = (np.array([0.0, got], np.float32), np.array([0.0, want], np.float32))
    same = got == want or (np.isnan(got) and np.isnan(want))
    (found,) = differences(*both)
    assert found.wrong == (0 if same else 1)
    if not same and not (np.isfinite(got) and np.isfinite(want)):
        assert found.worst == np.inf


def test_nan_in_another_place_is_found():
    want = np.array([np.nan, 1.0, 2.0], np.float32)
    assert differences(want[[1, 0, 2]], want)[0].wrong == 2


@pytest.mark.parametrize(("off", "wrong"), [(0.99, 0), (1.01, 1), (-0.99, 0), (-1.01, 1)])
def test_tolerance_has_an_edge(off, wrong):
    limits = Tolerance(relative=1e-3, absolute=1e-2)
    want = np.array([5.0, -100.0], np.float64)
    allowed = 1e-2 + 1e-3 * 100.0
    (found,) = differences(want + [0.0, off * allowed], want, limits)
    assert found.wrong == wrong
    assert found.worst == pytest.approx(abs(off), rel=1e-6)


def test_narrow_floats_have_wide_tolerances():
    for name in ("fp32", "fp16", "bf16", "fp8e4nv", "fp8e5"):
        dtype = recipe.element_dtype(f"*{name}")
        want = np.array([1.0], np.float32).astype(dtype)
        step = np.array([1.0 + {"fp32": 2**-23, "fp16": 2**-10, "bf16": 2**-7}.get(name, 0.125)], np.float32)
        assert differences(step.astype(dtype), want)[0].wrong == 0, name
        assert differences((want.astype(np.float32) * 2).astype(dtype), want)[0].wrong == 1, name


def test_free_elements_are_not_compared():
    want = np.arange(6, dtype=np.int32)
    free = np.arange(6) < 2
    assert differences(want + free, want, free=free)[0].wrong == 0
    assert differences(want + 1, want, free=free)[0].wrong == 4


def test_rows_may_be_sets():
    want = np.array([[3, 1, 2], [5, 5, 4]], np.int32)
    assert differences(want[:, ::-1], want, sorted_rows=True)[0].wrong == 0
    assert differences(want[::-1], want, sorted_rows=True)[0].wrong == 6


def test_parts_are_compared_by_their_own_dtype():
    def split(pairs):
        return {"value": pairs[:, 0], "index": np.ascontiguousarray(pairs[:, 1]).view(np.int32)}

    want = np.array([[1.0, 0.0], [2.0, 0.0]], np.float32)
    want[:, 1] = np.array([7, 8], np.int32).view(np.float32)
    got = want.copy()
    got[0, 0] += 1e-6
    assert [d.wrong for d in differences(got, want, parts=split)] == [0, 0]
    got[1, 1] = np.array([9], np.int32).view(np.float32)[0]
    value, index = differences(got, want, parts=split)
    assert (value.name, value.wrong, index.name, index.wrong) == ("out value", 0, "out index", 1)
    assert differences(got, want)[0].wrong == 0, "as floats the two indices are as good as equal"


def test_ignored_arrays_are_scratch():
    launch = Launch((1,), ignore=["scratch"], scratch=recipe.zeros(2), out=recipe.zeros(2))
    zeros = {"scratch": np.zeros(2), "out": np.zeros(2)}
    found = compare(Concrete(launch, zeros, {}), {"scratch": np.ones(2), "out": np.ones(2)}, zeros)
    assert [(d.name, d.wrong) for d in found] == [("out", 2)]


def test_what_a_recipe_expects_has_the_dtype_of_the_array():
    launch = Launch((1,), expected=lambda before: {"out": before["x"] + 1}, x=recipe.zeros(2), out=recipe.zeros(2))
    arrays = {"x": np.array([1, 2], np.int32), "out": np.zeros(2, np.float16)}
    own = recipe.expected_arrays(Concrete(launch, arrays, {}))
    assert own is not None and own["out"].dtype == np.float16 and own["out"].tolist() == [2.0, 3.0]
    assert own["x"] is arrays["x"]
    assert recipe.expected_arrays(Concrete(Launch((1,)), arrays, {})) is None

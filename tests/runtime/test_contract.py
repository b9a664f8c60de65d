from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from tests.runtime import samples
from tle2cuda.errors import ArgumentError, LaunchError
from tle2cuda.runtime import ArgSpec, LaunchContract, ScratchSpec
from tle2cuda.runtime.contract import SCHEMA_VERSION, normalize_grid

FULL = LaunchContract(
    "moe",
    "moe.py",
    21,
    "sm_90a",
    (ArgSpec("x", "pointer", "i32", 16, True), ArgSpec("n", "scalar", "i64")),
    (("BLOCK", "16"), ("NAME", "'é'")),
    1024,
    (8, 1, 1),
    False,
    64,
    12480,
    (ScratchSpec("counts", 4, 8, True, True, 128),),
    min_arch="sm_90",
)


@pytest.mark.parametrize("contract", [FULL, samples.ADD.contract, samples.COOPERATIVE.contract])
def test_json_round_trip(contract: LaunchContract) -> None:
    text = contract.to_json()
    assert LaunchContract.from_json(text) == contract
    assert LaunchContract.from_json(text).to_json() == text


def test_json_says_what_a_launcher_needs() -> None:
    data = json.loads(FULL.to_json())
    assert data["schema"] == SCHEMA_VERSION
    assert data["grid"] == "ctas"
    assert data["cluster"] == [8, 1, 1]
    assert data["args"][0] == {
        "name": "x",
        "kind": "pointer",
        "dtype": "i32",
        "divisibility": 16,
        "const": True,
    }
    assert data["constants"] == [["BLOCK", "16"], ["NAME", "'é'"]]


def test_derived_numbers() -> None:
    assert (FULL.num_warps, FULL.cluster_size, FULL.shared_bytes) == (32, 8, 12544)
    assert [a.type_string for a in FULL.args] == ["*i32:16", "i64"]
    assert [a.size_bytes for a in FULL.args] == [8, 8]
    assert FULL.scratch[0].size_bytes(10) == 84


def test_contract_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.cta_threads = 32  # type: ignore[misc]


def test_grid_is_multiplied_by_the_cluster() -> None:
    assert FULL.launch_grid(3) == (24, 1, 1)
    assert replace(FULL, cluster=(2, 3, 4)).launch_grid((1, 2, 3)) == (2, 6, 12)
    assert FULL.launch_grid((0, 5)) == (0, 5, 1)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((), "a grid has one to three extents, got 0: ()"),
        ((1, 2, 3, 4), "a grid has one to three extents, got 4: (1, 2, 3, 4)"),
        ((1.5,), "grid extents are integers, got (1.5,)"),
        ((-1,), "grid extent x is negative: (-8, 1, 1)"),
    ],
)
def test_bad_grid(grid: tuple[int, ...], message: str) -> None:
    with pytest.raises(LaunchError) as info:
        FULL.launch_grid(grid)
    assert str(info.value) == message


def test_grid_beyond_the_limit() -> None:
    with pytest.raises(LaunchError) as info:
        FULL.launch_grid((1, 65536))
    assert str(info.value) == (
        "grid extent y = 65536 is beyond the limit of 65535 CTAs\n"
        "  help: put the largest extent first: x may have 2147483647 CTAs, y and z 65535 each"
    )


def test_numpy_integers_make_a_grid() -> None:
    np = pytest.importorskip("numpy")
    assert normalize_grid((np.int64(3), np.int32(2))) == (3, 2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{",
            "not a launch contract: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("[]", "not a launch contract: it has no `schema`"),
        ('{"schema": 1}', "damaged launch contract: KeyError: 'cluster'"),
        (
            '{"schema": 99}',
            "launch contract of schema 99; this version reads schema 1\n"
            "  help: emit the kernel again with this version of tle2cuda",
        ),
    ],
)
def test_bad_json(text: str, message: str) -> None:
    with pytest.raises(ArgumentError) as info:
        LaunchContract.from_json(text)
    assert str(info.value) == message

from __future__ import annotations

import pytest

import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError
from tle2cuda.near_names import did_you_mean
from tle2cuda.targets import parse_target

PARAMETERS = ("x", "y", "n_elements", "BLOCK_SIZE_M", "BLOCK_SIZE_N")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("laod", "`load`"),
        ("stor", "`store`"),
        ("Load", "`load`"),
        ("flaot32", "`float32`"),
        ("uint6", "`uint8`, `uint16` or `uint64`"),
        ("program_ids", "`program_id`"),
        ("block_ptr", "`make_block_ptr`"),
        ("barrier", "`debug_barrier`"),
        ("bfloat", "`bfloat16`"),
        *(
            (other, "")
            for other in ("isinf", "concat", "exp10", "log1p", "atomic_sub", "atomic_inc", "num_elements", "clip")
        ),
        *((other, "") for other in ("mma", "matmul", "floor_div", "view_as", "i")),
        ("max_", "`max`"),
    ],
)
def test_only_near_names_of_the_language_are_guessed(name: str, meant: str) -> None:
    assert did_you_mean(name, tl.__all__) == (f"did you mean {meant}?" if meant else "")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("n_element", "`n_elements`"),
        ("N_ELEMENTS", "`n_elements`"),
        ("BLOCK_SIZE", "`BLOCK_SIZE_M` or `BLOCK_SIZE_N`"),
        ("BLOCK_SIZE_M_", "`BLOCK_SIZE_M`"),
        ("BLOCK_SIZE_K", ""),
        ("z", ""),
    ],
)
def test_parameters(name: str, meant: str) -> None:
    assert did_you_mean(name, PARAMETERS, shortened=True) == (f"did you mean {meant}?" if meant else "")


def test_shortened_names() -> None:
    assert did_you_mean("BLOCK_SIZE", ["BLOCK"], shortened=True) == "did you mean `BLOCK`?"
    assert did_you_mean("BLOCK_SIZE", ["BLOCK"]) == ""


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("sm90a", "did you mean sm_90a?"),
        ("compute_80", "did you mean sm_80?"),
        ("9.0a", "did you mean sm_90a?"),
        ("sm_80a", "did you mean sm_80?"),
        ("sm_35", ""),
        ("hopper", "write it as sm_90a"),
    ],
)
def test_targets(name: str, help: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parse_target(name)
    assert caught.value.help == help

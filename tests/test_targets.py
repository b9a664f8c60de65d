from __future__ import annotations

import pytest

from tle2cuda.errors import ArgumentError
from tle2cuda.targets import FEATURES, Target, known_targets, parse_target, target_of_capability


@pytest.mark.parametrize("name", known_targets())
def test_names_round_trip(name: str) -> None:
    target = parse_target(name)
    assert target.name == name
    limits = target.limits
    assert 0 < limits.max_shared_bytes_per_cta <= limits.shared_bytes_per_sm
    assert (limits.max_cluster_size > 1) == target.has("cluster")


def test_the_targets_that_are_promised() -> None:
    assert {"sm_80", "sm_90a", "sm_100a", "sm_120"} <= set(known_targets())


@pytest.mark.parametrize("name", ["sm_999", "90a", "sm_80a", "sm90", "", "compute_90"])
def test_unknown_target(name: str) -> None:
    with pytest.raises(ArgumentError, match="unknown target architecture"):
        parse_target(name)


def test_unknown_target_text() -> None:
    with pytest.raises(ArgumentError) as info:
        parse_target("sm_90b")
    assert str(info.value) == (
        f"unknown target architecture 'sm_90b'\n  known: {', '.join(known_targets())}\n  help: did you mean sm_90?"
    )


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("sm_75", {"cooperative", "ldmatrix"}, {"cp_async", "cluster", "bf16"}),
        ("sm_80", {"cp_async", "mbarrier", "redux", "bf16"}, {"cluster", "tma", "fp8", "mbarrier_tx"}),
        ("sm_89", {"fp8", "mma_fp8"}, {"cluster"}),
        ("sm_90", {"cluster", "tma", "stmatrix"}, {"wgmma", "setmaxnreg", "tcgen05"}),
        ("sm_90a", {"cluster", "tma", "wgmma", "setmaxnreg"}, {"tcgen05"}),
        ("sm_100a", {"cluster", "tma", "tcgen05", "setmaxnreg"}, {"wgmma"}),
        ("sm_120", {"cluster", "tma"}, {"wgmma", "tcgen05"}),
    ],
)
def test_features(name: str, has: set[str], lacks: set[str]) -> None:
    target = parse_target(name)
    assert {feature for feature in has | lacks if target.has(feature)} == has


def test_every_feature_says_where_it_exists() -> None:
    assert FEATURES["cluster"].requirement() == "sm_90 and later"
    assert FEATURES["wgmma"].requirement() == "sm_90a"
    assert all(feature.text and feature.requirement() for feature in FEATURES.values())


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [
        (Target(8, 0), (8, 6), True),
        (Target(8, 6), (8, 0), False),
        (Target(8, 0), (9, 0), False),
        (Target(9, 0, "a"), (9, 0), True),
        (Target(10, 0, "a"), (10, 3), False),
        (Target(10, 0, "f"), (10, 3), True),
        (Target(12, 0), (12, 1), True),
    ],
)
def test_runs_on(target: Target, capability: tuple[int, int], runs: bool) -> None:
    assert target.runs_on(capability) == runs


def test_target_of_a_device() -> None:
    assert target_of_capability(9, 0).name == "sm_90a"
    assert target_of_capability(8, 0).name == "sm_80"
    with pytest.raises(ArgumentError):
        target_of_capability(3, 5)


def test_a_target_is_named_by_a_string() -> None:
    with pytest.raises(ArgumentError, match="a target architecture is a name, got 90"):
        parse_target(90)  # type: ignore[arg-type]

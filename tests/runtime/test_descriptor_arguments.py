"""Tensor descriptors as arguments of kernels: what they are passed as, how they are specialised, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError
from tle2cuda.runtime.args import describe, specialize
from tle2cuda.runtime.descriptor import DescriptorArgument, TensorDescriptor
from tle2cuda.runtime.signature import parse_signature


@tle2cuda.jit
def scaled_sum(x, y, out, factor, BM: tl.constexpr):
    for row in range(0, x.shape[0], BM):
        out.store([row, 0], (x.load([row, 0]) + y.load([row, -1])) * factor)


@tle2cuda.jit
def shifted(x, out, n):
    tl.store(out + tl.arange(0, 32), x.load([n]))


def descriptor(array: np.ndarray, block: list[int], padding: str = "zero") -> TensorDescriptor:
    strides = [stride // array.itemsize for stride in array.strides]
    return TensorDescriptor(array, list(array.shape), strides, block, padding)


@pytest.mark.parametrize("device", ["interpreter", "emulator"])
def test_a_launch_passes_pointer_extents_and_strides(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    for rows in (20, 32):
        x, y = (np.arange(rows * 24, dtype=np.float32).reshape(rows, 24) * k for k in (1, 3))
        out = np.zeros_like(x)
        scaled_sum[(1,)](descriptor(x, [8, 32]), descriptor(y, [8, 32]), descriptor(out, [8, 32]), 2, BM=8)
        moved = np.hstack([np.zeros((rows, 1), np.float32), y[:, :-1]])
        np.testing.assert_array_equal(out, (x + moved) * 2)


@pytest.mark.parametrize("device", ["interpreter", "emulator"])
def test_padding_is_the_descriptors(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.arange(40, dtype=np.float32)
    for padding, fill in (("zero", 0.0), ("nan", np.nan)):
        out = np.ones(32, np.float32)
        shifted[(1,)](descriptor(x, [32], padding), out, 20)
        np.testing.assert_array_equal(out, np.concatenate([x[20:], np.full(12, fill, np.float32)]))


def test_what_a_parameter_is_passed_as() -> None:
    x = np.zeros((48, 40), np.float16)
    bound = specialize(shifted.parameters, [descriptor(x, [16, 32]), np.zeros(4, np.float32), 7], "shifted")
    assert [spec.type_string for spec in bound.specialization.args] == [
        "*fp16:16",
        "i32:16",
        "i32",
        "i64",
        "*fp32:16",
        "i32",
    ]
    names = ["x", "x_extent0", "x_extent1", "x_stride0", "out", "n"]
    assert [spec.name for spec in bound.specialization.args] == names
    ((name, argument),) = bound.specialization.constants
    assert name == "x" and argument == DescriptorArgument("x", "fp16", (16, 32), "zero", (True, False))
    passed = [describe(p, v)[1] for p, v in zip(shifted.parameters, [descriptor(x, [16, 32]), x, 7], strict=True)]
    assert bound.flattened(passed)[1:4] == [48, 40, 40]


def test_signatures_name_the_block() -> None:
    parsed = parse_signature(shifted.parameters, "tensordesc<bf16[64, 32]>, *bf16:16, i32")
    assert parsed.constants_dict() == {"x": DescriptorArgument("x", "bf16", (64, 32))}
    assert [spec.type_string for spec in parsed.args] == ["*bf16:16", "i32", "i32", "i64", "*bf16:16", "i32"]
    assert str(parsed.constants_dict()["x"]) == "tensordesc<bf16[64, 32]>"
    with_padding = parse_signature(shifted.parameters, "tensordesc<fp32[32], nan>, *fp32, i32")
    assert str(with_padding.constants_dict()["x"]) == "tensordesc<fp32[32], nan>"
    with pytest.raises(ArgumentError, match="`x`: unknown type 'f16' in the signature entry"):
        parse_signature(shifted.parameters, "tensordesc<f16[64]>, *fp16, i32")


def test_emitted_kernels_have_one_parameter_a_part() -> None:
    emitted = tle2cuda.emit(shifted, signature="tensordesc<fp32[32]>, *fp32:16, i32")
    assert [spec.name for spec in emitted.contract.args] == ["x", "x_extent0", "out", "n"]
    assert "constants x = 'tensordesc<fp32[32]>'" in emitted.source


def test_launches_of_other_blocks_are_other_specialisations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    keys = {
        describe(shifted.parameters[0], descriptor(np.zeros(size, dtype), block, padding))[0]
        for size, dtype, block, padding in (
            (64, np.float32, [32], "zero"),
            (64, np.float32, [64], "zero"),
            (64, np.float32, [32], "nan"),
            (65, np.float32, [32], "zero"),
            (64, np.float16, [32], "zero"),
            (128, np.float32, [32], "zero"),
        )
    }
    assert len(keys) == 5  # the first and the last share one


def test_what_is_refused() -> None:
    odd = np.zeros((8, 7), np.float32)
    for value, message in (
        (descriptor(odd, [8, 8]), "argument `x`: the stride 7 of a TensorDescriptor, 28 bytes, is no multiple of 16 bytes"),
        (descriptor(np.zeros(68, np.float32)[1:], [32]), "argument `x`: the base of a TensorDescriptor must be aligned"),
    ):
        with pytest.raises(ArgumentError) as caught:
            describe(shifted.parameters[0], value)
        assert str(caught.value).startswith(message)

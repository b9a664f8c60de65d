"""Tensor descriptors as arguments of kernels: what they are passed as, how they are specialised, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError, InvalidArgument
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.mocks import MockTensor
from tle2cuda.runtime.signature import DescriptorArgument, parse_signature


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


def test_signatures_name_the_block() -> None:
    parsed = parse_signature(shifted.parameters, "tensordesc<bf16[64, 32]>, *bf16:16, i32")
    argument = parsed.constants_dict()["x"]
    assert isinstance(argument, DescriptorArgument)
    assert (argument.block_shape, argument.padding) == ((64, 32), "zero")
    assert [spec.type_string for spec in parsed.args] == ["*bf16:16", "i32", "i32", "i64", "*bf16:16", "i32"]
    with_padding = parse_signature(shifted.parameters, "tensordesc<fp32[32], nan>, *fp32, i32").constants_dict()["x"]
    assert (with_padding.block_shape, with_padding.padding) == ((32,), "nan")
    with pytest.raises(ArgumentError, match="`x`: unknown type 'f16' in the signature entry"):
        parse_signature(shifted.parameters, "tensordesc<f16[64]>, *fp16, i32")


def test_emitted_kernels_have_one_parameter_a_part() -> None:
    emitted = tle2cuda.emit(shifted, signature="tensordesc<fp32[32]>, *fp32:16, i32")
    assert [spec.name for spec in emitted.contract.args] == ["x_base", "x_extent0", "out", "n"]


def test_what_a_descriptor_may_describe() -> None:
    """The host's object refuses what the hardware cannot do, as it is made."""
    rows, floats = np.zeros((8, 3), np.float32), np.zeros(65, np.float32)
    with pytest.raises(InvalidArgument, match="begin at multiples of 16 bytes; stride 0 is 3 elements of 4 bytes"):
        TensorDescriptor(rows, [8, 3], [3, 1], [4, 4])
    with pytest.raises(InvalidArgument, match="begins at a multiple of 16 bytes, this one does not"):
        TensorDescriptor(floats[1:], [8, 8], [8, 1], [4, 4])
    assert TensorDescriptor(floats, [8, 8], [8, 1], [4, 4]).shape == [8, 8]
    assert TensorDescriptor(MockTensor(tl.float16), [8, 8], [8, 1], [4, 8]).shape == [8, 8]

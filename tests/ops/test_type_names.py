"""Names of types, as Triton 3.6 gives them: on the host, and where kernels print them or branch on them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl

# Attribute of `tl` -> `name` and `str`, measured with Triton 3.6.
NAMES = {
    **{name: name for name in ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16",
}


@pytest.mark.parametrize(("attribute", "name"), NAMES.items())
def test_names_of_dtypes(attribute, name):
    dtype = getattr(tl, attribute)
    assert (dtype.name, str(dtype), f"{dtype}", repr(dtype)) == (name, name, name, f"triton.language.{attribute}")
    assert dtype.codegen_name == attribute
    assert dtype != name and name not in {dtype} and tl.dtype(name) is dtype
    assert tl.dtype.is_dtype(name) and tl.dtype.is_dtype(attribute) == (attribute == name)
    assert dtype.itemsize == dtype.primitive_bitwidth // 8
    assert copy.deepcopy(dtype) is dtype and pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize(("attribute", "name"), [("float32", "fp32"), ("bfloat16", "bf16"), ("uint8", "uint8")])
def test_names_of_pointers_and_tiles(attribute, name):
    dtype = getattr(tl, attribute)
    pointer, tile = tl.pointer_type(dtype), tl.block_type(dtype, [4, 8])
    of_pointers = tl.block_type(pointer, [4])
    for type_, text in (
        (pointer, f"pointer<{name}>"),
        (tl.pointer_type(dtype, 1, True), f"const_pointer<{name}>"),
        (tile, f"<['4', '8'], {name}>"),
        (of_pointers, f"<['4'], pointer<{name}>>"),
    ):
        assert (type_.name, str(type_), repr(type_)) == (text, text, text)


def test_texts_and_host_functions_of_constants():
    assert [str(tl.constexpr(v)) for v in (3, "a", tl.float16)] == ["constexpr[3]", "constexpr[a]", "constexpr[fp16]"]
    assert f"{tl.constexpr(3)}" == repr(tl.constexpr(3)) == "constexpr[3]"
    assert tle2cuda.cdiv(tl.constexpr(7), 2) == 4 and tle2cuda.next_power_of_2(tl.constexpr(7)) == 8
    assert type(tle2cuda.cdiv(7, tl.constexpr(2))) is int


@tle2cuda.jit
def asks_names(x, half, out, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    block = tl.make_block_ptr(x, (N,), (1,), (0,), (N,), (0,))
    descriptor = tl.make_tensor_descriptor(x, [N, 16], [16, 1], [16, 16])
    tl.static_print(value.dtype, value.type, x.dtype, (x + i).type, block.type, descriptor.type, (KIND, N))
    tl.static_print(f"{KIND} {half.dtype.element_ty.name}", value.dtype.name == "fp32")
    tl.static_assert(x.dtype.name == "pointer<fp32>")
    code = 0
    if value.dtype.name == "fp32":
        code += 1
    if half.dtype.element_ty.name == "fp16" and str(KIND) == "bf16":
        code += 2
    if value.dtype.name == "float32":
        code += 4
    tl.store(out + i, code)


SHOWN = (
    "fp32 <['16'], fp32> pointer<fp32> <['16'], pointer<fp32>> pointer<<['16'], fp32>> "
    "tensor_descriptor<<['16', '16'], fp32>> (bf16, 16)\nbf16 fp16 True\n"
)


@pytest.mark.parametrize("device", ["eager", "interpreter"])
def test_branches_on_names(device, monkeypatch, capsys):
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(16, np.int32)
    asks_names[(1,)](np.zeros(256, np.float32), np.zeros(1, np.float16), out, N=16, KIND=tl.bfloat16)
    np.testing.assert_array_equal(out, 3)
    assert SHOWN in capsys.readouterr().out


def test_branches_on_names_compiled(capsys):
    kernel = tle2cuda.emit(asks_names, "*fp32:16, *fp16:16, *i32:16, 16, tl.bfloat16")
    assert capsys.readouterr().out == SHOWN
    assert "= 3;" in kernel.source and "KIND = bfloat16" in kernel.source

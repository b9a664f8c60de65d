"""The gathered names, and rules of emission that other parts rely on."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import NotSupported
from tle2cuda.language import tle
from tle2cuda.ops.core import MEANINGS


def functions_of(module):
    return {name: value for name, value in ((n, getattr(module, n)) for n in module.__all__) if inspect.isfunction(value)}


def test_every_function_is_marked_and_documented():
    for module in (tl, tl.math, tle, tle.gpu):
        for name, function in functions_of(module).items():
            assert function.__doc__, name
            host = name in ("is_builtin", "sharding", "make_sharded_tensor", "reshard", "distributed_dot")
            if not host and not name.startswith("_"):
                assert tl.is_builtin(function), name


def test_supported_functions_document_arguments_errors_and_show_an_example():
    for module in (tl, tle, tle.gpu):
        for name, function in functions_of(module).items():
            text = function.__doc__ or ""
            if "not supported yet" in text or name.startswith("_") or name in ("is_builtin", "add", "sub", "mul"):
                continue
            assert "Example:" in text or "NotSupported" in text, name
            documented = [p for p in inspect.signature(function).parameters if p not in ("args", "kwargs")]
            for parameter in documented:
                assert f"{parameter}:" in text, f"{name}: {parameter}"


def test_methods_of_tensor():
    with tracing() as trace:
        x = trace.input(np.arange(8).reshape(2, 4), tl.float32)
        assert trace.evaluate(x.sum(axis=1)).tolist() == [6.0, 22.0]
        assert x.to(tl.int32).dtype is tl.int32
        assert x.max(0).dims == (4,) and x.trans().dims == (4, 2) and x.reshape(8).dims == (8,)
        assert x.shape == (2, 4) and x.numel == 8 and x.type.element_ty is tl.float32
        assert x.type.scalar is tl.float32 and x.type.is_block() and not x.dtype.is_block()
        p = trace.pointer(tl.float16)
        assert p.dtype.is_ptr() and p.dtype.element_ty is tl.float16 and p.type.element_ty is tl.float16
        assert not p.dtype.is_floating()
        assert (x == None).value is False  # noqa: E711
        assert (x != None).value is True  # noqa: E711


def test_constexpr_is_python():
    c = tl.constexpr(7)
    assert isinstance(c + 1, tl.constexpr) and (c + 1).value == 8
    assert (2**c).value == 128 and (c / 2).value == 3.5 and (-c).value == -7
    assert (c == 7).value is True and bool(c < 3) is False
    assert tl.constexpr(c).value == 7 and f"{c:03d}" == "007" and list(range(c)) == list(range(7))
    assert hash(c) == hash(7)
    assert (tl.constexpr((1, 2)) + (3,)).value == (1, 2, 3)
    with tracing() as trace:
        assert (c + trace.symbol(tl.int8)).dtype is tl.int8
        assert (c < trace.symbol(tl.int8)).dtype is tl.int1


def test_atomic_scopes_by_address_space():
    with tracing() as trace:
        for space, scope, want in (
            ("global", None, "gpu"),
            ("global", "cta", "cta"),
            ("shared", "sys", "cta"),
            ("shared", None, "cta"),
            ("cluster", "cta", "cluster"),
            ("cluster", None, "gpu"),
        ):
            tl.atomic_add(trace.pointer(tl.int32, (), space), 1, scope=scope)
            assert trace.ops[-1].attrs["scope"] == want
            assert trace.ops[-1].attrs["sem"] == "acq_rel"


def test_float_atomic_maximum_is_two_integer_atomics():
    with tracing() as trace:
        old = tl.atomic_max(trace.pointer(tl.float32, (4,)), trace.symbol(tl.float32, (4,)))
        atomics = [op for op in trace.ops if op.name == "atomic_rmw"]
        assert [(op.attrs["kind"], str(op.operands[0].type)) for op in atomics] == [
            ("max", "*i32[4]"),
            ("min", "*u32[4]"),
        ]
        assert old.dtype is tl.float32


def test_pointer_casts():
    with tracing() as trace:
        p = trace.pointer(tl.int64)
        q = p.to(tl.pointer_type(tl.float32))
        assert q.dtype == tl.pointer_type(tl.float32)
        assert tl.load(p).to(tl.pointer_type(tl.float16)).dtype.element_ty is tl.float16
        assert p.to(tl.int64).dtype is tl.int64
        assert trace.names().count("bitcast") == 3


def test_masks_known_to_be_true_disappear():
    with tracing() as trace:
        tl.load(trace.pointer(tl.float32), mask=tl.constexpr(True))
        assert trace.ops[-1].attrs["has_mask"] is False and len(trace.ops[-1].operands) == 1


def test_loads_broadcast_pointer_and_mask():
    with tracing() as trace:
        p = trace.pointer(tl.float32, (1, 8))
        assert tl.load(p, mask=trace.symbol(tl.int1, (4, 1))).dims == (4, 8)


def test_hints():
    with tracing() as trace:
        x = trace.symbol(tl.int32, (8,))
        tl.max_contiguous(tl.multiple_of(x, 16), 8)
        assert [dict(op.attrs) for op in trace.ops] == [
            {"divisibility": (16,), "contiguity": None, "constancy": None},
            {"divisibility": None, "contiguity": (8,), "constancy": None},
        ]
        assert tl.multiple_of(tl.constexpr(32), 16).value == 32


def test_unsupported_names_say_so_when_called():
    for function in (tle.gpu.set_layout, tle.raw.call, tl.extra.libdevice.fast_tanhf):
        with pytest.raises(NotSupported, match="is not supported by this version of tle2cuda") as caught:
            function()
        assert caught.value.help
    with pytest.raises(RuntimeError, match="requires a backend providing"):
        tle.make_view  # noqa: B018
    with pytest.raises(AttributeError):
        tle.nothing  # noqa: B018
    assert tle.language is tle


def test_meanings_cover_the_value_operations():
    wanted = (
        "constant arange program_id num_programs cluster_rank add sub mul div idiv rem and or xor shl shr min max "
        "mulhi fma cmp select math cast bitcast ptr_add splat broadcast expand_dims reshape tile_to_scalar trans "
        "reduce scan exclusive_sum histogram load store atomic_rmw atomic_cas print assert assume hint convert_layout"
    )
    assert set(wanted.split()) <= set(MEANINGS)

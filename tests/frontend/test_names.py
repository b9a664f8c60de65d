"""Triton's objects are recognised by qualified name, without Triton installed."""

from __future__ import annotations

import pathlib
import sys
import types

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import body, load, ops, trace_text
from tle2cuda import errors
from tle2cuda.compiler import kernel_parameters, trace_specialized
from tle2cuda.frontend.liveness import analyse
from tle2cuda.frontend.names import translate
from tle2cuda.runtime.signature import parse_signature


def fake(name: str, module: str, **attributes: object) -> type:
    """A class that claims to be defined in a module of Triton."""
    return type(name, (), {"__module__": module, **attributes})


def module(name: str) -> types.ModuleType:
    return types.ModuleType(name)


def named_function(name: str, home: str) -> types.FunctionType:
    def function() -> None:
        """Stands for a function of Triton."""

    function.__name__, function.__module__ = name, home
    return function


def test_modules() -> None:
    assert translate(module("triton.language")) is tl
    assert translate(module("triton.language.math")) is tl.math
    assert translate(module("triton.experimental.tle.language")) is tl.tle
    assert translate(module("triton.experimental.tle")) is tl.tle
    assert translate(module("triton.experimental.tle.language.gpu")) is tl.tle.gpu
    other = module("numpy")
    assert translate(other) is other


def test_functions_by_defining_module() -> None:
    assert translate(named_function("load", "triton.language.core")) is tl.load
    assert translate(named_function("sum", "triton.language.standard")) is tl.sum
    assert translate(named_function("exp", "triton.language.math")) is tl.exp
    assert translate(named_function("alloc", "triton.experimental.tle.language.gpu.core")) is tl.tle.gpu.alloc


def test_jit_objects_of_tritons_own_library() -> None:
    jit_function = fake("JITFunction", "triton.runtime.jit")()
    jit_function.fn = named_function("cdiv", "triton.language.standard")
    assert translate(jit_function) is tl.cdiv


def test_data_objects() -> None:
    constant = fake("constexpr", "triton.language.core")()
    constant.value = 5
    assert translate(constant).value == 5
    dtype = fake("dtype", "triton.language.core")()
    for name, ours in (("fp32", tl.float32), ("int64", tl.int64), ("bf16", tl.bfloat16), ("uint8", tl.uint8)):
        dtype.name = name
        assert translate(dtype) is ours
    pointer = fake("pointer_type", "triton.language.core")()
    pointer.element_ty = dtype
    assert translate(pointer) == tl.pointer_type(tl.uint8)


def test_unknown_name_of_triton() -> None:
    with pytest.raises(errors.CompilationError, match=r"triton\.language\.core\.frobnicate is not supported"):
        translate(named_function("frobnicate", "triton.language.core"))


def test_triton_kernel_traces_unchanged(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`triton.jit` objects are unwrapped, their `tl` is ours."""
    triton = module("triton")
    language = module("triton.language")
    jit_function = fake("JITFunction", "triton.runtime.jit", __init__=lambda self, fn: setattr(self, "fn", fn))
    triton.jit = jit_function  # type: ignore[attr-defined]
    triton.language = language  # type: ignore[attr-defined]
    language.constexpr = fake("constexpr", "triton.language.core")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", language)
    source = """
        import triton
        import triton.language as tl


        @triton.jit
        def helper(x):
            return tl.where(x > 2, x, 0)


        @triton.jit
        def k(p, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            size: tl.constexpr = triton.next_power_of_2(B + 1)
            tl.store(p + i, helper(i) + size, mask=i < triton.cdiv(10, 3))
    """
    kernel = load(source, tmp_path).k
    specialization = parse_signature(kernel_parameters(kernel), "*i32, i32, 8")
    traced = trace_specialized(kernel, specialization)
    assert [op.name for op in ops(traced, "select")] == ["select"]
    assert "constant {value = 16}" in body(traced)
    assert "constant {value = 4}" in body(traced)


def test_liveness_of_nested_loops() -> None:
    import ast
    import textwrap

    tree = ast.parse(
        textwrap.dedent("""
        def f(n):
            a = b = c = 0
            for i in range(n):
                c = i
                while a < i:
                    a = a + c
                    t = a
                if a:
                    b = t
            return a
        """)
    )
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    live = analyse(function)
    loop = function.body[1]
    assert live.after[loop] == {"a"}
    assert live.head[loop] == {"a", "t"}
    assert isinstance(loop, ast.For)
    inner, branch = loop.body[1], loop.body[2]
    assert live.head[inner] == {"a", "c", "i", "t"}
    assert live.after[branch] == {"a", "t"}


def test_plain_globals_are_constants_where_the_environment_allows(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
        SIZE = 8
        NAMES = ("a", "b")

        @tle2cuda.jit
        def k(out):
            if NAMES[1] == "b":
                tl.store(out + tl.arange(0, SIZE), SIZE)
    """
    with pytest.raises(errors.CompilationError, match="`NAMES` is the global variable"):
        trace_text(source, tmp_path, "*i32")
    monkeypatch.setenv("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS", "1")
    assert "arange {start = 0, end = 8}" in body(trace_text(source, tmp_path, "*i32"))


def test_tuples_of_marked_globals_are_constants(tmp_path: pathlib.Path) -> None:
    source = """
        SIZES = (tl.constexpr(8), tl.constexpr(16))
        MIXED = (tl.constexpr(8), 16)

        @tle2cuda.jit
        def k(out):
            tl.store(out + tl.arange(0, SIZES[0]), SIZES[1])

        @tle2cuda.jit
        def mixed(out):
            tl.store(out, MIXED[0])
    """
    assert "arange {start = 0, end = 8}" in body(trace_text(source, tmp_path, "*i32"))
    with pytest.raises(errors.CompilationError, match="`MIXED` is the global variable"):
        trace_text(source, tmp_path, "*i32", kernel="mixed")


def test_the_environment_sets_the_level_that_kernels_do_not_set(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
        @tle2cuda.jit
        def k(out, n):
            tl.store(out, 0 < n < 5)

        @tle2cuda.jit(language="3.6")
        def old(out, n):
            tl.store(out, 0 < n < 5)
    """
    with pytest.raises(errors.CompilationError, match="chained comparison"):
        trace_text(source, tmp_path, "*i32, i32")
    monkeypatch.setenv("TLE2CUDA_LANGUAGE", "3.9")
    trace_text(source, tmp_path, "*i32, i32")
    with pytest.raises(errors.CompilationError, match="chained comparison"):
        trace_text(source, tmp_path, "*i32, i32", kernel="old")
    monkeypatch.setenv("TLE2CUDA_LANGUAGE", "4.0")
    with pytest.raises(errors.InvalidArgument, match=r"TLE2CUDA_LANGUAGE must be one of 3\.6, 3\.9, got '4\.0'"):
        trace_text(source, tmp_path, "*i32, i32")


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(errors.InvalidArgument, match=r"language must be one of 3\.6, 3\.9, got '3\.7'"):
        tle2cuda.jit(language="3.7")(lambda: None)

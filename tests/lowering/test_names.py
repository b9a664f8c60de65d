"""Names in emitted files: the user's wherever C++ and CUDA allow, and never one that hides what the file uses."""

import pathlib
import re
import warnings

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.opcases import cases
from tle2cuda.lowering.helpers import all_helpers
from tle2cuda.lowering.names import Names, ascii_identifier, is_reserved, kernel_name
from tle2cuda.runtime.nvrtc import CompileOptions, compile_source


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("offsets", "offsets"),
        ("_sum", "_sum"),
        ("größe", "groudfe"),
        ("é1", "e1"),
        ("名前", "u540du524d"),
        ("__x", "_x"),
        ("a__b", "a_b"),
        ("_totals", "_totals"),
        ("__totals", "_totals"),
        ("_N", "N"),
        ("_", "value"),
        ("", "value"),
        ("3d", "_3d"),
        ("a.b", "a_b"),
    ],
)
def test_names_are_spelled_in_ascii_without_reserved_forms(name: str, text: str) -> None:
    assert ascii_identifier(name) == text


@pytest.mark.parametrize(
    "name",
    "NULL linux INT_MAX M_PI expf rnorm4d atomicAdd load_vector load_nc_if Items_fp32_i32 and_eq k".split(),
)
def test_what_means_something_else_gets_a_suffix(name: str) -> None:
    names = Names()
    assert [names.fresh(name), names.fresh(name)] == [f"{name}_", f"{name}_3"]


def test_names_of_nested_scopes_never_hide_another() -> None:
    names = Names()
    assert names.fresh("x") == "x"
    with names.scope():
        assert names.fresh("x") == "x_2"
    assert names.fresh("x") == "x_2"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("softmax", "softmax"),
        ("main", "main_"),
        ("long", "long_"),
        ("index", "index_"),
        ("nan", "nan_"),
        ("int8_t", "int8_t_"),
        ("größe", "groudfe"),
    ],
)
def test_kernels_have_names_that_cuda_takes(name: str, text: str) -> None:
    assert kernel_name(name) == text


def test_counters_that_templates_name_themselves_are_reserved() -> None:
    """A variable of the user's would else be hidden inside of the loop."""
    templates = pathlib.Path(tle2cuda.__file__).parent / "templates"
    # In front of the user's code, in functions of their own, and beside nothing but a member of `shared`.
    own = {("barriers.cu.j2", "stage"), ("wgmma_helper.cu.j2", "i"), ("shared.cu.j2", "i")}
    found = 0
    for path in sorted(templates.glob("*.j2")):
        for name in re.findall(r"for \(\w+ (\w+) =", path.read_text(encoding="utf-8")):
            found += 1
            assert is_reserved(name) or (path.name, name) in own
    assert found


def test_every_function_that_emitted_files_call_is_reserved() -> None:
    called: set[str] = set()
    kernels = {case.kernel.fn.__name__: case for case in cases().values()}
    for case in kernels.values():
        source = case.emit().source
        name = kernel_name(case.kernel.fn.__name__)
        code = re.sub(r'//.*|"(\\.|[^"\\])*"', "", source[source.index('extern "C"') :])
        declared = set(re.findall(r"const auto (\w+) = \[", code))
        declared |= set(
            re.findall(r"^__device__ .*?\b(asm_\w+|\w+_barrier\w*)\(", source, re.MULTILINE)
        )  # named in the file's own scope
        declared |= set(re.findall(r"^// `.*` for one element.*\n__device__ .*?\b(\w+)\(", source, re.MULTILINE))
        called |= set(re.findall(r"(?<![\w.>:])([a-zA-Z]\w*)(?=(?:<[^;{}()=]*>)?\()", code)) - declared - {name}
    assert called > {"load_vector", "min", "atomicAdd"}
    assert {name for name in called if not is_reserved(name)} == set()
    assert all(is_reserved(name) for name in all_helpers())


@tle2cuda.jit
def long(größe, NULL, int, N: tl.constexpr):
    名前 = tl.arange(0, N)
    __x = tl.load(größe + 名前)
    load_vector = __x * 2.0
    expf = load_vector + NULL
    _T = tl.exp(expf)
    linux = tl.sum(_T, 0)
    tl.store(int + 名前, _T / linux)


@pytest.mark.parametrize("headers", ["minimal", "toolkit"])
def test_any_python_name_compiles(headers: str) -> None:
    emitted = tle2cuda.emit(long, "*fp32:16, fp32, *fp32:16, 512", headers=headers)
    assert emitted.source.isascii() or re.sub(r"//.*", "", emitted.source).isascii()
    assert emitted.contract.kernel_name == "long_"
    assert emitted.source.startswith("// long_.cu: emitted by tle2cuda from test_names.py:")
    assert "(long). Do not edit." in emitted.source.splitlines()[0]  # the Python function
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compile_source(emitted.source, "long.cu", CompileOptions("sm_90a"))
    assert not result.warnings


def test_many_names_of_one_kind_are_found_fast_and_freed_with_their_scope() -> None:
    names = Names()
    assert [names.fresh("x") for _ in range(3)] == ["x", "x_2", "x_3"]
    with names.scope():
        assert names.fresh("x") == "x_4"
        assert names.fresh("x", 0) == "x_5"
        with names.scope():
            assert names.fresh("x") == "x_6"
        assert names.fresh("x") == "x_6"
    assert names.fresh("x") == "x_4"
    assert names.fresh("x") == "x_6"
    assert [names.fresh("int"), names.fresh("int")] == ["int_", "int_3"]

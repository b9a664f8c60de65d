from __future__ import annotations

import math
from typing import Any

import pytest

from tle2cuda import language
from tle2cuda.errors import ArgumentError, KernelWarning
from tle2cuda.runtime import ArgSpec, Parameter, Specialization, parameters_of, parse_signature
from tle2cuda.runtime.signature import parse_constant, split_signature

ADD = (
    Parameter("x"),
    Parameter("y"),
    Parameter("n"),
    Parameter("BLOCK", is_constexpr=True),
    Parameter("SCALE", is_constexpr=True, has_default=True, default=2.0),
)
X = ArgSpec("x", "pointer", "fp32", 16)
Y = ArgSpec("y", "pointer", "fp32")
N = ArgSpec("n", "scalar", "i32")


def parse(signature: Any, constants: Any = None) -> Specialization:
    return parse_signature(ADD, signature, constants, "add")


@pytest.mark.parametrize(
    ("signature", "constants"),
    [
        ("*fp32:16, *fp32, i32, 1024, 2.0", None),
        ("*fp32:16, *fp32, i32, 1024", None),
        ("*fp32:16,*fp32,i32,1024,", None),
        ("*fp32:16, *fp32, i32", {"BLOCK": 1024}),
        ("*fp32:16, *fp32, i32, 2.0", {"BLOCK": 1024}),
        ("*fp32:16, *fp32, i32, 1024, 2.0", {"BLOCK": 1024}),
        ({"x": "*fp32:16", "y": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
        ({"x": "*fp32:16", "y": "*fp32", "n": "i32", "BLOCK": 1024}, None),
        (
            {"x": "*fp32:16", "y": "*fp32", "n": "i32", "BLOCK": "constexpr", "SCALE": "constexpr"},
            {"BLOCK": 1024},
        ),
    ],
)
def test_the_same_specialization_in_every_spelling(signature: Any, constants: Any) -> None:
    assert parse(signature, constants) == Specialization((X, Y, N), (("BLOCK", 1024), ("SCALE", 2.0)))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("i1", ArgSpec("p", "scalar", "i1")),
        ("u1", ArgSpec("p", "scalar", "i1")),
        ("u64:16", ArgSpec("p", "scalar", "u64", 16)),
        ("bf16", ArgSpec("p", "scalar", "bf16")),
        ("fp64", ArgSpec("p", "scalar", "fp64")),
        ("*fp8e4nv", ArgSpec("p", "pointer", "fp8e4nv")),
        ("*kfp16:16", ArgSpec("p", "pointer", "fp16", 16, True)),
        ("*i1", ArgSpec("p", "pointer", "i1")),
    ],
)
def test_types(entry: str, expected: ArgSpec) -> None:
    assert parse_signature((Parameter("p"),), entry).args == (expected,)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("1024", 1024),
        ("-3", -3),
        ("0.5", 0.5),
        ("True", True),
        ("None", None),
        ("'rn, up'", "rn, up"),
        ('"a"', "a"),
        ("(1, 2)", (1, 2)),
        ("i32:1", 1),
        ("u8:1", 1),
        ("inf", math.inf),
        ("-inf", -math.inf),
    ],
)
def test_literals_make_constants(entry: str, value: Any) -> None:
    constants = parse_signature((Parameter("p"),), entry).constants
    assert constants == (("p", value),)
    assert type(constants[0][1]) is type(value)


def test_constexpr_objects_are_unwrapped() -> None:
    class constexpr:
        def __init__(self, value: Any) -> None:
            self.value = value

    assert parse_signature((Parameter("p", True),), {"p": constexpr(constexpr(3))}).constants == (("p", 3),)


WRONG = [
    (
        "*fp32, i32",
        None,
        "the signature of add has 2 entries, expected 4 to 5\n"
        "  parameters without a constant: x, y, n, BLOCK, SCALE\n"
        "  entries: *fp32, i32\n"
        "  help: give one entry per parameter: a type such as *fp32:16 or i32, or the value of a constexpr "
        "(constants= and --constants take it, too)",
    ),
    (
        "*fp32, *fp32, i32, 1, 1, 1",
        {"SCALE": 1.0},
        "the signature of add has 6 entries, expected 4\n"
        "  parameters without a constant: x, y, n, BLOCK\n"
        "  entries: *fp32, *fp32, i32, 1, 1, 1\n"
        "  help: give one entry per parameter: a type such as *fp32:16 or i32, or the value of a constexpr "
        "(constants= and --constants take it, too)",
    ),
    (
        "*fp23, *fp32, i32, 1024",
        None,
        "`x`: unknown type 'fp23' in the signature entry '*fp23'\n"
        "  types: i1, i8, i16, i32, i64, u8, u16, u32, u64, fp16, bf16, fp32, fp64, fp8e4nv, fp8e5, fp8e4b15, "
        "and * before any for a pointer\n"
        "  help: did you mean `fp32`?",
    ),
    (
        "*fp32:8, *fp32, i32, 1024",
        None,
        "`x`: unknown hint :8 in '*fp32:8'\n"
        "  help: :16 says divisible by 16 (for a pointer: aligned to 16 bytes), :1 says equal to 1",
    ),
    (
        "*fp32:1, *fp32, i32, 1024",
        None,
        "`x`: the hint :1 in '*fp32:1' is for integers, which it makes the constant 1",
    ),
    ("*fp32, *fp32, fp32:16, 1024", None, "`n`: the hint :16 in 'fp32:16' is for pointers and integers"),
    (
        "*fp32, *fp32, i32, i32",
        None,
        "add: `BLOCK` is a tl.constexpr: the signature gives its value, not the type i32\n"
        "  help: write a literal such as 1024 in the place of i32",
    ),
    (
        "*fp32, *fp32, @, 1024",
        None,
        "`n`: '@' is neither a type nor a literal\n"
        "  help: types are written i32, *fp32 or *fp32:16; strings are quoted; dtypes are tl.float32",
    ),
    ("*fp32, , i32, 1024", None, "entry 2 of the signature '*fp32, , i32, 1024' is empty"),
    ("*fp32, 'a, i32", None, 'unbalanced quote or bracket in signature "*fp32, \'a, i32"'),
    (
        "*fp32, *fp32, i32, 1024, 2.0",
        {"BLOCK": 512},
        "add: `BLOCK` is 1024 in the signature and 512 in the constants",
    ),
    (
        "*fp32, *fp32, i32, 1024, 2.0",
        {"n": 5},
        "add: `n` has the type i32 in the signature and the value 5 in the constants; give one of them",
    ),
    (
        "*fp32, *fp32, i32",
        {"BLOK": 512},
        "add has no parameter 'BLOK', which constants names\n"
        "  parameters: x, y, n, BLOCK, SCALE\n"
        "  help: did you mean `BLOCK`?",
    ),
    (
        {"x": "*fp32", "why": "*fp32"},
        None,
        "add has no parameter 'why', which the signature names\n  parameters: x, y, n, BLOCK, SCALE",
    ),
    (
        {"x": "*fp32", "y": "*fp32"},
        None,
        "add: parameter `n` has neither a type in the signature nor a constant",
    ),
    (
        {"x": "*fp32", "y": "*fp32", "n": "i32"},
        None,
        "add: parameter `BLOCK` has neither a value in the signature nor a constant",
    ),
    (
        {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"},
        None,
        "add: `BLOCK` is constexpr in the signature, but constants give it no value\n"
        "  help: add it to the constants: {'BLOCK': ...}",
    ),
]


@pytest.mark.parametrize(("signature", "constants", "message"), WRONG)
def test_wrong_signature(signature: Any, constants: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as info:
        parse(signature, constants)
    assert str(info.value) == message


@pytest.mark.parametrize("entry", ["i64", "i32"])
def test_the_signature_decides_whatever_an_annotation_says(entry: str) -> None:
    assert parse_signature((Parameter("n", dtype="i64"),), entry).args == (ArgSpec("n", "scalar", entry),)


def test_split_keeps_brackets_and_quotes() -> None:
    assert split_signature("(1, 2), 'a,b', i32") == ["(1, 2)", "'a,b'", "i32"]
    assert split_signature("") == []


def test_parameters_of_a_function() -> None:
    class tl:
        class constexpr:
            pass

        class int64:
            pass

    def kernel(x, n: int, m, k, BLOCK: tl.constexpr = 4, *, MODE: tl.constexpr): ...  # type: ignore[no-untyped-def]

    kernel.__annotations__.update(BLOCK=tl.constexpr, MODE="tl.constexpr", m=tl.int64)
    found = parameters_of(kernel, do_not_specialize=["n"], do_not_specialize_on_alignment=[3])
    assert found == (
        Parameter("x"),
        Parameter("n", dtype="i32", specialize=False, specialize_alignment=False, python_type=True),
        Parameter("m", dtype="i64"),
        Parameter("k", specialize_alignment=False),
        Parameter("BLOCK", is_constexpr=True, has_default=True, default=4),
        Parameter("MODE", is_constexpr=True, keyword_only=True),
    )


def test_parameters_that_kernels_cannot_have() -> None:
    def kernel(x, *rest): ...  # type: ignore[no-untyped-def]

    with pytest.raises(ArgumentError) as info:
        parameters_of(kernel)
    assert str(info.value) == (
        "kernel: a kernel cannot take `*rest`\n"
        "  help: take a tuple, `rest`, and pass (a, b, ...); only functions that kernels call have `*rest`, by the rules "
        "of Triton 3.9"
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["stride_n"],
            "do_not_specialize names 'stride_n', which is not a parameter; did you mean `stride`?",
        ),
        ([5], "do_not_specialize has index 5; the kernel has 2 parameters"),
    ],
)
def test_unknown_do_not_specialize(names: list[Any], message: str) -> None:
    def kernel(x, stride): ...  # type: ignore[no-untyped-def]

    with pytest.warns(KernelWarning) as warned:
        parameters = parameters_of(kernel, do_not_specialize=[*names, "x"])
    assert [str(w.message) for w in warned] == [message]
    assert [p.specialize for p in parameters] == [False, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BLOCK=1024", ("BLOCK", 1024)),
        ("MODE='rn'", ("MODE", "rn")),
        ("MODE=rn", ("MODE", "rn")),
        ("F=1e-3", ("F", 1e-3)),
    ],
)
def test_constants_of_the_command_line(text: str, expected: tuple[str, Any]) -> None:
    assert parse_constant(text) == expected


def test_bad_constant_of_the_command_line() -> None:
    with pytest.raises(ArgumentError) as info:
        parse_constant("BLOCK")
    assert str(info.value) == "a constant is written NAME=VALUE, got 'BLOCK'"


@pytest.mark.parametrize("signature", [None, ("*fp32", "i32"), 3])
def test_a_signature_is_text_or_a_mapping(signature: Any) -> None:
    with pytest.raises(ArgumentError, match="the signature of add is a string or a mapping, got "):
        parse_signature([], signature, kernel="add")


def test_constant_may_name_an_object_of_the_file() -> None:
    mesh = object()
    objects = {"MESH": mesh, "WIDTH": language.constexpr(8), "True": 0}
    assert parse_constant("mesh=MESH", objects) == ("mesh", mesh)
    assert parse_constant("W = WIDTH", objects) == ("W", 8)
    assert parse_constant("mesh='MESH'", objects) == ("mesh", "MESH")
    assert parse_constant("mesh=mesh", objects) == ("mesh", "mesh")
    assert parse_constant("flag=True", objects) == ("flag", True)
    assert parse_constant("x=math:pi") == ("x", math.pi)

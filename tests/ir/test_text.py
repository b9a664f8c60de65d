"""Printing and parsing the IR."""

from __future__ import annotations

import pytest

from tests.ir.test_legality import CASES, kernel
from tle2cuda.errors import IRError
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Argument, Kernel, Region, Value, make_op
from tle2cuda.ir.parser import parse_kernel, parse_type
from tle2cuda.ir.printer import print_data, print_kernel, print_type
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import F32, I32, PointerType, TileType
from tle2cuda.layout import blocked

ADD = """\
kernel add(%x: *fp32 divisibility 16, %n: i32) constants {BLOCK = 128, scale = -0.5} num_warps 8 target "sm_80" {
  %pid = program_id {axis = 0} : i32
  %0 = constant {value = 128} : i32
  %base = mul %pid, %0 : i32
  %1 = arange {start = 0, end = 128} : i32[128]
  %2 = splat %base : i32[128]
  %offsets = add %2, %1 : i32[128]
  %acc = for %base, %n, %0, %base {num_stages = 3, unroll = None} : i32 do (%i: i32, %acc_1: i32) {
    %3 = cmp %i, %n {predicate = 'lt'} : i1
    %step = if %3 : i32 then {
      yield %i
    } else {
      barrier {reason = "the user's"}
      yield %n
    }
    yield %step
  }
  %last = while %acc : i32 before (%a: i32) {
    %4 = cmp %a, %n {predicate = 'lt'} : i1
    condition %4, %a
  } do (%c: i32) {
    yield %c
  }
  store %x, %last
  yield
}
"""


def test_round_trip_of_text() -> None:
    assert print_kernel(parse_kernel(ADD)) == ADD


@pytest.mark.parametrize("name", CASES)
def test_round_trip_of_every_operation(name: str) -> None:
    text = print_kernel(kernel(CASES[name][0]))
    again = parse_kernel(text)
    assert print_kernel(again) == text
    verify(again)


def test_names_are_the_users_and_unique() -> None:
    x = Value(I32, "x")
    ops = [make_op("add", (x, x), (I32,), names=("x",)) for _ in range(2)]
    unnamed = make_op("add", (ops[0].result, ops[1].result), (I32,))
    odd = make_op("add", (unnamed.result, x), (I32,), names=("a.b",))
    text = print_kernel(Kernel("k", (Argument(x),), Region((), (*ops, unnamed, odd, make_op("yield")))))
    assert [line.split(" = ")[0].strip() for line in text.splitlines()[1:-2]] == ["%x_1", "%x_2", "%0", "%a_b"]


def test_layouts_print_and_parse() -> None:
    tile = TileType((256, 4), PointerType(F32, "shared"), blocked((256, 4), 4, (1, 0), (1, 4)))
    text = print_type(tile)
    assert text.startswith("*fp32@shared[256, 4] layout<[256, 4]; register (0,1) (0,2)")
    assert parse_type(text) == tile


@pytest.mark.parametrize(
    "text",
    [
        "fp8e5",
        "*bf16",
        "i1[2, 4]",
        "*u64@cluster[8]",
        "buffer<fp16[2, 80] mma remote logical [2, 76]>",
        "buffer<i8[4]>",
        "barriers<4>",
        "pipe<2, a: buffer<fp16[2, 80] mma>, b: buffer<i32[2, 4]>>",
    ],
)
def test_types_round_trip(text: str) -> None:
    assert print_type(parse_type(text)) == text


def test_special_floats() -> None:
    text = print_kernel(
        parse_kernel(
            "kernel k() { %a = constant {value = inf} : fp32 %b = constant {value = -inf} : fp32 "
            "%c = constant {value = nan} : fp32 %d = constant {value = -0.0} : fp32 "
            "%e = constant {value = 1e-45} : fp32 yield }"
        )
    )
    values = [line.split("value = ")[1].split("}")[0] for line in text.splitlines()[1:-2]]
    assert values == ["inf", "-inf", "nan", "-0.0", "1e-45"]


def test_constants_without_text_stay_opaque() -> None:
    k = Kernel("k", (), Region((), (make_op("yield"),)), {"mesh": slice(1, 2)})
    text = print_kernel(k)
    assert "constants {mesh = opaque 'slice(1, 2, None)'}" in text
    assert print_kernel(parse_kernel(text)) == text


def test_data() -> None:
    assert print_data((1, (2,), [True, None], "a'b", I32)) == '(1, (2,), [True, None], "a\'b", i32)'


def test_spans_on_request() -> None:
    span = Span("/somewhere/k.py", 7, 4)
    k = Kernel("k", (), Region((), (make_op("barrier", span=span), make_op("yield"))))
    assert "loc" not in print_kernel(k)
    text = print_kernel(k, spans=True)
    assert "  barrier loc('k.py':7:5)\n" in text
    again = parse_kernel(text)
    assert again.body.ops[0].span == Span("k.py", 7, 4)
    assert print_kernel(again, spans=True) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel k() {\n  %x = add %y, %y : i32\n}", "IR text, line 2: %y is not defined here"),
        ("kernel k(%x: i33) { yield }", "IR text, line 1: expected a type, found 'i33'"),
        ("kernel k(%x: i32) {\n\n %x = add %x, %x : i32 }", "IR text, line 3: %x is defined twice"),
        ("kernel k() { barrier : i32 }", "IR text, line 1: barrier has 0 results but 1 types"),
        ("kernel k() { %x = barrier }", "IR text, line 1: barrier has 1 results but 0 types"),
        ("kernel k() { yield", "IR text, line 1: expected an operation, found the end of the text"),
        ("kernel k() { yield } yield", "IR text, line 1: expected the end of the text, found 'yield'"),
        ("kernel k() {\n  barrier ; }", "IR text, line 2: cannot read '; }'"),
        (
            "kernel k() cluster (2, 1) { yield }",
            "IR text, line 1: expected three extents of a cluster before this, found '{'",
        ),
        ("kernel k() { barrier {reason = } yield }", "IR text, line 1: expected a value, found '}'"),
        ("kernel k() { barrier {reason} yield }", "IR text, line 1: expected '=', found '}'"),
        ("function k() { }", "IR text, line 1: expected 'kernel', found 'function'"),
        (
            "kernel k(%x: i32) { %y = splat %x : i32[4] layout<[5]; register; lane; warp> yield }",
            "IR text, line 1: tile extent must be a power of two, not 5",
        ),
    ],
)  # fmt: skip
def test_parse_errors(text: str, message: str) -> None:
    with pytest.raises(IRError) as caught:
        parse_kernel(text)
    assert str(caught.value) == message

"""Canonicalise: what becomes of small programs, and that the meaning of random ones stays."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tle2cuda.interpreter import run
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel
from tle2cuda.ir.parser import parse_kernel
from tle2cuda.ir.printer import print_kernel
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import ALL_DTYPES, DType
from tle2cuda.passes import canonicalise
from tle2cuda.passes.fold import preserves

ARGUMENTS = "(%p: *i32, %n: i32, %f: fp32, %b: i1, %u: u32, %h: fp16, %s: i16)"


def kernel(body: str) -> Kernel:
    parsed = parse_kernel(f"kernel k{ARGUMENTS} {{\n{body}\n  yield\n}}")
    verify(parsed)
    return parsed


def simplified(body: str) -> str:
    """The body after the pass, one line an operation."""
    result = canonicalise.run(kernel(body))
    verify(result)
    return "\n".join(line.strip() for line in print_kernel(result).splitlines()[1:-2])


def use(value: str, type_: str) -> str:
    """Text that keeps a value alive."""
    return f"\n  print {value} {{prefix = '{type_}'}}"


ZERO = "%zero = constant {value = 0} : i32\n"
ONE = "%one = constant {value = 1} : i32\n"
ONES = "%ones = constant {value = -1} : i32\n"
FZERO = "%fz = constant {value = 0.0} : fp32\n"
FMINUS = "%fm = constant {value = -0.0} : fp32\n"
FONE = "%fo = constant {value = 1.0} : fp32\n"
TRUE = "%t = constant {value = True} : i1\n"
FALSE = "%e = constant {value = False} : i1\n"

# Operations on an argument that are that argument, or a constant.
IDENTITIES = [
    (ZERO + "%x = add %n, %zero : i32", "%n"),
    (ZERO + "%x = add %zero, %n : i32", "%n"),
    (ZERO + "%x = sub %n, %zero : i32", "%n"),
    ("%x = sub %n, %n : i32", 0),
    (ONE + "%x = mul %one, %n : i32", "%n"),
    (ZERO + "%x = mul %n, %zero : i32", 0),
    (ONE + "%x = idiv %n, %one : i32", "%n"),
    (ONE + "%x = rem %n, %one : i32", 0),
    (ONES + "%x = and %n, %ones : i32", "%n"),
    (ZERO + "%x = and %n, %zero : i32", 0),
    ("%x = and %n, %n : i32", "%n"),
    (ZERO + "%x = or %n, %zero : i32", "%n"),
    (ONES + "%x = or %n, %ones : i32", -1),
    ("%x = xor %n, %n : i32", 0),
    (ONES + "%y = xor %n, %ones : i32 %x = xor %ones, %y : i32", "%n"),
    (ZERO + "%x = shl %n, %zero : i32", "%n"),
    ("%x = min %n, %n : i32", "%n"),
    ("%c = constant {value = 2147483647} : i32 %x = min %n, %c : i32", "%n"),
    ("%c = constant {value = 2147483647} : i32 %x = max %n, %c : i32", 2147483647),
    ("%c = constant {value = 0} : u32 %x = max %u, %c : u32", "%u"),
    ("%c = constant {value = 0} : u32 %x = min %c, %u : u32", 0),
    ("%c = constant {value = 0} : u32 %x = cmp %u, %c {predicate = 'lt'} : i1", False),
    ("%x = cmp %n, %n {predicate = 'le'} : i1", True),
    (TRUE + "%x = and %b, %t : i1", "%b"),
    (FALSE + "%x = and %b, %e : i1", False),
    (TRUE + "%x = or %b, %t : i1", True),
    (TRUE + "%x = select %t, %n, %s2 : i32".replace("%s2", "%n"), "%n"),
    (FALSE + ONE + "%x = select %e, %n, %one : i32", 1),
    (TRUE + FALSE + "%x = select %b, %t, %e : i1", "%b"),
    (FONE + "%x = mul %f, %fo : fp32", "%f"),
    (FONE + "%x = div %f, %fo : fp32", "%f"),
    (FZERO + "%x = sub %f, %fz : fp32", "%f"),
    (FMINUS + "%x = add %f, %fm : fp32", "%f"),
    ("%w = cast %h : fp32 %x = cast %w : fp16", "%h"),
    ("%w = cast %s : fp32 %x = cast %w : i16", "%s"),
    ("%w = cast %s : i64 %x = cast %w : i16", "%s"),
    ("%w = cast %b : i32 %x = cast %w : i1", "%b"),
    ("%w = bitcast %f : i32 %x = bitcast %w : fp32", "%f"),
    ("%w = splat %n : i32[1] %x = tile_to_scalar %w : i32", "%n"),
]


@pytest.mark.parametrize(("body", "expected"), IDENTITIES)
def test_identities(body: str, expected: Any) -> None:
    lines = simplified(body + use("%x", "x"))
    if isinstance(expected, str):
        assert lines == f"print {expected} {{prefix = 'x'}}"
    else:
        assert lines.splitlines()[0].split(" = ", 1)[1].startswith(f"constant {{value = {expected!r}}}")


# What looks like an identity but is none.
KEPT = [
    FZERO + "%x = add %f, %fz : fp32",  # -0.0 + 0.0 is 0.0
    FMINUS + "%x = sub %f, %fm : fp32",
    FZERO + "%x = mul %f, %fz : fp32",  # NaN, infinities, -0.0
    "%x = sub %f, %f : fp32",
    "%x = cmp %f, %f {predicate = 'eq'} : i1",  # NaN
    "%w = cast %n : fp32 %x = cast %w : i32",  # 24 bits only
    "%w = cast %n : i16 %x = cast %w : i32",
    "%w = cast %s : fp32 %x = cast %w : u16",  # negative values saturate on the way
    "%w = cast %h : bf16 %x = cast %w : fp16",
    "%w = cast %h : fp8e5 %x = cast %w : fp32",
    "%c = cmp %f, %f {predicate = 'lt'} : i1 " + TRUE + "%x = xor %c, %t : i1",
    "%q = ptr_add %p, %n : *i32 %r = ptr_add %q, %n : *i32 %x = load %r : i32",  # each offset wraps by itself
    FZERO + "%x = div %fz, %fz : fp32",  # the bits of a NaN are the hardware's choice
    "%c = constant {value = 1.5} : fp32 %x = math %c {fn = 'exp'} : fp32",
]


@pytest.mark.parametrize("body", KEPT)
def test_no_identities(body: str) -> None:
    before = kernel(body + use("%x", "x"))
    assert len(canonicalise.run(before).body.ops) == len(before.body.ops)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("%a = constant {value = 2147483647} : i32 " + ONE + "%x = add %a, %one : i32", "-2147483648"),
        ("%a = constant {value = -7} : i32 %c = constant {value = 2} : i32 %x = idiv %a, %c : i32", "-3"),
        ("%a = constant {value = -7} : i32 %c = constant {value = 2} : i32 %x = rem %a, %c : i32", "-1"),
        ("%a = constant {value = 250} : u8 %c = constant {value = 10} : u8 %x = add %a, %c : u8", "4"),
        ("%a = constant {value = 0.1} : fp32 %x = cast %a : fp64", "0.10000000149011612"),
        ("%a = constant {value = 300.7} : fp32 %x = cast %a : i32", "300"),
        ("%a = constant {value = 1.0} : fp32 %x = bitcast %a : i32", "1065353216"),
        ("%a = constant {value = -2.5} : fp32 %x = math %a {fn = 'floor'} : fp32", "-3.0"),
        ("%a = constant {value = 3} : i32[4] %c = constant {value = 4} : i32[4] %x = mul %a, %c : i32[4]", "12"),
        ("%a = constant {value = 1.0} : fp32 " + FZERO + "%x = div %a, %fz : fp32", "inf"),
        (ONE + "%a = splat %one : i32[4] %e = expand_dims %a {axis = 0} : i32[1, 4] %x = broadcast %e : i32[2, 4]", 1),
    ],
)  # fmt: skip
def test_constants_fold_exactly(body: str, value: Any) -> None:
    first, second = simplified(body + use("%x", "x")).splitlines()
    assert first.startswith(f"%x = constant {{value = {value}}}")
    assert second == "print %x {prefix = 'x'}"


def test_uniform_tiles_are_computed_as_scalars() -> None:
    body = """
  %a = splat %n : i32[8]
  %c = constant {value = 3} : i32[8]
  %d = mul %a, %c : i32[8]
  %e = expand_dims %d {axis = 1} : i32[8, 1]
  %g = broadcast %e : i32[8, 4]
  %q = splat %p : *i32[8]
  %r = ptr_add %q, %d : *i32[8]"""
    assert simplified(body + use("%g, %r", "x")) == (
        "%0 = constant {value = 3} : i32\n"
        "%d = mul %n, %0 : i32\n"
        "%g = splat %d : i32[8, 4]\n"
        "%r = ptr_add %p, %d : *i32\n"
        "%r_1 = splat %r : *i32[8]\n"
        "print %g, %r_1 {prefix = 'x'}"
    )


def test_common_subexpressions_merge_within_reach() -> None:
    body = """
  %a = add %n, %n : i32
  if %b then {
    %c = add %n, %n : i32
    %d = mul %n, %n : i32
    print %c, %d {prefix = '1'}
    yield
  } else {
    %e = mul %n, %n : i32
    print %e {prefix = '2'}
    yield
  }"""
    assert simplified(body + use("%a", "3")) == (
        "%a = add %n, %n : i32\n"
        "if %b then {\n"
        "%d = mul %n, %n : i32\n"
        "print %a, %d {prefix = '1'}\n"
        "yield\n"
        "} else {\n"
        "%e = mul %n, %n : i32\n"
        "print %e {prefix = '2'}\n"
        "yield\n"
        "}\n"
        "print %a {prefix = '3'}"
    )


def test_zeros_of_both_signs_and_true_and_one_stay_apart() -> None:
    lines = simplified(FZERO + FMINUS + TRUE + ONE + use("%fz, %fm, %t, %one", "x"))
    assert lines.count("constant") == 4


def test_loads_are_not_merged_but_unused_ones_go() -> None:
    lines = simplified("%x = load %p : i32 %y = load %p : i32 %z = load %p : i32" + use("%x, %y", "x"))
    assert lines.count("load") == 2
    assert simplified("%x = load %p {volatile = True} : i32").count("load") == 1


def test_names_survive_merging() -> None:
    body = "%0 = program_id {axis = 0} : i32 %pid = program_id {axis = 0} : i32" + use("%0, %pid", "x")
    assert simplified(body) == "%pid = program_id {axis = 0} : i32\nprint %pid, %pid {prefix = 'x'}"


def test_spans_survive() -> None:
    body = "%a = splat %n : i32[8] %c = add %a, %a : i32[8] loc('k.py':7:3)" + use("%c", "x")
    ops = canonicalise.run(kernel(body)).body.ops
    assert [op.span for op in ops[:2]] == [Span("k.py", 7, 2)] * 2


def test_branches_with_a_known_condition() -> None:
    body = TRUE + "%x = if %t : i32 then { %y = add %n, %n : i32 yield %y } else { store %p, %n yield %n }"
    assert simplified(body + use("%x", "x")) == "%y = add %n, %n : i32\nprint %y {prefix = 'x'}"


def test_loops_of_no_and_one_iteration() -> None:
    def loop(upper: int) -> str:
        return simplified(
            ZERO + ONE + f"%end = constant {{value = {upper}}} : i32 "
            "%x = for %zero, %end, %one, %n : i32 do (%i: i32, %a: i32) { %c = sub %a, %i : i32 "
            "store %p, %c yield %c }" + use("%x", "x")
        )

    assert loop(0) == "print %n {prefix = 'x'}"
    assert loop(-3) == "print %n {prefix = 'x'}"
    assert loop(1) == "store %p, %n\nprint %n {prefix = 'x'}"
    assert "for" in loop(2)


def test_a_while_that_is_never_entered() -> None:
    body = FALSE + "%x = while %n : i32 before (%a: i32) { store %p, %a condition %e, %a } do (%c: i32) { yield %c }"
    assert simplified(body + use("%x", "x")) == "store %p, %n\nprint %n {prefix = 'x'}"


def test_invariant_code_leaves_loops() -> None:
    body = """
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  for %zero, %n, %one do (%i: i32) {
    for %zero, %i, %one do (%j: i32) {
      %a = mul %n, %n : i32
      %c = mul %i, %n : i32
      %d = add %c, %j : i32
      %v = load %p : i32
      print %a, %d, %v {prefix = 'x'}
      yield
    }
    yield
  }"""
    assert simplified(body) == (
        "%zero = constant {value = 0} : i32\n"
        "%one = constant {value = 1} : i32\n"
        "%a = mul %n, %n : i32\n"
        "for %zero, %n, %one do (%i: i32) {\n"
        "%c = mul %i, %n : i32\n"
        "for %zero, %i, %one do (%j: i32) {\n"
        "%d = add %c, %j : i32\n"
        "%v = load %p : i32\n"
        "print %a, %d, %v {prefix = 'x'}\n"
        "yield\n"
        "}\n"
        "yield\n"
        "}"
    )


def test_unused_results_and_carried_values_disappear() -> None:
    body = """
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %x, %y, %z, %w = for %zero, %n, %one, %n, %n, %n, %n : i32, i32, i32, i32
    do (%i: i32, %a: i32, %c: i32, %d: i32, %e: i32) {
    %a1 = add %a, %c : i32
    %c1 = add %c, %one : i32
    %d1 = add %d, %d : i32
    yield %a1, %c1, %d1, %e
  }
  %v1, %v2 = if %b : i32, i32 then { yield %x, %z } else { yield %n, %one }"""
    assert simplified(body + use("%v1, %w", "x")) == (
        "%zero = constant {value = 0} : i32\n"
        "%one = constant {value = 1} : i32\n"
        "%x = for %zero, %n, %one, %n, %n : i32 do (%i: i32, %a: i32, %c: i32) {\n".replace(
            " : i32 do", " : i32, i32 do"
        ).replace("%x = ", "%x, %y = ")
        + "%a1 = add %a, %c : i32\n"
        "%c1 = add %c, %one : i32\n"
        "yield %a1, %c1\n"
        "}\n"
        "%v1 = if %b : i32 then {\n"
        "yield %x\n"
        "} else {\n"
        "yield %n\n"
        "}\n"
        "print %v1, %n {prefix = 'x'}"
    )


def test_unused_while_values_disappear() -> None:
    body = """
  %x, %y = while %n, %n : i32, i32 before (%a: i32, %c: i32) {
    %m = cmp %a, %n {predicate = 'lt'} : i1
    condition %m, %a, %c
  } do (%d: i32, %e: i32) {
    %g = add %d, %d : i32
    %k = add %e, %e : i32
    yield %g, %k
  }"""
    lines = simplified(body + use("%x", "x"))
    assert "%x = while %n : i32 before (%a: i32) {" in lines
    assert "%k" not in lines


def test_waiting_loops_stay() -> None:
    body = """
  while before {
    %v = load %p : i32
    %m = cmp %v, %n {predicate = 'lt'} : i1
    condition %m
  } do { yield }"""
    assert "while" in simplified(body)


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (TRUE + "%x = load %p, %t, %n {has_mask = True, has_other = True} : i32", "load %p {has_mask = False"),
        (FALSE + "%x = load %p, %e, %n {has_mask = True, has_other = True} : i32", "print %n"),
        (FALSE + "%x = load %p, %e {has_mask = True} : i32", "%x = constant {value = 0} : i32"),
        (TRUE + "store %p, %n, %t {has_mask = True} %x = add %n, %n : i32", "store %p, %n {has_mask = False}"),
        (FALSE + "store %p, %n, %e {has_mask = True} %x = add %n, %n : i32", "%x = add %n, %n : i32"),
        (FALSE + "%x = atomic_rmw %p, %n, %e {kind = 'add', has_mask = True} : i32", "%x = constant {value = 0}"),
        (TRUE + "assert %t {message = 'm'} assume %t %x = add %n, %n : i32", "%x = add %n, %n : i32"),
    ],
)
def test_known_masks_and_checks(access: str, expected: str) -> None:
    assert expected in simplified(access + use("%x", "x")).splitlines()[0]


def test_combine_functions_stay_self_contained() -> None:
    body = (
        ONE
        + """
  %r = arange {start = 0, end = 8} : i32[8]
  %x = reduce %r {axis = 0, kind = 'custom'} : i32 do (%a: i32, %c: i32) {
    %k = constant {value = 1} : i32
    %d = add %a, %c : i32
    %g = add %d, %k : i32
    yield %g
  }"""
    )
    assert "%k = constant {value = 1}" in simplified(body + use("%x, %one", "x"))


def test_the_result_is_a_fixpoint() -> None:
    once = canonicalise.run(kernel("%a = add %n, %n : i32 %c = add %n, %n : i32" + use("%a, %c", "x")))
    assert canonicalise.run(once) is once


@pytest.mark.parametrize("source", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("target", ALL_DTYPES, ids=str)
def test_exact_casts_are_exact(source: DType, target: DType) -> None:
    from tle2cuda.ops.numerics import as_values, convert

    if source.is_floating():
        raw = np.random.default_rng(0).integers(0, 256, 4096 * source.bytes).astype(np.uint8)
        values = raw.view(as_values(0.0, source).dtype)
        with np.errstate(invalid="ignore"):
            values = values[np.isfinite(values.astype(np.float64))]
    elif source.is_bool():
        values = np.array([False, True])
    else:
        low, high = (-(1 << (source.bits - 1)), 1 << (source.bits - 1)) if source.is_int_signed() else (0, 1 << source.bits)
        numbers = [low, low + 1, -1, 0, 1, high // 2 + 1, high - 2, high - 1]
        values = np.array([v for v in numbers if low <= v < high], as_values(0, source).dtype)
    if preserves(source, target):
        there = convert(values, source, target)
        back = convert(there, target, source)
        assert back.astype(np.float64).tolist() == values.astype(np.float64).tolist()


# Random programs.


class _Program:
    """Writes a random kernel: arithmetic on scalars and tiles, branches and loops; every value ends in memory."""

    TYPES = ("i32", "u32", "i8", "i1", "fp32", "i32[4]", "i1[4]", "fp32[4]", "i32[2, 4]")

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []
        self.values: dict[str, list[str]] = {"i32": ["%n"], "fp32": ["%f"], "i1": ["%b"], "u32": ["%u"]}

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str, type_: str) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = {text} : {type_}")
        self.values.setdefault(type_, []).append(name)
        return name

    def get(self, type_: str) -> str:
        known = self.values.get(type_, [])
        if known and self.random.random() < 0.75:
            return self.random.choice(known)
        element, _, rest = type_.partition("[")
        if rest and self.random.random() < 0.5:
            if type_ == "i32[4]" and self.random.random() < 0.5:
                return self.emit("arange {start = 1, end = 5}", type_)
            return self.emit(f"splat {self.get(element)}", type_)
        numbers: dict[str, tuple[Any, ...]] = {
            "i32": (0, 1, -1, 2, 7, 2**31 - 1, -(2**31)),
            "u32": (0, 1, 2**32 - 1, 3),
            "i8": (0, 1, -1, -128, 127),
            "i1": (True, False),
            "fp32": (0.0, -0.0, 1.0, -1.5, float("inf"), 3.0),
        }
        return self.emit(f"constant {{value = {self.random.choice(numbers[element])!r}}}", type_)

    def step(self) -> None:
        type_ = self.random.choice(self.TYPES)
        element = type_.partition("[")[0]
        shape = type_[len(element) :]
        choices = ["cmp", "cast", "select", "shape"]
        if element == "i1":
            choices += ["and", "or", "xor"] * 2
        elif element == "fp32":
            choices += ["add", "sub", "mul", "div", "min", "max", "fma"]
        else:
            choices += ["add", "sub", "mul", "idiv", "rem", "and", "or", "xor", "shl", "shr", "min", "max", "mulhi"]
        name = self.random.choice(choices)
        if name == "cmp":
            source = self.random.choice(["i32", "u32", "fp32"]) + shape
            predicate = self.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
            self.emit(f"cmp {self.get(source)}, {self.get(source)} {{predicate = '{predicate}'}}", f"i1{shape}")
        elif name == "cast":
            source = self.random.choice(["i32", "u32", "i8", "i1", "fp32"]) + shape
            self.emit(f"cast {self.get(source)}", type_)
        elif name == "select":
            self.emit(f"select {self.get(f'i1{shape}')}, {self.get(type_)}, {self.get(type_)}", type_)
        elif name == "shape":
            self.shape()
        else:
            operands = ", ".join(self.get(type_) for _ in range(3 if name == "fma" else 2))
            self.emit(f"{name} {operands}", type_)

    def shape(self) -> None:
        wide = self.emit(f"expand_dims {self.get('i32[4]')} {{axis = 0}}", "i32[1, 4]")
        stretched = self.emit(f"broadcast {wide}", "i32[2, 4]")
        turned = self.emit(f"trans {stretched} {{perm = (1, 0)}}", "i32[4, 2]")
        self.emit(f"reshape {turned}", "i32[2, 4]")
        self.emit(f"reduce {self.get('i32[2, 4]')} {{axis = 0, kind = 'sum'}}", "i32[4]")

    def nested(self, depth: int, ending: str) -> None:
        """Operations of a region: names made inside are forgotten behind it."""
        outer = {type_: list(names) for type_, names in self.values.items()}
        self.steps(depth + 1, 4)
        for word in ending.split():
            if word.startswith("<"):
                ending = ending.replace(word, self.get(word.strip("<>,")), 1)
        self.lines.append(ending)
        self.values = outer

    def branch(self, depth: int) -> None:
        condition, name = self.get("i1"), self.fresh()
        self.lines.append(f"{name} = if {condition} : i32 then {{")
        self.nested(depth, "yield <i32>")
        self.lines.append("} else {")
        self.nested(depth, "yield <i32>")
        self.lines.append("}")
        self.values["i32"].append(name)

    def loop(self, depth: int) -> None:
        zero, one = (self.emit(f"constant {{value = {v}}}", "i32") for v in (0, 1))
        end = self.emit(f"constant {{value = {self.random.choice([-1, 0, 1, 1, 2, 3])}}}", "i32")
        inits = [self.get("i32"), self.get("fp32[4]")]
        names, params = [self.fresh(), self.fresh()], [self.fresh(), self.fresh(), self.fresh()]
        self.lines.append(
            f"{', '.join(names)} = for {zero}, {end}, {one}, {', '.join(inits)} : i32, fp32[4] "
            f"do ({params[0]}: i32, {params[1]}: i32, {params[2]}: fp32[4]) {{"
        )
        outer = {type_: list(known) for type_, known in self.values.items()}
        self.values["i32"] += params[:2]
        self.values.setdefault("fp32[4]", []).append(params[2])
        self.nested(
            depth, f"yield {self.random.choice(['<i32>', params[1]])} , {self.random.choice(['<fp32[4]>', params[2]])}"
        )
        self.values = outer
        self.lines.append("}")
        self.values["i32"].append(names[0])
        self.values.setdefault("fp32[4]", []).append(names[1])

    def steps(self, depth: int, count: int) -> None:
        for _ in range(self.random.randint(1, count)):
            kind = self.random.random()
            if depth < 2 and kind < 0.12:
                self.branch(depth)
            elif depth < 2 and kind < 0.24:
                self.loop(depth)
            elif kind < 0.3:
                value = self.get("i32")
                self.emit(f"atomic_rmw %p, {value} {{kind = 'add'}}", "i32")
            else:
                self.step()

    def kernel(self) -> Kernel:
        self.steps(0, 14)
        outputs = []
        for type_ in self.TYPES:
            for name in self.values.get(type_, [])[-3:]:
                outputs.append(name)
        self.lines.append(f"print {', '.join(outputs)} {{prefix = ''}}")
        return kernel("\n".join(self.lines))


def outcome(k: Kernel, n: int, f: float, b: bool, u: int) -> tuple[Any, str]:
    import io

    text, memory = io.StringIO(), np.zeros(1, np.int32)
    run(k, 2, [memory, n, f, b, u, 0.5, -3], check_types=True, output=text)
    return memory.tolist(), text.getvalue().replace("-nan", "nan")


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), n=st.integers(-(2**31), 2**31 - 1), b=st.booleans())
def test_random_programs_keep_their_meaning(seed: int, n: int, b: bool) -> None:
    before = _Program(seed).kernel()
    after = canonicalise.run(before)
    verify(after)
    assert canonicalise.run(after) is after
    rng = random.Random(seed)
    f = rng.choice([0.0, -0.0, 1.25, float("nan"), float("-inf"), 3e38])
    u = rng.choice([0, 1, 2**32 - 1, 12345])
    assert outcome(after, n, f, b, u) == outcome(before, n, f, b, u)


TILE = (
    "%q = splat %p : *i32[8] %r = arange {start = 0, end = 8} : i32[8] %a = ptr_add %q, %r : *i32[8] "
    "%v = load %a : i32[8]\n"
)
PARTS = [  # a part of the tile %v, and what it becomes
    ("%c = concat %v, %r {axis = 0} : i32[16] %x = extract %c {start = (0,)} : i32[8]", "%v"),
    ("%c = concat %r, %v {axis = 0} : i32[16] %x = extract %c {start = (8,)} : i32[8]", "%v"),
    (
        "%c = extract %v {start = (4,)} : i32[4] %x = extract %c {start = (2,)} : i32[2]",
        "extract %v {start = (6,)} : i32[2]",
    ),
    (
        "%c = concat %v, %r {axis = 0} : i32[16] %x = extract %c {start = (4,)} : i32[4]",
        "extract %v {start = (4,)} : i32[4]",
    ),
    ("%c = flip %v {axis = 0} : i32[8] %x = flip %c {axis = 0} : i32[8]", "%v"),
    (
        "%c = extract %v {start = (0,)} : i32[4] %d = extract %v {start = (4,)} : i32[4] "
        "%x = concat %c, %d {axis = 0} : i32[8]",
        "%v",
    ),
    (
        "%c = extract %v {start = (0,)} : i32[2] %two = constant {value = 2} : i32 %d = insert %r, %c, %two : i32[8] "
        "%x = extract %d {start = (4,)} : i32[2]",
        "extract %v {start = (0,)} : i32[2]",
    ),
    (
        "%c = extract %r {start = (0,)} : i32[2] %two = constant {value = 2} : i32 %d = insert %v, %c, %two : i32[8] "
        "%x = extract %d {start = (0,)} : i32[4]",
        "extract %v {start = (0,)} : i32[4]",
    ),
]


@pytest.mark.parametrize(("body", "becomes"), PARTS)
def test_parts_of_tiles(body: str, becomes: str) -> None:
    text = simplified(TILE + body + use("%x", "x"))
    (printed,) = (line for line in text.splitlines() if line.startswith("print"))
    if becomes.startswith("%"):
        assert printed.startswith(f"print {becomes} ")
    else:
        assert f" = {becomes}" in text
    assert "concat" not in text and "insert" not in text and "flip" not in text

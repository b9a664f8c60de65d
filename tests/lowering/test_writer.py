"""Lines of the emitted file: places, blank lines, comments, bodies that are spliced in."""

from dataclasses import dataclass

import pytest

from tle2cuda.errors import InternalError
from tle2cuda.ir.span import Span
from tle2cuda.lowering import statements
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import LINE_WIDTH, Block, Line, marker, operation, render, source_comment, without_unused


@pytest.fixture
def span_of(tmp_path):
    """Spans of a file that holds the given line."""

    def make(line):
        path = tmp_path / "kernel.py"
        path.write_text(line + "\n", encoding="utf-8")
        return Span(str(path), 1)

    return make


def _text(block):
    return render(block.lines)[0]


def test_relative_indentation_of_added_text():
    block = Block(depth=1)
    block.add("if (a) {\n    b;\n}\n")
    assert _text(block) == "    if (a) {\n        b;\n    }"


def test_blank_lines_never_come_twice_nor_first_nor_behind_a_brace():
    block = Block(depth=0)
    block.blank()
    block.add("a;")
    block.blank()
    block.blank()
    block.add("if (b) {")
    block.blank()
    block.add("    c;\n}")
    assert _text(block) == "a;\n\nif (b) {\n    c;\n}"


def test_comment_has_its_place_at_the_right_margin(span_of):
    for depth in (1, 3):
        comment = source_comment(span_of("    x = tl.load(p)"), depth)
        assert comment.startswith("// x = tl.load(p)  ")
        assert comment.endswith("  kernel.py:1")
        assert 4 * depth + len(comment) == LINE_WIDTH


def test_long_comments_are_cut(span_of):
    comment = source_comment(span_of("total = " + " + ".join(f"value_{i}" for i in range(30))), 2)
    assert 8 + len(comment) == LINE_WIDTH
    assert " ...  kernel.py:1" in comment


def test_long_groups_are_set_off():
    block = Block(depth=0)
    for name in "ab":
        block.add(f"// {name}")
        block.add("one;\ntwo;\nthree;")
    assert _text(block).split("\n")[4:6] == ["", "// b"]


def test_short_groups_stand_together():
    block = Block(depth=0)
    for name in "abc":
        block.add(f"// {name}\n{name};")
    assert "\n\n" not in _text(block)


def test_group_behind_a_barrier_is_set_off():
    block = Block(depth=0)
    block.add("// a\n__syncthreads();\n// b\nb;")
    assert _text(block) == "// a\n__syncthreads();\n\n// b\nb;"


def test_lines_lead_to_places_past_inserted_blanks():
    block, span = Block(depth=0), Span("kernel.py", 7)
    block.add("// a\n__syncthreads();")
    block.add("// b")
    block.add("b;", span)
    text, places, _ = render(block.lines)
    assert [(text.split("\n")[number - 1], place) for number, place in places] == [("b;", span)]


def test_lines_know_the_innermost_operation_they_are_written_for():
    block, inner = Block(depth=0), Block(depth=1)
    block.add("first;")
    with operation("for"):
        with operation("load"):
            inner.add("x;")
        inner.add("y;")
        block.add(f"for {{\n{marker('body')}\n}}", None, {marker("body"): inner})
    text, _, ops = render(block.lines)
    named = [(text.split("\n")[number - 1].strip(), op) for number, op in ops]
    assert named == [("for {", "for"), ("x;", "load"), ("y;", "for"), ("}", "for")]


def test_spliced_bodies_keep_their_places_and_take_the_depth_of_their_line():
    outer, inner = Block(depth=1), Block(depth=5)
    own, user = Span("kernel.py", 1), Span("kernel.py", 2)
    inner.add("x;\n    y;", user)
    outer.add(f"loop {{\n    {marker('body')}\n}}", own, {marker("body"): inner})
    assert [(line.depth, line.text, line.span) for line in outer.lines] == [
        (1, "loop {", own),
        (2, "x;", user),
        (3, "y;", user),
        (1, "}", own),
    ]


@dataclass(frozen=True, slots=True)
class _View:
    condition: str


def test_statement_with_and_without_a_body():
    block, other = Block(depth=0), Block(depth=1)
    then = Block(depth=1)
    then.add("a;")
    other.add("b;")
    write(block, "control.cu.j2", "branch", _View("c"), then=then, other=None)
    write(block, "control.cu.j2", "branch", _View("d"), then=then, other=other)
    assert _text(block) == "if (c) {\n    a;\n}\nif (d) {\n    a;\n} else {\n    b;\n}"


def test_fault_in_a_form_names_template_line_and_place():
    with pytest.raises(InternalError) as caught:
        write(Block(), "control.cu.j2", "while_loop", _View("c"), Span("kernel.py", 7), body=Block())
    assert "control.cu.j2:" in str(caught.value)
    assert "for while_loop" in str(caught.value)
    assert "kernel.py:7" in str(caught.value)


def test_unknown_form():
    with pytest.raises(InternalError, match="no_such_form"):
        write(Block(), "control.cu.j2", "no_such_form", _View("c"))


def test_loop_nests_omit_braces_only_around_single_statements():
    def nest(statement, short):
        block, inner = Block(depth=0), Block(depth=2)
        inner.add(statement)
        statements.loop_nest(block, [("run", 2), ("k", 4)], inner, short=short)
        return _text(block).replace("#pragma unroll\n", "").replace("    #pragma", "#pragma")

    assert "{" not in nest("a;", short=True)
    assert nest("a;\nb;", short=True).count("{") == 1
    assert nest("a;", short=False).count("{") == 2


def test_constants_that_nobody_reads_go_with_what_only_they_read():
    lines = [
        Line(1, "const int first = thread;"),
        Line(1, "for (int k = 0; k < 4; ++k) {"),
        Line(2, "const int index = first + k;  // of its own scope"),
        Line(2, "const unsigned char other = index;"),
        Line(1, "}"),
        Line(1, "const int other = 3;"),
        Line(1, "out[other] = 1;  // not of index"),
    ]
    names = {"first", "index", "other"}
    kept = [line.text for line in without_unused(lines, names)]
    assert kept == [
        "const int first = thread;",
        "for (int k = 0; k < 4; ++k) {",
        "const int index = first + k;  // of its own scope",
        "}",
        "const int other = 3;",
        "out[other] = 1;  // not of index",
    ]
    lines[2] = Line(2, "const int index = first + k;")
    assert [line.text for line in without_unused(lines, names)] == [kept[1], *kept[3:]]
    assert without_unused(lines, {"other"})[0].text == "const int first = thread;"


def test_a_constant_that_an_inner_one_of_the_same_name_hides_is_not_read_there():
    lines = [
        Line(0, "const int row = first;"),
        Line(0, "for (int i = 0; i < 4; ++i) {"),
        Line(1, "const int row = first + i;"),
        Line(1, "total += row;"),
        Line(0, "}"),
    ]
    assert without_unused(lines, {"row"}) == lines[1:]
    assert without_unused([*lines, Line(0, "return row;")], {"row"})[0] == lines[0]

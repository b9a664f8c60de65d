"""How branches and loops read: carried values, swaps, updates in place, early returns."""

import itertools
import re

import tle2cuda
import tle2cuda.language as tl
from tests.lowering.emitted import body, emitted

OUT = "out *i32:16, n i32"
IN_OUT = f"x *i32:16, {OUT}"


@tle2cuda.jit
def accumulate(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.int32)
    for row in range(n):
        acc += tl.load(x + row * N + i)
    tl.store(out + i, acc)


@tle2cuda.jit
def old_value_later(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    total = tl.zeros((N,), tl.int32)
    for _ in range(n):
        following = value * 3
        total += following - value
        value = following
    tl.store(out + i, total)


@tle2cuda.jit
def swap_tiles(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    for _ in range(n):
        a, b = b, a
    tl.store(out + i, a)


@tle2cuda.jit
def swap_scalars(out, n):
    a, b = 1, 2
    for _ in range(n):
        a, b = b, a
    tl.store(out, a * 10 + b)


@tle2cuda.jit
def fibonacci(out, n):
    a, b = 0, 1
    for i in range(n, 0, -2):  # noqa: B007
        a, b = b, a + b
    tl.store(out, a)


@tle2cuda.jit
def stepped(out, n, step):
    for i in range(3, n + 1, step):
        tl.store(out + i, i)


@tle2cuda.jit
def unrolled(out, n):
    for i in tl.range(0, n, loop_unroll_factor=4):
        tl.store(out + i, i)


@tle2cuda.jit
def return_early(x, out, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out + pid, tl.load(x + pid))


@tle2cuda.jit
def store_and_return(x, out, n):
    pid = tl.program_id(0)
    if pid >= n:
        tl.store(out, 1)
        return
    tl.store(out + pid, tl.load(x + pid))


@tle2cuda.jit
def halve(out, n):
    left = n
    while left > 1:
        left = left // 2
    tl.store(out, left)


@tle2cuda.jit
def find(x, out, n):
    i = 0
    while tl.load(x + i) != n:
        i += 1
    tl.store(out, i)


@tle2cuda.jit
def merge(x, out, n):
    if n > 3:
        value = tl.load(x)
    else:
        value = 7
    tl.store(out, value)


@tle2cuda.jit
def merge_tiles(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.zeros((N,), tl.int32)
    if n > 3:
        value = tl.load(x + i) * 2
    tl.store(out + i, value)


@tle2cuda.jit
def only_else(x, out, n):
    if n > 3:
        pass
    else:
        tl.store(out, 1)
    tl.store(out + 1, 2)


@tle2cuda.jit
def empty_branch(out, n):
    if n > 3:
        pass
    tl.store(out, n)


@tle2cuda.jit
def nested(x, out, n):
    for i in range(n):
        if tl.load(x + i) > 0:
            for j in range(i):
                tl.store(out + j, i)


def test_accumulator_is_updated_in_place():
    text = body(accumulate, IN_OUT, N=1024)
    assert re.findall(r"Vector<int, 4> (\w+)\[2\];", text) == ["acc"]
    assert "acc[run][k] += x_value[k];" in text


def test_no_update_in_place_where_the_old_value_is_read_later():
    text = body(old_value_later, IN_OUT, N=512)
    assert text.count("Vector<int, 4> following") == 1
    assert text.index("following[k] - value_2[k]") < text.index("value_2[k] = following[k]")


def test_swap_of_tiles_goes_through_one_copy():
    text = body(swap_tiles, f"x *i32:16, y *i32:16, {OUT}", N=512)
    assert text[text.index("for (int step") :].count("_next;") == 1
    moves = re.findall(r"^(\w+)\[k\] = (\w+)\[k\];$", text, re.MULTILINE)[-3:]
    assert moves == [("b_2_next", "a_2"), ("a_2", "b_2"), ("b_2", "b_2_next")]


def test_swap_of_scalars_goes_through_one_copy():
    text = body(swap_scalars, OUT)
    assert "const int b_next = a;\na = b;\nb = b_next;" in text


def test_loop_that_counts_down_by_steps():
    text = body(fibonacci, OUT)
    assert "for (int i = n; i > 0; i -= 2) {" in text
    assert "const int b_next = a + b;\na = b;\nb = b_next;" in text


def test_loop_with_a_step_of_the_users():
    assert "for (int i = 3; i < n + 1; i += step) {" in body(stepped, "out *i32:16, n i32, step i32")


def test_unroll_factor_is_passed_on():
    assert "#pragma unroll 4\nfor (int i = 0; i < n; ++i) {" in body(unrolled, OUT)


def test_early_return_is_one_line_when_it_does_nothing_else():
    text = body(return_early, IN_OUT)
    assert "if (pid >= n) return;\nconst int x_value" in text
    assert "else" not in text


@tle2cuda.jit
def wait_until_set(flag, out):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(out, 1)


@tle2cuda.jit
def wait_below(x, out, limit):
    i = 0
    while tl.load(x + i, volatile=True) < limit:
        i += 1
    tl.store(out, i)


@tle2cuda.jit
def repeat(x, out, n):
    total = 0
    for _ in range(n):
        for _ in range(n):
            total += tl.load(x)
            tl.debug_barrier()
    tl.store(out, total)


@tle2cuda.jit
def lock_in_turns(lock, out, n):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")
    before = tl.atomic_add(out + 1, 1)
    tl.atomic_add(out + 2, before)


def test_integer_conditions_are_negated_by_their_comparison():
    assert "if (flag_value != 0) break;" in body(wait_until_set, "flag *i32:16, out *i32:16")
    assert "if (x_value >= limit) break;" in body(wait_below, "x *i32:16, out *i32:16, limit i32")


def test_a_comparison_of_floats_that_nan_fails_keeps_its_form():
    assert "if (!(x_value < limit)) break;" in body(wait_below, "x *fp32:16, out *i32:16, limit fp32")
    assert "if (flag_value != 0.0f) break;" in body(wait_until_set, "flag *fp32:16, out *i32:16")


def test_the_line_of_a_loop_is_shown_once():
    source = emitted(wait_until_set, "flag *i32:16, out *i32:16").source
    assert source.count("// while tl.load(flag, volatile=True) == 0:") == 1
    source = emitted(lock_in_turns, "lock *i32:16, out *i32:16, n i32").source
    assert source.count("// while tl.atomic_cas(lock, 0, 1) == 1:") == 1


def test_counters_without_a_name_are_steps():
    text = body(repeat, IN_OUT)
    assert "for (int step = 0; step < n; ++step) {" in text
    assert "for (int step_2 = 0; step_2 < n; ++step_2) {" in text


def test_no_two_barriers_in_a_row_for_a_release():
    source = emitted(lock_in_turns, "lock *i32:16, out *i32:16, n i32").source
    statements = [line.strip() for line in source.splitlines() if line.strip() and not line.strip().startswith("//")]
    barriers = [line.startswith("__syncthreads();") for line in statements]
    assert not any(a and b for a, b in itertools.pairwise(barriers))
    release = "all writes come before the release"
    assert f"before the stores to it; {release}" in source  # the pass's barrier serves both
    assert f"__syncthreads();  // {release}" in source  # so does the user's
    assert source.count("// acquire: ") == 2  # not where nobody looks at the old value


def test_early_return_behind_statements():
    assert "if (pid >= n) {\nif (thread == 0) *out = 1;\nreturn;\n}\n" in body(store_and_return, IN_OUT)


def test_while_with_a_plain_condition():
    assert "while (left > 1) {\nleft = left / 2;\n}" in body(halve, OUT)


def test_while_whose_condition_needs_statements():
    text = body(find, IN_OUT)
    assert re.search(r"while \(true\) \{\nconst int x_value = x\[i\];\nif \(.*\) break;\n.*\n\}", text)
    assert "i += 1;" in text


def test_results_of_a_branch_are_variables_in_front_of_it():
    text = body(merge, IN_OUT)
    assert text.index("int value;") < text.index("if (n > 3) {")
    assert "} else {\nvalue = 7;\n}" in text


def test_arm_writes_the_merged_tile_directly():
    text = body(merge_tiles, IN_OUT, N=512)
    assert re.search(r"value(_\d)?\[k\] = x_value\[k\] \* 2;", text)


def test_branch_with_only_an_else_is_turned_round():
    text = body(only_else, IN_OUT)
    assert "else" not in text
    assert "if (n <= 3) {" in text


def test_branch_that_does_nothing_leaves_no_text():
    assert "if (n" not in body(empty_branch, OUT)


def test_lines_of_nested_bodies_keep_their_depth_and_place():
    kernel = emitted(nested, IN_OUT)
    rows = kernel.source.splitlines()
    number = next(i for i, row in enumerate(rows, 1) if "out[j] = i" in row)
    assert rows[number - 1].startswith(" " * 16)
    places = dict(kernel.line_map)
    assert "tl.store(out + j, i)" in places[number].source_line()
    loops = [i for i, row in enumerate(rows, 1) if row.strip().startswith("for (int j")]
    assert "for j in range(i):" in places[loops[0]].source_line()


@tle2cuda.jit
def carried_together(x, out, n):
    at = (0, 1)
    for i in range(n):
        first = at[0] + tl.load(x + i)
        at = (first % 7, at[1] + at[0])
        at = (at[0] ^ 3, at[1])
    tl.store(out, at[0] + at[1])


def test_parts_of_a_tuple_are_called_after_it():
    text = body(carried_together, IN_OUT)
    assert "int at_0 = 0;\nint at_1 = 1;" in text
    assert "const int at_0_2 = first % 7;\nat_1 += at_0;\nat_0 = at_0_2 ^ 3;\n" in text

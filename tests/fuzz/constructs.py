"""What random kernels use of Python and of functions: tuples, early returns, user functions in reductions and maps.

All of it is exact: functions that combine are associative and commutative, and integers wrap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.generate import Writer

FUNCTIONS = """\
@{jit}
def larger(a, b):
    return tl.maximum(a, b)


@{jit}
def farther(a, i, b, j):
    first = (a > b) or ((a == b) and (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@{jit}
def mixed(a, b):
    return a ^ b


@{jit}
def both(a, p, b, q):
    return a + b, tl.minimum(p, q)


@{jit}
def stepped(a, b):
    if a > b:
        if a & 1:
            return a - b
        return b - (a >> 1)
    total = a
    for k in range(3):
        total += b ^ k
    return total


@{jit}
def counted(a, b):
    left = a & 7
    while left > 0:
        b += left
        left -= 1
    return b, a | left


@{jit}
def neighbours(a, b):
    return tl.minimum(a, b), tl.maximum(a, b)


@{jit}
def chosen(a, b, MODE: tl.constexpr):
    if MODE == 0:
        return a, b
    elif MODE == 1:
        return b, a
    return a + b, a - b


@{jit}
def nested(pair, c):
    a, (b, d) = pair
    if c > 3:
        return (a + d, b)
    return (b, a ^ d)


"""


def tuples(w: Writer, depth: int) -> None:
    """Tuples made, taken apart, swapped, handed to functions and carried by loops."""
    shape = w.pick("", "N", "MN")
    a, b = (w.variable(w.new(), w.pick("int32", "int64"), shape) for _ in range(2))
    b.dtype = a.dtype
    values = [f"{w.full('int', shape)}.to(tl.{a.dtype})" for _ in range(2)]
    kind = w.choose.randrange(6)
    if kind == 0:
        w.line(depth, f"{a.name}, {b.name} = {', '.join(values)}")
        w.line(depth, f"{a.name}, {b.name} = {b.name}, {a.name}")
    elif kind == 1:
        pair = w.new("t")
        w.line(depth, f"{pair} = ({', '.join(values)})")
        w.line(depth, f"{a.name}, {b.name} = {pair}[1], {pair}[0] + {pair}[-1]")
    elif kind == 2:
        w.line(depth, f"{a.name}, {b.name} = chosen({', '.join(values)}, {w.choose.randrange(3)})")
    elif kind == 3:
        third = f"{w.full('int', shape)}.to(tl.{a.dtype})"
        w.line(depth, f"{a.name}, {b.name} = nested(({values[0]}, ({values[1]}, {third})), {w.solid('', 2)})")
    elif kind == 4:
        pair, k = w.new("t"), w.new("i")
        w.line(depth, f"{pair} = ({', '.join(values)})")
        w.line(depth, f"for {k} in {w.pick('range(n & 3)', 'tl.static_range(2)', 'range(3)')}:")
        w.line(depth + 1, f"{pair} = ({pair}[1], {pair}[0] + {k})")
        w.line(depth, f"{a.name}, {b.name} = {pair}")
    else:
        total, one = w.new("t"), w.new("e")
        w.line(depth, f"{total} = {values[0]}")
        w.line(depth, f"for {one} in tl.static_range(3):")
        w.line(depth + 1, f"{total} = {total} * 3 + [{values[1]}, {total}, {one}][{one}]")
        w.line(depth, f"{a.name} = {total}")
        w.line(depth, f"{b.name} = {total} if n > 9 else -{total}")
    w.names += [a, b]


def combined(w: Writer, depth: int) -> None:
    """Reductions and scans by functions of the user's, of one tile or two."""
    shape = w.pick("N", "MN")
    axis = 0 if shape == "N" else w.choose.randrange(2)
    dtype = w.pick("int32", "int64", "uint32")
    first = f"{w.full('int', shape)}.to(tl.{dtype})"
    place = {"N": "col", "MN": "at"}[shape]
    a, b = w.variable(w.new(), dtype, shape), w.variable(w.new(), "int32", shape)
    kind = w.choose.randrange(4)
    reverse = w.pick("", ", reverse=True")
    if kind == 0:
        w.line(depth, f"{a.name} = tl.associative_scan({first}, {axis}, {w.pick('mixed', 'larger')}{reverse})")
        w.names.append(a)
        return
    function = w.pick("farther", "both")
    if kind == 1:
        w.line(depth, f"{a.name}, {b.name} = tl.associative_scan(({first}, {place}), {axis}, {function}{reverse})")
        w.names += [a, b]
        return
    a.shape = b.shape = {("N", 0): "", ("MN", 0): "N"}.get((shape, axis), "")
    if shape == "MN" and axis == 1:  # of rows, which other tiles do not have
        w.line(depth, f"{a.name}, {b.name} = tl.reduce(({first}, {place}), 1, {function})")
        w.line(depth, f"{a.name} = tl.reduce({a.name}, 0, mixed)")
        w.line(depth, f"{b.name} = tl.sum({b.name}, 0)")
    elif kind == 2:
        w.line(depth, f"{a.name}, {b.name} = tl.reduce(({first}, {place}), {axis}, {function})")
    else:
        w.line(depth, f"{a.name} = tl.reduce({first}, {axis}, {w.pick('mixed', 'larger')})")
        w.names.append(a)
        return
    w.names += [a, b]


def mapped(w: Writer, depth: int) -> None:
    """Functions that branch on their elements, applied to each of them."""
    shape = w.pick("N", "MN")
    a, b = (w.variable(w.new(), "int32", shape) for _ in range(2))
    values = [f"{w.full('int', shape)}.to(tl.int32)" for _ in range(2)]
    kind = w.choose.randrange(4)
    if kind == 0:
        w.line(depth, f"{a.name} = tl.map_elementwise(stepped, {', '.join(values)})")
    elif kind == 1:
        w.line(depth, f"{a.name}, {b.name} = tl.map_elementwise(counted, {', '.join(values)})")
        w.names.append(b)
    elif kind == 2:
        w.line(depth, f"{a.name} = tl.map_elementwise(stepped, {values[0]}, {w.solid('', 2)}.to(tl.int32))")
    else:
        w.line(depth, f"{a.name} = tl.map_elementwise(neighbours, {values[0]}, pack=2)")
    w.names.append(a)


def scratch(w: Writer, depth: int) -> None:
    """Global memory of the program's own, written and read by different threads between barriers."""
    if depth > 1:
        w.change(depth)
        return
    variable = w.variable(w.new(), "int32", "N")
    w.line(depth, "tl.debug_barrier()")
    places = w.pick("col", "(N - 1 - col)", "(col ^ (s & (N - 1)))")
    mask = f", mask={w.condition_solid('N', 1)}" if w.chance(0.3) else ""
    w.line(depth, f"tl.store(scratch + pid * N + {places}, {w.full('int', 'N')}.to(tl.int32){mask})")
    if w.chance(0.3):
        w.line(depth, "tl.debug_barrier()")
        w.line(
            depth, f"tl.store(scratch + pid * N + ({w.solid('', 2)}.to(tl.int32) & (N - 1)), {w.solid('', 2)}.to(tl.int32))"
        )
    w.line(depth, "tl.debug_barrier()")
    index = f"{w.solid('N', 1)}.to(tl.int32) & (N - 1)"
    w.line(depth, f"{variable.name} = tl.load(scratch + pid * N + ({index}))")
    w.names.append(variable)


def written(w: Writer, depth: int) -> None:
    """A tile stored through a block pointer or a descriptor."""
    if depth > 1 or w.slots["int"] >= w.most_slots:
        w.change(depth)
        return
    base = f"out_int + {w.slots['int']} * {w.grid} * M * N"
    w.slots["int"] += 1
    value = f"{w.full('int', 'MN')}.to(tl.int64)"
    rows = f"{w.grid} * M"
    if w.language == "3.6" and w.chance(0.5):
        limit = w.pick("N", "N", "tl.minimum(n, N)")
        pointer = (
            f"tl.make_block_ptr({base}, ({rows}, {limit}), (N, 1), (pid * M, {w.pick('0', '0', '1')}), (M, N), (1, 0))"
        )
        w.line(depth, f"tl.store({pointer}, {value}, boundary_check=(0, 1))")
        return
    made = w.new("d")
    w.line(depth, f"{made} = tl.make_tensor_descriptor({base}, [{rows}, N], [N, 1], [M, N])")
    name = w.pick("store", "store", "atomic_add", "atomic_max")
    w.line(depth, f"{made}.{name}([pid * M, 0], {value})")


def narrow(w: Writer, depth: int) -> None:
    """Numbers of eight bits from memory, and what becomes of them."""
    variable = w.variable(w.new(), "float32", w.pick("N", "MN"))
    kind = w.pick("float8_e4m3fn", "float8_e5m2")
    index = f"({w.solid(variable.shape, 1)}.to(tl.int32) & 1023)"
    w.line(depth, f"{variable.name} = tl.load(p_{kind} + {index}).to(tl.float32)")
    if w.chance(0.4):
        w.line(depth, f"{variable.name} = ({variable.name} * 0.5).to(tl.{w.pick('float8e4nv', 'float8e5')}).to(tl.float32)")
    w.names.append(variable)


def leaving(w: Writer, depth: int) -> None:
    """The program ends here, under a condition."""
    if depth > 1 or w.mode != "plain" or w.slots["int"] >= w.most_slots:
        w.change(depth)
        return
    w.line(depth, f"if {w.condition('', 1)}:")
    w.line(depth + 1, f"tl.store(out_int + {w.slots['int']} * {w.grid} * M * N + pid * M * N, {w.solid('', 2)})")
    w.slots["int"] += 1
    w.line(depth + 1, "return")


def newer(w: Writer, depth: int) -> None:
    """What Triton 3.9 has beyond 3.6."""
    kind = w.choose.randrange(4)
    variable = w.variable(w.new(), "int32", "N")
    if kind == 0:
        w.line(depth, f"if {w.choose.randrange(5)} < {w.solid('', 2)} <= {w.choose.randrange(5, 60)}:")
        w.block(depth + 1, 1)
        return
    if kind == 1:
        name = w.new("y")
        w.line(depth, f"{variable.name} = ({name} := {w.full('int', 'N')}.to(tl.int32)) + {name}")
    elif kind == 2:
        parts = ", ".join(f"{w.full('int', 'N')}.to(tl.int32)" for _ in range(w.choose.randint(1, 3)))
        w.line(depth, f"{variable.name} = added({parts})")
    else:
        count = w.choose.randint(2, 4)
        w.line(depth, f"{variable.name} = added(*[col + k for k in tl.static_range({count}) if k != 1])")
    w.names.append(variable)


NEWER_FUNCTIONS = """\
@{jit}
def added(*parts):
    total = parts[0]
    for k in tl.static_range(1, len(parts)):
        total += parts[k] * (k + 1)
    return total


"""

STATEMENTS = (tuples, tuples, combined, mapped, scratch, written, narrow, leaving)

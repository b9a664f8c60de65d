"""What random kernels use beside plain arithmetic: products, random numbers, libdevice, block pointers, descriptors.

Each function writes a statement or gives an expression, all of them exact: products have small integers as operands, and of
libdevice only what rounds correctly is taken where the value may decide something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.generate import Writer

LEAST_K = {"int8": 32, "float16": 16, "bfloat16": 16, "float32": 16, "float64": 16}
ROWS = "(1024 // N)"  # of an input, as a matrix with rows as long as those of the tiles


def random_word(w: Writer, shape: str, depth: int) -> str:
    """A word of Triton's random bits."""
    seed = w.pick("s", "n", "7", "(s + 11)")
    rounds = w.pick("", "", ", n_rounds=6")
    call = f"tl.randint({seed}, {w.solid(shape, depth)}.to(tl.{w.pick('int32', 'uint32', 'int64')}){rounds})"
    if w.chance(0.3):
        call = f"tl.randint4x({seed}, {w.solid(shape, depth)}.to(tl.int32){rounds})[{w.choose.randrange(4)}]"
    return f"{call}.to(tl.{w.pick('int32', 'uint32', 'int64')})"


def random_float(w: Writer, shape: str, depth: int) -> str:
    """A random number in [0, 1)."""
    return f"tl.rand({w.pick('s', 'n')}, {w.solid(shape, depth)}.to(tl.int32))"


def bits(w: Writer, shape: str, depth: int) -> str:
    """Functions of libdevice on integers."""
    a, b = (f"{w.solid(shape, depth)}.to(tl.int32)" for _ in range(2))
    name = w.pick("popc", "clz", "brev", "ffs", "mulhi", "hadd", "rhadd", "abs")
    if name in ("mulhi", "hadd", "rhadd"):
        return f"libdevice.{name}({a}, {b})"
    wide = f"{w.solid(shape, depth)}.to(tl.int64)" if w.chance(0.3) else a
    return f"libdevice.{name}({wide}).to(tl.int32)"


def exact_float(w: Writer, shape: str, depth: int) -> str:
    """Functions of libdevice that round correctly."""
    value = f"{w.floating_solid(shape, depth)}.to(tl.{w.pick('float32', 'float64')})"
    name = w.pick("rint", "trunc", "floor", "ceil", "round", "nearbyint", "copysign", "add_rn", "mul_rn", "saturatef")
    if name in ("copysign", "add_rn", "mul_rn"):
        other = f"{w.floating_solid(shape, depth)}.to(tl.float32)"
        return f"libdevice.{name}({value}.to(tl.float32), {other})"
    if name == "saturatef":
        return f"libdevice.saturatef({value}.to(tl.float32))"
    return f"libdevice.{name}({value})"


def product(w: Writer, depth: int) -> None:
    """A product of tiles of small integers, with or without an accumulator."""
    fitting = [dtype for dtype, least in LEAST_K.items() if least <= w.N]
    if not fitting or depth > 2:
        w.change(depth)
        return
    dtype = w.pick(*fitting)
    summed = {"int8": "int32", "float64": "float64"}.get(dtype, "float32")
    left = f"({w.full('int', 'MN')}.to(tl.int32) & 7).to(tl.{dtype})"
    turned = w.chance(0.4)
    mixed = w.pick("(col[:, None] ^ col[None, :])", "(col[:, None] * 3 + col[None, :])")
    right = f"(({mixed} + {w.pick('s', 'pid', '0')}) & 7).to(tl.{dtype})"
    right = f"tl.trans({right})" if turned else right
    variable = w.variable(w.new(), summed, "MN")
    given = {"float32": ', input_precision="ieee"'}.get(dtype, "")
    given += f", out_dtype=tl.{summed}" if summed != "float32" else ""
    start = ""
    if w.chance(0.4):
        start = f", ({w.full('int', 'MN')}.to(tl.int32) & 1023).to(tl.{summed})"
    w.line(depth, f"{variable.name} = tl.dot({left}, {right}{start}{given})")
    w.names.append(variable)


def block_pointer(w: Writer, depth: int) -> None:
    """A tile through a block pointer, partly outside of the matrix."""
    if w.language == "3.9":  # which has none
        descriptor(w, depth)
        return
    dtype = w.pick("int32", "int64", "uint8", "int16", "float32")
    variable = w.variable(w.new(), dtype, "MN")
    pointer = w.new("q")
    offsets = [f"({w.solid('', 2)} & 15).to(tl.int32) - {w.choose.randrange(6)}", w.pick("0", "0", "-1", "3")]
    shape = f"({ROWS}, {w.pick('N', 'N', 'n')})" if w.chance(0.5) else f"({ROWS}, N)"
    if "n)" in shape:
        shape = f"({ROWS}, tl.minimum(n, N))"
    options = ", boundary_check=(0, 1)" + w.pick("", ', padding_option="zero"')
    w.line(
        depth,
        f"{pointer} = tl.make_block_ptr(p_{dtype}, {shape}, (N, 1), ({', '.join(offsets)}), (M, N), (1, 0))",
    )
    if w.chance(0.5):
        moved = f"({w.choose.randrange(-2, 5)}, {w.choose.randrange(-2, 3)})"
        w.line(depth, f"{pointer} = tl.advance({pointer}, {moved})")
    w.line(depth, f"{variable.name} = tl.load({pointer}{options})")
    w.names.append(variable)


def descriptor(w: Writer, depth: int) -> None:
    """A tile through a tensor descriptor."""
    if w.N < 16:
        w.change(depth)
        return
    dtype = w.pick("int32", "int64", "uint8", "int8", "float32")
    variable = w.variable(w.new(), dtype, "MN")
    made = w.new("d")
    w.line(depth, f"{made} = tl.make_tensor_descriptor(p_{dtype}, [{ROWS}, N], [N, 1], [M, N])")
    row = f"({w.solid('', 2)} & 15).to(tl.int32) - {w.choose.randrange(6)}"
    w.line(depth, f"{variable.name} = {made}.load([{row}, {w.pick('0', '0', '16', '-16')}])")
    w.names.append(variable)

"""Random kernels as Python source: valid, and free of what the language leaves undefined.

What could be undefined is avoided by how expressions are built: divisors are 1 to 8, shift amounts below the narrowest
width, indices masked into their arrays, floats clamped before they become integers. Floats that decide anything are made
by operations that round correctly; approximate ones only reach an output that is compared with a tolerance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import tle2cuda.language as tl
from tests.fuzz import constructs, families, together
from tle2cuda.errors import NotSupported

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = INTS[:4]
UNSIGNED = INTS[4:]
FLOATS = ("float16", "bfloat16", "float32", "float64")
NARROW = ("float8e4nv", "float8e5")
INPUTS = ("int8", "int16", "int32", "int64", "uint8", "uint32", "float16", "bfloat16", "float32")
INPUT_SIZE = 1024  # elements of each input, a power of two
ACCUMULATORS = 64  # elements of the array that atomics update
SLOTS = 12  # outputs of each kind
GRID = 2


def _works(name: str) -> bool:
    try:
        getattr(tl, name)()
    except NotSupported:
        return False
    except TypeError:  # called without its arguments
        return True
    return True


WORKS = frozenset(name for name in ("gather", "sort") if _works(name))
"""Functions that programs use as soon as the front end has them."""

EIGHT_BITS = ("float8_e4m3fn", "float8_e5m2")  # inputs that are only loaded
ARRAYS = (*(f"p_{name}" for name in (*INPUTS, *EIGHT_BITS)), "out_int", "out_float", "out_near", "acc", "scratch")
PARAMETERS = (*ARRAYS, "n", "s", "alpha")

HEADER = """\
import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle
from tle2cuda.language.extra import libdevice


"""


@dataclass
class Variable:
    """A name of the program: its dtype, or ``bool``, and its shape: ``""``, ``"N"`` or ``"MN"``."""

    name: str
    dtype: str
    shape: str


@dataclass
class Writer:
    """Writes one kernel.

    Attributes:
        choose: Source of all choices.
        lines: What is written.
        names: Variables that are in scope.
        M: Rows of the larger tiles.
        N: Columns, and length of the smaller ones.
        front: Lines of functions that stand before the kernel.
        mode: ``plain``, ``cluster``, ``roles`` for a kernel with partitions, ``role`` for a function of one.
        has_roles: The kernel has its partitions already.
        language: Level of the language that it is written in.
    """

    choose: random.Random
    M: int
    N: int
    lines: list[str] = field(default_factory=list)
    names: list[Variable] = field(default_factory=list)
    helpers: list[tuple[str, str, int]] = field(default_factory=list)
    fresh: int = 0
    slots: dict[str, int] = field(default_factory=lambda: {"int": 0, "float": 0, "near": 0})
    front: list[str] = field(default_factory=list)
    mode: str = "plain"
    has_roles: bool = False

    language: str = "3.6"

    parameters = PARAMETERS
    most_slots = SLOTS
    grid = GRID

    # -- small pieces --

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def pick(self, *options: str) -> str:
        return self.choose.choice(options)

    @staticmethod
    def variable(name: str, dtype: str, shape: str) -> Variable:
        return Variable(name, dtype, shape)

    def new(self, prefix: str = "v") -> str:
        self.fresh += 1
        return f"{prefix}{self.fresh}"

    def chance(self, share: float) -> bool:
        return self.choose.random() < share

    def known(self, kind: str, shape: str) -> list[Variable]:
        """Variables of a kind (``int``, ``float`` or ``bool``) and shape."""

        def fits(v: Variable) -> bool:
            own = "bool" if v.dtype == "bool" else "int" if v.dtype in INTS else "float"
            return own == kind and v.shape == shape

        return [v for v in self.names if fits(v)]

    def smaller(self, kind: str, shape: str, depth: int) -> str | None:
        """A value of a smaller shape that broadcasts to `shape`."""
        if shape == "MN":
            which = self.choose.randrange(3)
            if which == 0:
                return f"{self.wrapped(self.expression(kind, 'N', depth + 1))}[None, :]"
            if which == 1 and kind == "int":
                return f"{self.reduced_rows(depth + 1)}[:, None]"
        return self.expression(kind, "", depth + 1) if shape else None

    def wrapped(self, text: str) -> str:
        return text if text.isidentifier() else f"({text})"

    # -- expressions --

    def expression(self, kind: str, shape: str, depth: int = 0) -> str:
        """An expression of a kind whose value has the shape, or broadcasts to it."""
        if kind == "bool":
            return self.condition(shape, depth)
        return self.integer(shape, depth) if kind == "int" else self.floating(shape, depth)

    def full(self, kind: str, shape: str, depth: int = 0) -> str:
        """An expression that has the shape itself."""
        text = self.expression(kind, shape, depth)
        if not shape:  # something of the run time in it: constants have no methods
            return {"int": f"({self.wrapped(text)} + (pid & 0))", "float": f"({self.wrapped(text)} + alpha * 0.0)"}.get(
                kind, text
            )
        zero = {"N": "col", "MN": "at"}[shape]
        if kind == "bool":
            return f"({self.wrapped(text)} & ({zero} >= 0))"
        return (
            f"({self.wrapped(text)} + ({zero} & 0).to(tl.int8))"
            if kind == "int"
            else f"({self.wrapped(text)} + {zero} * 0.0)"
        )

    def leaf(self, kind: str, shape: str) -> str:
        variables = self.known(kind, shape)
        if variables and self.chance(0.8):
            return self.choose.choice(variables).name
        if kind == "bool":
            return {"": "(s > 3)", "N": "(col < n)", "MN": "(at > row + s)"}[shape]
        if kind == "int":
            # A constant must fit into the dtype of the tile that it meets, which may have 8 bits with a sign.
            sizes = [name for name in ("M", "N") if getattr(self, name) < 128]
            return {"": self.pick("n", "s", "pid", *sizes), "N": "col", "MN": self.pick("at", "row", "col[None, :]")}[shape]
        return {"": "alpha", "N": "(col * 0.5)", "MN": "(at * 0.25)"}[shape]

    def integer(self, shape: str, depth: int) -> str:
        if depth > 3 or self.chance(0.15):
            return self.leaf("int", shape)
        kind = self.choose.randrange(27)
        if kind == 24:
            return families.random_word(self, shape, depth)
        if kind == 25:
            return families.bits(self, shape, depth)
        if kind < 6:
            right = str(self.choose.randrange(100)) if self.chance(0.3) else self.integer(shape, depth + 1)
            return f"({self.solid(shape, depth)} {self.pick('+', '-', '*')} {right})"
        if kind < 9:
            return f"({self.solid(shape, depth)} {self.pick('&', '|', '^')} {self.integer(shape, depth + 1)})"
        if kind == 9:
            return f"({self.solid(shape, depth)} {self.pick('<<', '>>')} (({self.solid(shape, depth)} & 7)))"
        if kind in (10, 23):
            dtype = self.pick(*INTS)
            left, right = (f"{self.solid(shape, depth)}.to(tl.{dtype})" for _ in range(2))
            return f"({left} {self.pick('//', '%')} (({right} & 7) + 1))"
        if kind == 11:
            return f"({self.pick('-', '~')}{self.solid(shape, depth)})"
        if kind == 12:
            parts = self.condition(shape, depth + 1), self.integer(shape, depth + 1), self.solid(shape, depth)
            return f"tl.where({', '.join(parts)})"
        if kind == 13:
            left, right = self.solid(shape, depth), self.integer(shape, depth + 1)
            return f"{self.pick('tl.minimum', 'tl.maximum', 'min', 'max')}({left}, {right})"
        if kind == 14:
            return f"{self.solid(shape, depth)}.to(tl.{self.pick(*INTS)})"
        if kind == 15:
            return self.load(self.pick(*(name for name in INPUTS if name in INTS)), shape, depth)
        if kind == 16:
            low = self.pick("-100.0", "-3.5", "0.0")
            clamped = f"tl.minimum(tl.maximum({self.floating_solid(shape, depth)}, {low}), 100.0)"
            return f"{clamped}.to(tl.{self.pick(*(SIGNED if low != '0.0' else INTS))})"
        if kind == 17:
            return f"{self.condition_solid(shape, depth)}.to(tl.{self.pick(*INTS)})"
        if kind == 18:
            return f"tl.abs({self.solid(shape, depth)})"
        if kind == 19 and self.helpers:
            return self.call_helper("int", shape, depth)
        if kind == 20 and shape:
            return self.moved("int", shape, depth)
        if kind == 21:
            return self.reduction(shape, depth)
        if kind == 22:
            smaller = self.smaller("int", shape, depth)
            if smaller is not None:
                return f"({self.solid(shape, depth)} + {smaller})"
        return self.leaf("int", shape)

    def solid(self, shape: str, depth: int) -> str:
        """An integer that is a run-time value: constants would follow Python's rules, and have no methods."""
        variables = self.known("int", shape)
        if variables and self.chance(0.6):
            return self.choose.choice(variables).name
        base = {"": self.pick("s", "pid"), "N": "col", "MN": self.pick("at", "at")}[shape]
        if depth > 2 or self.chance(0.3):
            return base
        return f"({self.integer(shape, depth + 1)} + {base})"

    def floating(self, shape: str, depth: int) -> str:
        if depth > 3 or self.chance(0.15):
            return self.leaf("float", shape)
        kind = self.choose.randrange(18)
        if kind == 16:
            return families.random_float(self, shape, depth)
        if kind == 17:
            return families.exact_float(self, shape, depth)
        if kind < 6:
            right = self.pick("0.5", "2.0", "-1.25", "3") if self.chance(0.3) else self.floating(shape, depth + 1)
            return f"({self.floating_solid(shape, depth)} {self.pick('+', '-', '*')} {right})"
        if kind == 6:
            parts = self.condition(shape, depth + 1), self.floating(shape, depth + 1), self.floating_solid(shape, depth)
            return f"tl.where({', '.join(parts)})"
        if kind == 7:
            extra = ", propagate_nan=tl.PropagateNan.ALL" if self.chance(0.2) else ""
            name = self.pick("tl.minimum", "tl.maximum")
            return f"{name}({self.floating_solid(shape, depth)}, {self.floating(shape, depth + 1)}{extra})"
        if kind == 8:
            return f"{self.floating_solid(shape, depth)}.to(tl.{self.pick(*FLOATS)})"
        if kind == 9:
            return f"{self.solid(shape, depth)}.to(tl.{self.pick(*FLOATS)})"
        if kind == 10:
            return self.load(self.pick(*(name for name in INPUTS if name in FLOATS)), shape, depth)
        if kind == 11:
            value = f"{self.floating_solid(shape, depth)}.to(tl.float32)"
            return f"{value}.to(tl.{self.pick(*NARROW)}).to(tl.{self.pick('float32', 'float16')})"
        if kind == 12:
            return f"{self.pick('tl.abs', '-')}({self.floating_solid(shape, depth)})"
        if kind == 13 and shape:
            return self.moved("float", shape, depth)
        if kind == 14:
            value = f"{self.floating_solid(shape, depth)}.to(tl.float32)"
            return f"{self.pick('tl.floor', 'tl.ceil', 'tl.sqrt_rn')}({value})"
        return f"({self.integer(shape, depth + 1)} * {self.floating_solid(shape, depth)})"

    def floating_solid(self, shape: str, depth: int) -> str:
        variables = self.known("float", shape)
        if variables and self.chance(0.7):
            return self.choose.choice(variables).name
        base = {"": "alpha", "N": "(col * 0.5)", "MN": "(at * 0.25)"}[shape]
        if depth > 2 or self.chance(0.3):
            return base
        return f"({self.floating(shape, depth + 1)} + {base})"

    def condition(self, shape: str, depth: int) -> str:
        if depth > 3 or self.chance(0.15):
            return self.leaf("bool", shape)
        kind = self.choose.randrange(8)
        symbol = self.pick("<", "<=", ">", ">=", "==", "!=")
        if kind < 3:
            right = str(self.choose.randrange(50)) if self.chance(0.5) else self.integer(shape, depth + 1)
            return f"({self.solid(shape, depth)} {symbol} {right})"
        if kind < 5:
            return f"({self.floating_solid(shape, depth)} {symbol} {self.floating(shape, depth + 1)})"
        if kind == 5:
            left, right = self.condition_solid(shape, depth), self.condition_solid(shape, depth)
            return f"({left} {self.pick('&', '|', '^', 'and', 'or')} {right})"
        if kind == 6:
            return (
                f"(not {self.condition_solid(shape, depth)})"
                if self.chance(0.3)
                else f"(~{self.condition_solid(shape, depth)})"
            )
        return self.leaf("bool", shape)

    def condition_solid(self, shape: str, depth: int) -> str:
        return self.condition(shape, depth + 1)

    # -- expressions that move or combine elements --

    def load(self, dtype: str, shape: str, depth: int) -> str:
        index = f"({self.solid(shape, depth)}.to(tl.int32) & {INPUT_SIZE - 1})"
        if not self.chance(0.5):
            return f"tl.load(p_{dtype} + {index})"
        other = (
            ", other=" + (self.pick("0", "7", "1") if dtype in INTS else self.pick("0.0", "-2.5"))
            if self.chance(0.6)
            else ""
        )
        return f"tl.load(p_{dtype} + {index}, mask={self.condition_solid(shape, depth)}{other})"

    def moved(self, kind: str, shape: str, depth: int) -> str:
        value = self.full(kind, shape, depth + 1)
        if shape == "N":
            return self.pick(
                f"{value}.reshape((1, N)).reshape((N,))",
                f"tl.trans({value}[None, :])[:, :].reshape((N,))",
                f"tl.flip({value}, 0)",
                f"tl.interleave(*tl.split({value}.reshape((N // 2, 2))))",
                f"tle.insert_tile({value}, tle.extract_tile({value}, 1, (N // 2,)), 0)",
                *self.moved_integers(value, depth) if kind == "int" else (),
            )
        return self.pick(
            f"tl.trans(tl.trans({value}))",
            f"{value}.reshape((N, M)).trans(1, 0)",
            f"tl.permute({value}.reshape((N, M)), (1, 0))",
            f"{value}.reshape((M * N,)).reshape((M, N))",
            f"tl.flip({value}, 1)",
            f"tl.broadcast_to({value}.reshape((1, M, N)), (1, M, N)).reshape((M, N))",
        )

    def moved_integers(self, value: str, depth: int) -> list[str]:
        """What only integers go through: of floats, sums depend on order, and NaN has no place in one."""
        forms = [f"tl.join({value}, {value}).reshape((2, N)).sum(0)"]
        if "sort" in WORKS:
            forms += [f"tl.sort({value})", f"tl.sort({value}, descending=True)"]
        if "gather" in WORKS:
            forms.append(f"tl.gather({value}, {self.solid('N', depth)}.to(tl.int32) & (N - 1), 0)")
        return forms

    def reduction(self, shape: str, depth: int) -> str:
        """A reduction of integers, whose order does not matter."""
        name = self.pick("sum", "max", "min", "xor_sum")
        if shape == "N":
            return f"tl.{name}({self.full('int', 'MN', depth + 1)}, axis=0)"
        if shape == "MN":
            axis = self.choose.randrange(2)
            value = self.full("int", "MN", depth + 1)
            return f"tl.{self.pick('sum', 'max', 'min')}({value}, axis={axis}, keep_dims=True)"
        if self.chance(0.2):
            return f"tl.{self.pick('argmax', 'argmin')}({self.full('int', 'N', depth + 1)}, 0)"
        return f"tl.{name}({self.full('int', self.pick('N', 'MN'), depth + 1)})"

    def reduced_rows(self, depth: int) -> str:
        return f"tl.{self.pick('sum', 'max', 'min')}({self.full('int', 'MN', depth + 1)}, 1)"

    def call_helper(self, kind: str, shape: str, depth: int) -> str:
        fitting = [h for h in self.helpers if h[1] == kind]
        if not fitting:
            return self.leaf(kind, shape)
        name, _, count = self.choose.choice(fitting)
        return f"{name}({', '.join(self.solid(shape, depth) for _ in range(count))})"

    # -- statements --

    def dtype_of(self, kind: str) -> str:
        return {"int": self.pick(*INTS), "float": self.pick(*FLOATS), "bool": "bool"}[kind]

    def value_of(self, variable: Variable) -> str:
        """An expression that may be assigned to a variable."""
        kind = "bool" if variable.dtype == "bool" else "int" if variable.dtype in INTS else "float"
        text = self.full(kind, variable.shape)
        return text if kind == "bool" else f"{text}.to(tl.{variable.dtype})"

    def declare(self, depth: int, shape: str | None = None) -> None:
        shape = self.pick("", "N", "N", "MN", "MN") if shape is None else shape
        kind = self.pick("int", "int", "float", "bool")
        variable = Variable(self.new(), self.dtype_of(kind), shape)
        self.line(depth, f"{variable.name} = {self.value_of(variable)}")
        self.names.append(variable)

    def change(self, depth: int) -> None:
        if not self.names:
            self.declare(depth)
            return
        variable = self.choose.choice(self.names)
        if variable.dtype in INTS and self.chance(0.2):
            self.line(depth, f"{variable.name} {self.pick('+=', '-=', '*=', '^=')} {self.choose.randrange(1, 90)}")
            return
        self.line(depth, f"{variable.name} = {self.value_of(variable)}")

    def block(self, depth: int, count: int) -> None:
        """Statements whose new names are gone afterwards."""
        known = list(self.names)
        for _ in range(count):
            self.statement(depth)
        self.names = known

    def statement(self, depth: int) -> None:
        if self.mode in ("cluster", "roles") and depth == 1 and self.chance(0.3):
            if self.mode == "cluster":
                together.exchange(self, depth)
            else:
                self.choose.choice((together.partitions, together.ring))(self, depth)
            return
        kind = self.choose.randrange(32)
        if self.mode == "role" and kind in (14, 17, 18, 19, *range(23, 32)):
            kind = 0
        if depth > 3:
            kind = self.choose.randrange(8)
        if kind < 4:
            self.declare(depth)
        elif kind < 8:
            self.change(depth)
        elif kind < 10:
            self.branch(depth)
        elif kind < 13:
            self.loop(depth)
        elif kind == 13:
            self.scan(depth)
        elif kind == 14:
            self.shared(depth)
        elif kind == 15:
            self.atomic(depth)
        elif kind == 16:
            self.histogram(depth)
        elif kind == 17:
            families.product(self, depth)
        elif kind == 18:
            families.block_pointer(self, depth)
        elif kind == 19:
            families.descriptor(self, depth)
        elif kind == 31 and self.language == "3.9":
            constructs.newer(self, depth)
        elif 23 <= kind < 31:
            constructs.STATEMENTS[kind - 23](self, depth)
        else:
            self.store(depth)

    def branch(self, depth: int) -> None:
        self.line(depth, f"if {self.condition('', 1)}:")
        self.block(depth + 1, self.choose.randint(1, 3))
        if self.chance(0.5):
            self.line(depth, "else:")
            self.block(depth + 1, self.choose.randint(1, 2))

    def loop(self, depth: int) -> None:
        kind = self.choose.randrange(4)
        name = self.new("i")
        known = list(self.names)
        if kind == 0:
            self.line(depth, f"for {name} in tl.static_range({self.choose.randint(1, 3)}):")
        elif kind == 1:
            self.line(depth, f"{name} = ({self.solid('', 2)} & 3).to(tl.int32)")
            self.line(depth, f"while {name} > 0:")
        else:
            bounds = self.pick("3", "s & 3", "0, n & 7, 2", "s & 7, 1, -2", "1, (pid + 3)")
            stages = self.pick("", ", num_stages=2", ", num_stages=3", ", num_stages=4")
            loop = f"tl.range({bounds}{stages})" if self.chance(0.6) else f"range({bounds})"
            self.line(depth, f"for {name} in {loop}:")
            self.names.append(Variable(name, "int32", ""))
        names = list(self.names)
        for _ in range(self.choose.randint(1, 3)):
            self.statement(depth + 1)
        if kind == 1:
            self.line(depth + 1, f"{name} -= 1")
        self.names = [v for v in names if v in known]

    def scan(self, depth: int) -> None:
        shape = self.pick("N", "MN")
        axis = 0 if shape == "N" else self.choose.randrange(2)
        variable = Variable(self.new(), self.pick("int32", "int64", "uint32"), shape)
        value = f"{self.full('int', shape)}.to(tl.{variable.dtype})"
        reverse = self.pick("", ", reverse=True")
        if self.chance(0.3):
            self.line(depth, f"{variable.name} = tl.associative_scan({value}, {axis}, larger{reverse})")
        else:
            self.line(depth, f"{variable.name} = tl.cumsum({value}, {axis}{reverse})")
        self.names.append(variable)

    def shared(self, depth: int) -> None:
        """A tile through shared memory, read back at other places."""
        if depth > 1:  # a buffer is one for each call in the text
            self.change(depth)
            return
        dtype = self.pick("int32", "int64", "int16", "uint8")
        buffer, variable = self.new("b"), Variable(self.new(), dtype, "N")
        self.line(depth, f"{buffer} = tle.gpu.alloc([N], tl.{dtype}, nv_mma_shared_layout=False)")
        places = self.pick("col", "(col ^ (s & (N - 1)))", "(N - 1 - col)")
        self.line(depth, f"tl.store(tle.gpu.local_ptr({buffer}, ({places},)), {self.full('int', 'N')})")
        index = f"{self.solid('N', 1)}.to(tl.int32) & (N - 1)"
        if self.chance(0.5) and dtype in ("int32", "int64"):
            pointer = f"tle.gpu.local_ptr({buffer}, ({index},))"
            self.line(depth, f"tl.atomic_{self.pick('add', 'max', 'xor')}({pointer}, {self.solid('N', 2)})")
        index = f"{self.solid('N', 1)}.to(tl.int32) & (N - 1)"
        self.line(depth, f"{variable.name} = tl.load(tle.gpu.local_ptr({buffer}, ({index},)))")
        self.names.append(variable)

    def atomic(self, depth: int) -> None:
        """One kind of update for each element, so that the order does not show."""
        shape = self.pick("", "N", "MN")
        kind = self.choose.randrange(4)
        name = ("add", "max", "xor", "or")[kind]
        index = f"({self.solid(shape, 1)}.to(tl.int32) & {ACCUMULATORS // 4 - 1}) + {kind * ACCUMULATORS // 4}"
        mask = f", mask={self.condition_solid(shape, 1)}" if self.chance(0.4) else ""
        self.line(depth, f"tl.atomic_{name}(acc + ({index}), {self.full('int', shape)}.to(tl.int32){mask})")

    def histogram(self, depth: int) -> None:
        variable = Variable(self.new(), "int32", "N")
        self.line(depth, f"{variable.name} = tl.histogram({self.full('int', 'N')}.to(tl.int32) & (N - 1), N)")
        self.names.append(variable)

    def store(self, depth: int) -> None:
        shape = self.pick("", "N", "MN", "MN")
        kind = self.pick("int", "int", "float", "near")
        if depth > 1 or self.slots[kind] >= SLOTS:
            self.change(depth)
            return
        slot = self.slots[kind]
        self.slots[kind] += 1
        base = f"out_{kind} + {slot} * {GRID} * M * N + pid * M * N"
        place = {"": base, "N": f"{base} + col", "MN": f"{base} + at"}[shape]
        if kind == "near":
            value = f"{self.floating_solid(shape, 1)}.to(tl.float32)"
            value = f"tl.minimum(tl.maximum({value}, -30.0), 30.0)"
            name = self.pick(*("exp", "sigmoid", "sin", "cos", "div", "sqrt", "log", "sum", "exp2"), "erf", "tanh", "cbrt")
            text = {
                "div": f"({value} / (tl.abs({value}) + 1.0))",
                "sqrt": f"tl.sqrt(tl.abs({value}))",
                "log": f"tl.log(tl.abs({value}) + 0.5)",
                "sum": f"tl.sum(tl.abs({value}) + col * 0.5)" if shape == "N" else f"tl.exp({value})",
                "tanh": f"libdevice.tanh({value})",
                "cbrt": f"libdevice.cbrt({value})",
            }.get(name, f"tl.{name}({value})")
        else:
            text = self.expression(kind, shape)
        mask = f", mask={self.condition_solid(shape, 1)}" if self.chance(0.3) else ""
        self.line(depth, f"tl.store({place}, {text}{mask})")

    # -- the whole --

    def helper(self) -> None:
        name = f"h{len(self.helpers)}"
        inner = Writer(self.choose, self.M, self.N)
        inner.names = [Variable("a", "int32", ""), Variable("b", "int32", "")]
        expression = self.pick(
            "(a ^ b) + a", "a - b * 3", "tl.where(a > b, a, b)", "(a & 15) * (b | 1)", "tl.maximum(a, b) - tl.minimum(a, b)"
        )
        dtype = self.pick(*INTS)
        self.line(0, f"@{self.jit}")
        self.line(0, f"def {name}(a, b):")
        if self.chance(0.3):  # what leaves early gives the same dtype
            self.line(1, "if b.dtype == tl.int8:")
            self.line(2, "return (a | b).to(tl.int16)")
        self.line(1, "c = (a + b) & 7")
        if self.chance(0.4):
            self.line(1, f"for k in {self.pick('range(3)', 'tl.static_range(2)')}:")
            self.line(2, f"c = (c {self.pick('+', '*', '^')} a) & 63")
        self.line(1, f"return ({expression} + c).to(tl.{dtype})")
        self.line(0, "")
        self.line(0, "")
        self.helpers.append((name, "int", 2))

    @property
    def jit(self) -> str:
        """The decorator of kernels and functions."""
        return "tle2cuda.jit" if self.language == "3.6" else f'tle2cuda.jit(language="{self.language}")'

    def kernel(self) -> None:
        self.lines += constructs.FUNCTIONS.replace("{jit}", self.jit).splitlines()
        if self.language == "3.9":
            self.lines += constructs.NEWER_FUNCTIONS.replace("{jit}", self.jit).splitlines()
        for _ in range(self.choose.randrange(3)):
            self.helper()
        start = len(self.lines)
        self.line(0, f"@{self.jit}")
        self.line(0, f"def k({', '.join(PARAMETERS)}, M: tl.constexpr, N: tl.constexpr):")
        self.places()
        if self.mode == "cluster":
            together.rank(self)
        for shape in ("", "N", "MN"):
            self.declare(1, shape)
        for _ in range(self.choose.randint(3, 8)):
            self.statement(1)
        for variable in self.names:
            self.emit(variable)
        self.lines[start:start] = self.front

    def places(self) -> None:
        """Where a program is, and places in its tiles."""
        self.line(1, "pid = tl.program_id(0)")
        self.line(1, "col = tl.arange(0, N)")
        self.line(1, "row = tl.arange(0, M)[:, None]")
        self.line(1, "at = row * N + col[None, :]")

    def inside(self) -> Writer:
        """A writer of a function that a partition runs."""
        return Writer(
            self.choose,
            self.M,
            self.N,
            helpers=self.helpers,
            fresh=self.fresh,
            slots=self.slots,
            mode="role",
            language=self.language,
        )

    def emit(self, variable: Variable) -> None:
        """Stores a variable that is left at the end."""
        kind = "float" if variable.dtype in FLOATS else "int"
        if self.slots[kind] >= SLOTS:
            return
        base = f"out_{kind} + {self.slots[kind]} * {GRID} * M * N + pid * M * N"
        self.slots[kind] += 1
        place = {"": base, "N": f"{base} + col", "MN": f"{base} + at"}[variable.shape]
        self.line(1, f"tl.store({place}, {variable.name})")


@dataclass(frozen=True)
class Program:
    """A kernel as text, with the sizes of its tiles.

    Attributes:
        seed: Seed of the program and of its inputs.
        text: The module without its header.
        M: Rows of the larger tiles.
        N: Columns, and length of the smaller ones.
        num_warps: Warps of a CTA.
        cluster: CTAs of a cluster.
    """

    seed: int
    text: str
    M: int
    N: int
    num_warps: int = 4
    cluster: int = 1

    @property
    def has_order(self) -> bool:
        """Whether barriers order what its CTAs, partitions or threads do to one memory."""
        return self.cluster > 1 or any(word in self.text for word in ("warp_specialize", "debug_barrier"))


def program(seed: int) -> Program:
    """The program of a seed."""
    choose = random.Random(seed)
    m, n = choose.choice((1, 2, 4, 8, 16)), choose.choice((2, 8, 16, 32, 64, 128))
    writer = Writer(choose, m, n)
    writer.mode = choose.choices(("plain", "cluster", "roles"), (6, 1, 1))[0]
    writer.language = choose.choices(("3.6", "3.9"), (5, 1))[0]
    writer.kernel()
    cluster = 2 if writer.mode == "cluster" else 1
    head = together.MESH if cluster > 1 else ""
    return Program(seed, head + "\n".join(writer.lines) + "\n", m, n, choose.choice((1, 2, 4)), cluster)

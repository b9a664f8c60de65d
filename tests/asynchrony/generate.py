"""Random kernels of partitions that hand rows on through pipes, with what they must write.

Partitions form a graph without cycles; each takes a row from every pipe that it reads, changes them, and puts the result
into every pipe that it writes. Sources read rows from memory in one of several ways, sinks store them. Values are int32, so
every order of sums is exact. Some kernels enter their partitions several times, in a loop or in the arms of a branch, for
some of the rows each time. From seed 5000 on (`WIDER`) they also hand ends to functions, give stages back an iteration
late, see a part of the fields, and pass one row on for good (`one_shot`).

``python -m tests.asynchrony.generate --seeds 200`` runs them in the interpreter, in eager mode and in the emulator.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Rows = np.ndarray
_CHANGES: dict[str, tuple[str, Callable[[Rows], Rows]]] = {
    "shift": ("{x} + {c}", lambda x: x + 3),
    "double": ("{x} * 2", lambda x: x * 2),
    "sums": ("{x} + tl.sum({x}, axis=0)", lambda x: x + x.sum(axis=1, keepdims=True, dtype=np.int32)),
    "scan": ("tl.cumsum({x}, axis=0)", lambda x: np.cumsum(x, axis=1, dtype=np.int32)),
    "flip": ("tl.flip({x}, 0)", lambda x: x[:, ::-1]),
}
_CAPTURED: dict[str, tuple[str, Callable[[Rows], Rows]]] = {
    "tile": ("tile", lambda x: x[0]),
    "number": ("number", lambda x: x[0, 3]),
    "table": ("table.load()", lambda x: np.arange(x.shape[1], dtype=np.int32) * 7),
}
"""What the code in front of the partitions makes: how they use it, and what it is."""
WIDER = 5000
"""The first seed of kernels that do more; those before it stay what they are."""
_SOURCES = ("store", "copy", "async", "tensor", "mixed")


@dataclass(slots=True, eq=False)
class _Pipe:
    name: str
    capacity: int
    readers: tuple[str, ...]
    fields: int
    is_closed: bool
    has_side: bool  # a buffer beside the fields, which the same edges protect
    seen: tuple[str, ...] = ()  # fields that readers ask for; all when empty

    @property
    def read(self) -> tuple[str, ...]:
        """The fields that readers read."""
        return self.seen or ("f0", "f1")[: self.fields]


@dataclass(slots=True)
class _Node:
    """One partition."""

    number: int
    warps: int
    inputs: list[tuple[_Pipe, str]] = field(default_factory=list)
    outputs: list[_Pipe] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    gives: bool = False  # the row for good
    takes: bool = False


@dataclass(frozen=True, slots=True)
class Generated:
    """A kernel `k(x, out, n, rows, B)` as text, and what it does to rows.

    Attributes:
        text: The module behind the usual header.
        num_warps: Warps of the default partition.
        columns: Columns of a row.
        count: Rows.
        expected: The blocks of rows that it writes, for the rows of `x`.
    """

    text: str
    num_warps: int
    columns: int
    count: int
    expected: Callable[[Rows], list[Rows]]


class _Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.columns = self.random.choice([32, 64, 128])
        self.count = self.random.choice([0, 1, 2, 3, 5, 8])
        self.nodes = [_Node(i, self.random.choice([1, 2, 4])) for i in range(self.random.randint(1, 4))]
        self.pipes: list[_Pipe] = []
        self.values: dict[int, Callable[[Rows], Rows]] = {}
        self.sinks: list[int] = []
        self.captured: set[str] = set()
        self.returns = self.random.random() < 0.5
        self.order = self.random.sample(self.nodes, len(self.nodes))
        self.entered = self.random.choice(["once", "once", "for", "while", "branch"])
        self.wider = random.Random(seed + 1) if seed >= WIDER else None

    def _chance(self, share: float) -> bool:
        """Whether a wider kernel does something."""
        return self.wider is not None and self.wider.random() < share

    def connect(self) -> None:
        """Makes the pipes: each node but the first reads from earlier ones."""
        choose = self.random
        for node in self.nodes[1:] if len(self.nodes) > 1 else self.nodes:
            earlier = self.nodes[: node.number] or [node]
            for source in choose.sample(earlier, min(len(earlier), choose.randint(1, 2))):
                known = [
                    pipe for pipe in source.outputs if choose.random() < 0.5 and not pipe.is_closed and source is not node
                ]
                if known:
                    pipe = known[0]
                    pipe.readers = (*pipe.readers, f"r{node.number}")
                else:
                    number = len(self.pipes)
                    is_closed = choose.random() < 0.2 and source is not node
                    capacity, fields, has_side = choose.randint(1, 4), choose.randint(1, 2), choose.random() < 0.25
                    pipe = _Pipe(f"p{number}", capacity, (f"r{node.number}",), fields, is_closed, has_side)
                    self.pipes.append(pipe)
                    source.outputs.append(pipe)
                node.inputs.append((pipe, f"r{node.number}"))
        for pipe in self.pipes:
            if pipe.fields > 1 and self._chance(0.5):
                pipe.seen = ("f0",) if self._chance(0.5) else ("f1",)
        if len(self.nodes) > 1 and self.entered == "once" and self._chance(0.6):
            self.nodes[0].gives = True
            for node in self.nodes[1:]:
                node.takes = self._chance(0.7)

    def write_node(self, node: _Node) -> None:  # a list of statements, in their order
        """The function of one partition, and what it computes."""
        choose = self.random
        line = node.lines.append
        is_own = bool(node.inputs) and node.inputs[0][0] in node.outputs  # writer and reader at once
        reads = [] if is_own else node.inputs
        node.parameters = ["x", "desc", "out", "n", "first", "end"]
        node.arguments = list(node.parameters)
        for pipe in dict.fromkeys([*node.outputs, *(pipe for pipe, _ in node.inputs)]):
            if pipe.has_side:
                node.parameters.append(f"side_{pipe.name}")
                node.arguments.append(f"side_{pipe.name}")
        for pipe in node.outputs:
            node.parameters.append(f"w_{pipe.name}")
            node.arguments.append(f"{pipe.name}.writer()")
        for pipe, reader in node.inputs:
            node.parameters.append(f"r_{pipe.name}")
            names = [f'"{reader}"'] if len(pipe.readers) > 1 or int(pipe.name[1:]) % 2 else []
            names += [f"fields={pipe.seen!r}"] if pipe.seen else []
            node.arguments.append(f"{pipe.name}.reader({', '.join(names)})")
        if node.gives or node.takes:
            node.parameters.append("one")
            node.arguments.append("once.writer()" if node.gives else f'once.reader("r{node.number}")')
        captured = [name for name in _CAPTURED if choose.random() < 0.2]
        self.captured.update(captured)
        node.parameters += captured
        node.arguments += captured
        ends = [*(f"w_{pipe.name}" for pipe in node.outputs), *(f"r_{pipe.name}" for pipe, _ in node.inputs)]
        by_cursor = {end for end in ends if choose.random() < 0.4}
        line("i = tl.arange(0, B)")
        if self.returns and node is self.order[0]:
            line("total = tl.zeros([B], tl.int32)")
        for end in ends:
            if end in by_cursor:
                line(f"c_{end} = {end}.cursor(first)")
        late = [pipe for pipe, _ in reads if pipe.capacity > 1 and not pipe.is_closed and self._chance(0.3)]
        if node.gives:
            node.lines += ["one.acquire(0).f0.store(i * 11)", "one.commit(0)"]
        closing = [pipe for pipe, _ in reads if pipe.is_closed]
        if closing:
            line("k = 0")
            line(f"open = not r_{closing[0].name}.wait(0).is_closed")
            line("while open:")
        else:
            line("for k in range(first, end):")
        body: list[str] = []
        at = {end: f"c_{end}" if end in by_cursor else "k" for end in ends}
        transport = choose.choice(_SOURCES)
        parts: list[Callable[[Rows], Rows]] = []
        names: list[str] = []
        early = choose.random() < 0.5
        if reads:
            for pipe, _ in reads:
                end = f"r_{pipe.name}"
                body.append(f"s_{pipe.name} = {end}.wait({at[end]}).slot")
                for number, name in enumerate(pipe.read):
                    body.append(f"v_{pipe.name} {'+' * (number > 0)}= s_{pipe.name}.{name}.load()")
                if pipe.has_side:
                    body.append(f"v_{pipe.name} += side_{pipe.name}.slot(k % {pipe.capacity}).load()")
                names.append(f"v_{pipe.name}")
                parts.append(self.values[int(pipe.name[1:])])
                if early and pipe not in late:
                    body.append(f"{end}.release({at[end]})")
            body.append(f"v = {' + '.join(names)}")
            kind = choose.choice(list(_CHANGES))
            text, change = _CHANGES[kind]
            body.append(f"v = {text.format(x='v', c=3)}")

            def computed(x: Rows) -> Rows:
                return change(sum((part(x) for part in parts[1:]), parts[0](x)).astype(np.int32)).astype(np.int32)

            value: Callable[[Rows], Rows] = computed
            if node.takes:
                body.append("v += one.wait(0).slot.f0.load()")
                value = lambda x: computed(x) + np.arange(x.shape[1], dtype=np.int32) * 11  # noqa: E731
        else:
            value = lambda x: x  # noqa: E731
            body.append("v = tl.load(x + k * B + i)")
        if captured and not reads:
            transport = "store"  # what is copied straight from memory cannot be changed
        for name in captured:
            text, addend = _CAPTURED[name]
            body.append(f"v = v + {text}")
            value = lambda x, addend=addend, before=value: before(x) + addend(x)  # noqa: E731
        for pipe in node.outputs:
            end = f"w_{pipe.name}"
            body.append(f"t_{pipe.name} = {end}.acquire({at[end]})")
            first = f"t_{pipe.name}.f0"
            way = "store" if reads else transport
            if way == "copy":
                body.append(f"tle.gpu.copy(x + k * B + i, {first}, [B])")
            elif way == "async":
                body.append(f"tle.gpu.copy(x + k * B + i, {first}, [B], is_async=True)")
            elif way in ("tensor", "mixed"):
                body.append(f"tle.gpu.copy(desc, {first}, [B], [k, 0])")
            else:
                body.append(f"{first}.store(v)")
            if pipe.fields > 1:
                if way == "mixed":
                    body.append(f"tle.gpu.copy(x + k * B + i, t_{pipe.name}.f1, [B], is_async=True)")
                else:
                    body.append(f"t_{pipe.name}.f1.store(v * 5)")
            if pipe.has_side:
                body.append(f"side_{pipe.name}.slot(k % {pipe.capacity}).store(v * 3)")
            second = 0 if pipe.fields == 1 or pipe.seen == ("f0",) else 1 if way == "mixed" else 5
            scale = (pipe.seen != ("f1",)) + second + (3 if pipe.has_side else 0)
            self.values[int(pipe.name[1:])] = lambda x, scale=scale, value=value: (value(x) * scale).astype(np.int32)
            body.append(f"publish({end}, {at[end]})" if self._chance(0.4) else f"{end}.commit({at[end]})")
        if is_own:
            (pipe, _) = node.inputs[0]
            end = f"r_{pipe.name}"
            body.append(f"s = {end}.wait({at[end]}).slot")
            body.append(f"v = {' + '.join(f's.{name}.load()' for name in pipe.read)}")
            if pipe.has_side:
                body.append(f"v += side_{pipe.name}.slot(k % {pipe.capacity}).load()")
            body.append(f"{end}.release({at[end]})")
            value = self.values[int(pipe.name[1:])]
        if not early:
            body += [f"r_{pipe.name}.release({at[f'r_{pipe.name}']})" for pipe, _ in reads if pipe not in late]
        first, end = ("0", "k") if closing else ("first", "end")
        for pipe in late:  # the stage of the iteration before, and the last one behind the loop
            body += [f"if k > {first}:", f"    give_back(r_{pipe.name}, k - 1)"]
        if not node.outputs or is_own or choose.random() < 0.3:
            sink = len(self.sinks)
            self.sinks.append(node.number)
            self.results.append(value)
            body.append(f"tl.store(out + ({sink} * n + k) * B + i, v)")
        if self.returns and node is self.order[0]:
            body.append("total += v")
            self.total = value
        body += [f"c_{name} = c_{name}.advance()" for name in ends if name in by_cursor]
        if closing:
            reader = f"r_{closing[0].name}"
            body += ["k += 1", f"open = not {reader}.wait({at[reader]}).is_closed"]
        node.lines += [f"    {text}" for text in body]
        for pipe in late:
            node.lines += [f"if {end} > {first}:", f"    give_back(r_{pipe.name}, {end} - 1)"]
        for pipe in node.outputs:
            if pipe.is_closed:
                line(f"w_{pipe.name}.close({at[f'w_{pipe.name}'] if at[f'w_{pipe.name}'] != 'k' else 'n'})")

    def entries(self, order: list[_Node], captured: list[str]) -> list[str]:
        """The calls of the partitions, and what comes in front of each."""
        entries = [f"        (part{node.number}, ({', '.join(node.arguments)}, B))," for node in order]
        total = sum(node.warps for node in order)
        self.num_warps, options = order[0].warps, f"{[node.warps for node in order[1:]]}"
        if total in (1, 2, 4, 8, 16) and self.random.random() < 0.4:
            self.num_warps, options = total, f"{[node.warps for node in order]}, reuse_default_warps=True"
        call = [*captured, f"    {'total, one = ' * self.returns}tle.gpu.warp_specialize([", *entries, f"    ], {options})"]
        if self.returns:
            call.append("    all_of_it += total + one")
        start = ["    all_of_it = tl.zeros([B], tl.int32)"] if self.returns else []
        if self.entered == "once" or any(pipe.is_closed for pipe in self.pipes):
            return [*start, "    first, end = 0, n", *call]
        step, inner = self.random.randint(1, 3), [f"    {line}" for line in call]
        if self.entered == "while":
            return [
                *start,
                "    first = 0",
                "    while first < n:",
                f"        end = tl.minimum(first + {step}, n)",
                *inner,
                "        first = end",
            ]
        loop = [*start, f"    for first in range(0, n, {step}):", f"        end = tl.minimum(first + {step}, n)"]
        if self.entered == "for":
            return [*loop, *inner]
        arm = [f"    {line}" for line in inner]
        return [*loop, "        if tl.load(x + first * B) > 0:", *arm, "        else:", *arm]

    def generate(self) -> Generated:
        """The whole kernel."""
        self.total: Callable[[Rows], Rows] = np.zeros_like
        self.results: list[Callable[[Rows], Rows]] = []
        self.connect()
        for node in self.nodes:
            self.write_node(node)
        order = self.order
        text = [_HELPERS] if self.wider is not None else []
        for node in self.nodes:
            text.append(f"@tle2cuda.jit\ndef part{node.number}({', '.join(node.parameters)}, B: tl.constexpr):")
            text += [f"    {line}" for line in node.lines]
            if self.returns and node is order[0]:
                text.append("    return total, tl.sum(total, axis=0)")
            text.append("\n")
        text.append("@tle2cuda.jit\ndef k(x, out, n, rows, B: tl.constexpr):")
        text.append("    desc = tl.make_tensor_descriptor(x, [rows, B], [B, 1], [1, B])")
        made = {"tile": "tl.load(x + tl.arange(0, B))", "number": "tl.load(x + 3)", "table": "tle.gpu.alloc([B], tl.int32)"}
        captured = [f"    {name} = {made[name]}" for name in sorted(self.captured)]
        if "table" in self.captured:
            captured.append("    table.store(tl.arange(0, B) * 7)")
        for pipe in self.pipes:
            if pipe.has_side:
                text.append(f"    side_{pipe.name} = tle.gpu.alloc([{pipe.capacity}, B], tl.int32)")
            fields = ", ".join(f"f{f}=tle.gpu.alloc([{pipe.capacity}, B], tl.int32)" for f in range(pipe.fields))
            readers = f", readers={pipe.readers!r}" if len(pipe.readers) > 1 or int(pipe.name[1:]) % 2 else ""
            text.append(f"    {pipe.name} = tle.pipe(capacity={pipe.capacity}{readers}, {fields})")
        if self.nodes[0].gives:
            readers = tuple(f"r{node.number}" for node in self.nodes if node.takes) or ("nobody",)
            text.append("    row = tle.gpu.alloc([1, B], tl.int32)")
            text.append(f"    once = tle.pipe(capacity=1, one_shot=True, readers={readers!r}, f0=row)")
        text += self.entries(order, captured)
        if self.returns:
            text.append(f"    tl.store(out + {len(self.sinks)} * n * B + tl.arange(0, B), all_of_it)")
        results, total, count = list(self.results), self.total, self.count

        def expected(x: Rows) -> list[Rows]:
            rows = [result(x).astype(np.int32)[:count] for result in results]
            if self.returns:
                sums = total(x).astype(np.int32)[:count].sum(axis=0, dtype=np.int32)
                rows.append((sums + sums.sum(dtype=np.int32))[None, :])
            return rows

        return Generated("\n".join(text) + "\n", self.num_warps, self.columns, self.count, expected)


_HELPERS = """@tle2cuda.jit
def publish(w, k):
    w.commit(k)


@tle2cuda.jit
def give_back(r, k):
    r.release(k)

"""


def generate(seed: int) -> Generated:
    """The kernel of a seed."""
    return _Generator(seed).generate()


def check(seed: int, folder: pathlib.Path, emulator_seeds: int = 2, arch: str = "sm_90a") -> None:
    """Runs a kernel everywhere, in the emulator as it is emitted for `arch`.

    Raises:
        AssertionError: It writes something else.
        KernelError: It is refused or faulty.
    """
    from tests.asynchrony.runs import run
    from tests.frontend.kernels_on_file import load
    from tle2cuda.emulator import emulate

    made = generate(seed)
    kernel = load(made.text, folder).k
    x = np.random.default_rng(seed).integers(-50, 50, (max(made.count, 1), made.columns)).astype(np.int32)
    want = np.concatenate([*made.expected(x), np.zeros((1, made.columns), np.int32)])
    options: dict[str, Any] = {"num_warps": made.num_warps}
    for got in run(kernel, [x, np.zeros_like(want), made.count, len(x)], B=made.columns, **options):
        np.testing.assert_array_equal(got[1], want)
    arguments = {"x": x, "out": np.zeros_like(want), "n": made.count, "rows": len(x), "B": made.columns}
    for schedule, seeds in (("forward", range(1)), ("reverse", range(1)), ("random", range(seed, seed + emulator_seeds))):
        result = emulate(kernel, 1, arguments, schedule=schedule, seeds=seeds, detect="all", arch=arch, **options)
        for each in result.check().runs:
            assert not each.findings, f"{schedule} {each.seed}: {each.findings[0]}"
            np.testing.assert_array_equal(each.outputs["out"], want)


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--arch", default="sm_90a", help="target of the emitted text")
    parser.add_argument("--show", action="store_true", help="print the kernels only")
    options = parser.parse_args()
    failed = 0
    for seed in range(options.start, options.start + options.seeds):
        if options.show:
            print(f"# seed {seed}\n{generate(seed).text}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(seed, pathlib.Path(folder), arch=options.arch)
            except Exception as error:
                failed += 1
                print(f"seed {seed}: {type(error).__name__}: {str(error)[:1500]}")
    print(f"{failed} of {options.seeds} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Guesses specialisations of jit functions: types of their parameters, values of their constexpr ones.

A guess starts from how a parameter is used (`usage`), from literals that the package passes, from its tuning
configurations, and from the values that the development set has for parameters of that name. What a compiler says to a
guess changes the next one.
"""

from __future__ import annotations

import ast
import collections
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.public_kernels.records import DATA
from tools.public_kernels.sources import dotted
from tools.public_kernels.usage import Flow, Usage

_POINTER_NAME = re.compile(r"(_|\b)(ptr|pointer)s?(_|\b)|Ptr$|_ptr_?\w?$", re.IGNORECASE)
_INTEGER_NAME = re.compile(
    r"idx|indices|index|(^|_)ids?(_|$)|lens?(_|$)|seqlens?|offs?(et)?s?(_|$)|table|slot|mapping|(^|_)pos|count|"
    r"expert|label|target|perm|(^|_)locs?(_|$)|(^|_)nums?(_|$)|token_ids|counter|locks?$|semaphore",
    re.IGNORECASE,
)
_FLOAT32_NAME = re.compile(
    r"lse|rstd|mean|(^|_)var|scale|_max|_sum|acc|delta|logsumexp|norm|partial|(^|_)[ms]_?ptr", re.IGNORECASE
)
_BYTE_NAME = re.compile(r"fp4|mxfp|packed|u8|uint8|nibble", re.IGNORECASE)
_FLOAT_SCALAR = re.compile(
    r"eps|scale|alpha|beta|(^|_)lr(_|$)|momentum|decay|prob|(^|_)p$|temperature|soft_?cap|inv_|slope|theta|factor|"
    r"limit|dropout|weight|smoothing|gamma|clip|clamp|logit|threshold|lambda|coef|^(min|max)(_val|_value)?$|_loss",
    re.IGNORECASE,
)
# What Triton says of a type or shape that was guessed wrong.
_NO_POINTER = re.compile(r"ptr type|pointer type|not a pointer|must be a pointer|Expected.*pointer")
_NO_INTEGER = re.compile(r"pointer<|unexpected type (fp|bf)|float.*(index|offset|shift)")
_NO_FLOAT = re.compile(r"Expected dtype|unexpected type (u?int|i\d|u\d)")
_OTHER_TYPE = re.compile(
    r"same dtype|Loop-carried|Mismatched type|initial type|First input|different dtype|incompatible.*type"
)
_OTHER_SHAPE = re.compile(r"power of|shape|incompatible|at least|>= ?16|too (big|large)|numel|dimension")
_ADDED = re.compile(r"stride", re.IGNORECASE)
_FLOATS = ("fp32", "bf16", "fp16")
_SIZES = (64, 32, 16, 128, 256, 8, 4, 2, 1)


@dataclass(slots=True)
class Guess:
    """One specialisation, in the terms of a record."""

    signature: dict[str, str]
    constexprs: dict[str, Any]
    num_warps: int = 4
    num_stages: int = 2

    def divisible(self) -> list[str]:
        """Pointers, and strides."""
        run_time = {name: t for name, t in self.signature.items() if t != "constexpr"}
        return [n for n, t in run_time.items() if t.startswith("*") or (t in ("i32", "i64") and _ADDED.search(n))]


def known_values() -> dict[str, list[Any]]:
    """Values of the development set by parameter name, the most frequent first."""
    counts: dict[str, collections.Counter[str]] = {}
    for row in json.loads(DATA.read_text()):
        for name, value in row["constexprs"].items():
            counts.setdefault(name, collections.Counter())[json.dumps(value)] += 1
    return {name: [json.loads(text) for text, _ in counter.most_common()] for name, counter in counts.items()}


def configurations(node: ast.FunctionDef) -> list[tuple[dict[str, Any], int, int]]:
    """Literal configurations of the function's `autotune` decorator: constants, warps, stages."""
    found = []
    for decorator in node.decorator_list:
        for call in ast.walk(decorator):
            if isinstance(call, ast.Call) and dotted(call.func).endswith("Config") and call.args:
                try:
                    values = ast.literal_eval(call.args[0])
                except (ValueError, SyntaxError):
                    continue
                options = {k.arg: k.value.value for k in call.keywords if isinstance(k.value, ast.Constant)}
                if isinstance(values, dict):
                    warps, stages = options.get("num_warps"), options.get("num_stages")
                    found.append((values, warps if isinstance(warps, int) else 4, stages if isinstance(stages, int) else 2))
    return found


@dataclass(slots=True)
class Guesser:
    """The guesses for one function, each better than the last if the compiler's messages help.

    Args:
        usage: What its parameters are.
        flow: Where its values come from.
        given: Literals that launches in the package pass, by parameter.
        tuned: Configurations of its decorator.
        known: Values by parameter name, see `known_values`.
        seed: Decides between what is equally likely.
    """

    usage: Usage
    flow: Flow
    given: Mapping[str, Sequence[Any]]
    tuned: Sequence[tuple[dict[str, Any], int, int]]
    known: Mapping[str, Sequence[Any]]
    seed: str
    types: dict[str, str] = field(default_factory=dict)
    base: str = "fp32"
    size: int = 0

    def __post_init__(self) -> None:
        self.base = random.Random(self.seed).choice(("bf16", "fp16", "fp32"))
        for name in self.usage.parameters:
            if name not in self.usage.fixed:
                self.types[name] = self._type(name)

    def _type(self, name: str) -> str:
        usage = self.usage
        if name in usage.annotated:
            return usage.annotated[name]
        if name in usage.descriptors:
            return (
                f"tensordesc<{self.base if self.base != 'fp32' else 'bf16'}[{', '.join(['64'] * usage.descriptors[name])}]>"
            )
        if name in usage.pointers or _POINTER_NAME.search(name):
            return f"*{self._element(name)}"
        if _FLOAT_SCALAR.search(name) and not _ADDED.search(name) and "num" not in name.lower():
            return "fp32"
        return "i32"

    def _element(self, name: str) -> str:
        if name in self.usage.masks or re.search("mask", name, re.IGNORECASE):
            return "i1" if name in self.usage.masks else "i32"
        if name in self.usage.integers:
            return "u8" if _BYTE_NAME.search(name) else "i32"
        if re.search("fp8|e4m3", name, re.IGNORECASE):
            return "fp8e4nv"
        if _INTEGER_NAME.search(name) and not re.search("scale|weight|prob|loss|logit", name, re.IGNORECASE):
            return "i64" if re.search("label|target", name, re.IGNORECASE) else "i32"
        return "fp32" if _FLOAT32_NAME.search(name) else self.base

    def guess(self, attempt: int) -> Guess:
        """The next one."""
        rng = random.Random(f"{self.seed} {attempt}")
        config, warps, stages = self.tuned[attempt % len(self.tuned)] if self.tuned and attempt < 8 else ({}, 4, 2)
        values = {}
        for name in self.usage.parameters:
            if name in self.usage.fixed:
                values[name] = config[name] if name in config else self._value(name, attempt, rng)
        signature = {n: "constexpr" if n in self.usage.fixed else self.types[n] for n in self.usage.parameters}
        return Guess(signature, values, warps, stages)

    def _value(self, name: str, attempt: int, rng: random.Random) -> Any:
        usage = self.usage
        if name in usage.texts:
            texts = usage.texts[name]
            return texts[0] if attempt < 4 else rng.choice(texts)
        if name in usage.dtypes:
            return {"dtype": self.base if attempt % 2 else "fp32"}
        if name in usage.flags:
            return {0: True, 1: False}.get(attempt, rng.random() < 0.5)
        listed = [*self.given.get(name, ()), *self.known.get(name, ())]
        if name in usage.defaults and usage.defaults[name] is not None and not isinstance(usage.defaults[name], tuple):
            listed.append(usage.defaults[name])
        if listed and attempt < 6:
            return listed[0] if attempt < 2 else rng.choice(listed)
        if re.search("eps", name, re.IGNORECASE):
            return 1e-6
        if re.match("(is|has|use|do|with|enable)_", name, re.IGNORECASE):
            return attempt != 1
        if self.size:
            return self.size
        if attempt < 6:
            return self._size(name)
        return rng.choice(_SIZES[:5] if re.search("block|tile", name, re.IGNORECASE) else _SIZES)

    def _size(self, name: str) -> int:
        if re.search("stride|block|tile|dim|^B[A-Z]$|size", name, re.IGNORECASE):
            return 64
        if re.search("num|count|split|top_?k|heads|^H", name, re.IGNORECASE):
            return 4
        return 16

    # -- learning --

    def learn(self, message: str, node: ast.AST | None, attempt: int) -> None:
        """Changes types by what a compiler said about the expression `node` of the function."""
        at = node if node is not None else ast.Module([], [])
        loaded = self.flow.loaded(at)
        scalars = {n for n in self.flow.named(at) if n in self.types and not self.types[n].startswith(("*", "tensordesc"))}
        if _NO_POINTER.search(message):
            self._make_pointers(at)
        elif _NO_INTEGER.search(message):
            self._set(loaded, "i32")
            self._scalars(scalars, "i32")
        elif _NO_FLOAT.search(message):
            self._set(loaded, "fp32")
            self._scalars(scalars, "fp32")
        elif _OTHER_TYPE.search(message):
            self._floats("fp32" if attempt % 2 == 0 else "bf16")
        elif _OTHER_SHAPE.search(message):
            self.size = _SIZES[attempt % 5] if attempt >= 4 else self.size
        elif attempt >= 3:
            self._floats(_FLOATS[attempt % 3])

    def _make_pointers(self, node: ast.AST) -> None:
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                arguments = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("pointer", "ptr", "base"))]
                for name in set().union(*(self.flow.address(a) | self.flow.named(a) for a in arguments)):
                    if name in self.types and not self.types[name].startswith("*"):
                        self.types[name] = f"*{self._element(name)}"
                        return

    def _set(self, names: set[str], dtype: str) -> None:
        for name in names & set(self.types):
            if self.types[name].startswith("*"):
                self.types[name] = f"*{dtype}"

    def _scalars(self, names: set[str], dtype: str) -> None:
        for name in names - set(self.usage.annotated):
            self.types[name] = dtype

    def _floats(self, dtype: str) -> None:
        for name, type_ in self.types.items():
            if type_.lstrip("*") in _FLOATS and type_.startswith("*"):
                self.types[name] = f"*{dtype}"

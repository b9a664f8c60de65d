"""Kernels with pipes, barriers and partitions: text, roots, effects, rewriting."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.async_examples import BODIES, example
from tle2cuda.interpreter import run
from tle2cuda.ir.effects import Roots, effects
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.ir.parser import parse_kernel
from tle2cuda.ir.printer import print_kernel
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions, replace_ops, uses_of
from tle2cuda.lowering import lower
from tle2cuda.passes import canonicalise, pipeline, plain_copies


def named(kernel: Kernel, name: str) -> Op:
    return next(op for op in walk(kernel.body) if op.name == name)


@pytest.mark.parametrize("name", BODIES)
def test_examples_are_legal_and_round_trip(name: str) -> None:
    kernel = example(name)
    verify(kernel)
    text = print_kernel(kernel)
    assert print_kernel(parse_kernel(text)) == text


@pytest.mark.parametrize("name", BODIES)
def test_canonicalise_keeps_them_legal(name: str) -> None:
    kernel = canonicalise.run(example(name))
    verify(kernel)
    before, after = ([op.name for op in walk(k.body) if not op.results] for k in (example(name), kernel))
    assert before == after  # every effect, in its place


def test_copies_by_cp_async_become_loads_and_stores() -> None:
    kernel = example("cp_async_ring")
    expanded = plain_copies.expand(kernel)
    verify(expanded)
    assert not [op for op in walk(expanded.body) if op.name.startswith("cp_async")]
    x, y = np.arange(384, dtype=np.float32).reshape(3, 128), np.zeros((3, 128), np.float32)
    run(expanded, 1, [x, y, 3])
    assert (x == y).all()
    assert plain_copies.expand(kernel, lambda op: False) is kernel


@pytest.mark.parametrize("name", BODIES)
def test_examples_are_emitted(name: str) -> None:
    final, _ = pipeline.run(example(name))
    assert lower(final).source


def test_slots_of_a_pipe_lead_to_its_buffers() -> None:
    kernel = example("pipe_in_two_tasks")
    roots = Roots(kernel)
    ring, pipe = named(kernel, "alloc").result, named(kernel, "pipe").result
    assert roots.of(named(kernel, "pipe_acquire").results[0]) == (ring,)
    assert roots.of(named(kernel, "pipe_wait").results[1]) == (ring,)
    assert roots.of(pipe) == (pipe,)
    stores = [op for op in walk(kernel.body) if op.name == "store"]
    assert [effect.root for op in stores for effect in effects(op, roots)] == [kernel.args[1].value, ring]


def test_copies_say_what_they_touch() -> None:
    kernel = example("tma_row_copy")
    roots = Roots(kernel)
    x, y = (argument.value for argument in kernel.args[:2])
    row = named(kernel, "alloc").result
    found = {
        op.name: [(e.kind, e.space, e.root, e.is_async, e.proxy) for e in effects(op, roots)] for op in walk(kernel.body)
    }
    assert found["tma_load"] == [("read", "global", x, True, "async"), ("write", "shared", row, True, "async")]
    assert found["tma_store"] == [("write", "global", y, True, "async"), ("read", "shared", row, True, "async")]
    kernel = example("cp_async_ring")
    found = {op.name: [(e.kind, e.space, e.proxy) for e in effects(op, Roots(kernel))] for op in walk(kernel.body)}
    assert found["cp_async"] == [("read", "global", "generic"), ("write", "shared", "generic")]


def test_partitions_are_rewritten_like_any_region() -> None:
    kernel = example("pipe_in_two_tasks")
    assert Rewriter().kernel(kernel) is kernel
    assert replace_ops(kernel, lambda op: op) is kernel
    specialise = named(kernel, "warp_specialize")
    pipe = named(kernel, "pipe").result
    assert [op.name for op in uses_of(kernel.body)[pipe]] == ["pipe_wait", "pipe_release", "pipe_acquire", "pipe_commit"]
    assert pipe in captured_values(specialise.regions[0])
    assert pipe in captured_values(specialise.regions[1])
    assert definitions(kernel.body)[pipe].name == "pipe"


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("name", BODIES)
def test_examples_copy_rows(name: str, count: int, seed: int | None) -> None:
    x = np.random.default_rng(count).random((max(count, 1), 128), np.float32)
    for kernel in (example(name), canonicalise.run(example(name))):
        y = np.zeros_like(x)
        run(kernel, 1, [x, y, count], seed=seed)
        assert (y[:count] == x[:count]).all()
        assert not y[count:].any()

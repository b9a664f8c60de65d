"""Grids, clusters, barriers, loops that wait, deadlocks."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.interpreter.test_memory import execute, i32, kernel
from tle2cuda.errors import ArgumentError, Deadlock, InterpreterError, LaunchError
from tle2cuda.interpreter import run


def test_every_cta_runs_once() -> None:
    out = np.zeros((2, 3, 4), np.int32)
    body = """
  %x = program_id {axis = 0} : i32
  %y = program_id {axis = 1} : i32
  %z = program_id {axis = 2} : i32
  %nx = num_programs {axis = 0} : i32
  %ny = num_programs {axis = 1} : i32
  %a = mul %z, %ny : i32
  %b = add %a, %y : i32
  %c = mul %b, %nx : i32
  %d = add %c, %x : i32
  %p = ptr_add %o, %d : *i32
  %old = atomic_rmw %p, %d {kind = 'add'} : i32"""
    execute("%o: *i32", body, out, grid=(4, 3, 2))
    assert out.reshape(-1).tolist() == list(range(24))


def test_an_empty_grid_runs_nothing() -> None:
    execute("%x: *i32, %n: i32", "store %x, %n", np.zeros(0, np.int32), 1, grid=0)


def test_the_grid_is_a_multiple_of_the_cluster() -> None:
    with pytest.raises(LaunchError, match=r"grid \(3, 1, 1\) is no multiple of the cluster \(2, 1, 1\) along x"):
        execute(") cluster (2, 1, 1)", "", grid=3)


LOOPS = """
  %zero = constant {value = 0} : i32
  %two, %three = for %lower, %upper, %step, %zero, %upper : i32, i32 do (%i: i32, %a: i32, %b: i32) {
    %c = add %a, %i : i32
    yield %b, %c
  }
  store %o, %two
  %one = constant {value = 1} : i32
  %p = ptr_add %o, %one : *i32
  store %p, %three
"""


@pytest.mark.parametrize(("lower", "upper", "step"), [(0, 5, 1), (5, 0, 2), (3, 3, 1), (0, 7, 3), (-4, 4, 4)])
def test_loops_carry_values_in_parallel(lower: int, upper: int, step: int) -> None:
    a, b = 0, upper
    for i in range(lower, upper, step):
        a, b = b, a + i
    out = np.zeros(2, np.int32)
    execute("%o: *i32, %lower: i32, %upper: i32, %step: i32", LOOPS, out, lower, upper, step)
    assert out.tolist() == [a, b]


@pytest.mark.parametrize("step", [0, -1])
def test_a_step_of_the_run_time_must_be_positive(step: int) -> None:
    with pytest.raises(InterpreterError, match=f"the step of a loop is {step}") as caught:
        execute("%o: *i32, %lower: i32, %upper: i32, %step: i32", LOOPS, np.zeros(2, np.int32), 0, 1, step)
    assert "must be positive" in caught.value.help


def test_a_constant_step_may_count_downwards() -> None:
    out = np.zeros(2, np.int32)
    down = "  %step = constant {value = -2} : i32\n" + LOOPS
    execute("%o: *i32, %lower: i32, %upper: i32", down, out, 5, 0)
    assert out.tolist() == [3, 6]  # by way of (0, 0), (0, 5) and (5, 3)


@tle2cuda.jit
def strided(out, n, step):
    for i in range(0, n, step):
        tl.store(out + i, 1)


def test_the_line_of_a_wrong_step() -> None:
    with pytest.raises(InterpreterError) as caught:
        strided[(1,)](np.zeros(4, np.int32), 4, -1)
    assert caught.value.span is not None
    assert caught.value.span.source_line().strip() == "for i in range(0, n, step):"


def test_while_and_if() -> None:
    body = """
  %one = constant {value = 1} : i32
  %two = constant {value = 2} : i32
  %three = constant {value = 3} : i32
  %zero = constant {value = 0} : i32
  %steps, %end = while %zero, %n : i32, i32 before (%s: i32, %a: i32) {
    %more = cmp %a, %one {predicate = 'ne'} : i1
    condition %more, %s, %a
  } do (%t: i32, %c: i32) {
    %bit = and %c, %one : i32
    %odd = cmp %bit, %one {predicate = 'eq'} : i1
    %next = if %odd : i32 then {
      %triple = mul %c, %three : i32
      %u = add %triple, %one : i32
      yield %u
    } else {
      %h = idiv %c, %two : i32
      yield %h
    }
    %v = add %t, %one : i32
    yield %v, %next
  }
  store %o, %steps"""
    out = np.zeros(1, np.int32)
    execute("%o: *i32, %n: i32", body, out, 27)
    assert out[0] == 111
    with pytest.raises(InterpreterError, match="the launch exceeds max_steps = 100 loop iterations"):
        execute("%o: *i32, %n: i32", body, out, 27, max_steps=100)


# Clusters.

RING = """
  %r = cluster_rank : i32
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %ten = constant {value = 10} : i32
  %four = constant {value = 4} : i32
  %box = alloc {name = 'box'} : buffer<i32[1]>
  %mine = local_ptr %box, %zero : *i32@shared
  %v = mul %r, %ten : i32
  store %mine, %v
  cluster_barrier loc('ring.py':8:5)
  %next = add %r, %one : i32
  %peer = rem %next, %four : i32
  %far = remote %box, %peer : buffer<i32[1] remote>
  %fp = local_ptr %far, %zero : *i32@cluster
  %w = load %fp : i32 loc('ring.py':10:9)
  %pid = program_id {axis = 0} : i32
  %op = ptr_add %o, %pid : *i32
  store %op, %w
"""
CLUSTER = "%o: *i32) cluster (4, 1, 1)"


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_distributed_shared_memory(seed: int | None) -> None:
    out = np.zeros(8, np.int32)
    execute(CLUSTER, RING + "cluster_barrier", out, grid=8, seed=seed, check_exit=True)
    assert out.tolist() == [10, 20, 30, 0] * 2


def test_remote_pointers_move_to_the_peer() -> None:
    body = RING.replace("%far = remote %box, %peer : buffer<i32[1] remote>", "").replace(
        "%fp = local_ptr %far, %zero : *i32@cluster", "%fp = remote %mine, %peer : *i32@cluster"
    )
    out = np.zeros(4, np.int32)
    execute(CLUSTER, body, out, grid=4)
    assert out.tolist() == [10, 20, 30, 0]


def test_exit_before_a_peers_access_is_reported_on_request() -> None:
    out = np.zeros(4, np.int32)
    execute(CLUSTER, RING, out, grid=4)
    with pytest.raises(InterpreterError) as caught:
        execute(CLUSTER, RING, out, grid=4, check_exit=True)
    assert str(caught.value) == (
        "ring.py:10:9: load accesses shared buffer box of cluster rank 1, which may have exited by then\n"
        "  program id (0, 0, 0), cluster rank 0\n"
        "  help: let a cluster barrier follow the access: shared memory ends with its CTA"
    )


def test_a_missing_barrier_shows_as_uninitialised_memory() -> None:
    with pytest.raises(InterpreterError) as caught:
        execute(CLUSTER, RING.replace("cluster_barrier loc('ring.py':8:5)", ""), np.zeros(4, np.int32), grid=4)
    assert str(caught.value) == (
        "ring.py:10:9: load reads element 0 of shared buffer box before anything was written there\n"
        "  program id (0, 0, 0), cluster rank 0\n"
        "  help: write the buffer first, or give tle.gpu.alloc an init_value"
    )


def test_a_rank_that_does_not_exist() -> None:
    with pytest.raises(InterpreterError, match="remote: rank 4 does not exist in a cluster of 4 CTAs"):
        execute(CLUSTER, RING.replace("rem %next, %four", "add %r, %four"), np.zeros(4, np.int32), grid=4)


def test_remote_to_itself_without_cluster() -> None:
    out = np.zeros(1, np.int32)
    execute("%o: *i32", RING.replace("rem %next, %four", "rem %next, %one"), out)
    assert out.tolist() == [0]


def test_cluster_ranks_count_x_fastest() -> None:
    out = np.zeros((4, 4), np.int32)
    body = """
  %x = program_id {axis = 0} : i32
  %y = program_id {axis = 1} : i32
  %four = constant {value = 4} : i32
  %r = cluster_rank : i32
  %a = mul %y, %four : i32
  %b = add %a, %x : i32
  %p = ptr_add %o, %b : *i32
  store %p, %r"""
    execute("%o: *i32) cluster (2, 2, 1)", body, out, grid=(4, 4))
    assert out.tolist() == [[0, 1, 0, 1], [2, 3, 2, 3]] * 2


def test_barriers_among_some_ranks() -> None:
    body = """
  %zero = constant {value = 0} : i32
  %r = cluster_rank : i32
  %old = atomic_rmw %o, %zero {kind = 'add'} : i32
  cluster_barrier {members = (0, 2)}
  cluster_barrier {members = (1, 3)}
  %two = constant {value = 2} : i32
  %one = constant {value = 1} : i32
  %pair = rem %r, %two : i32
  %p = ptr_add %o, %pair : *i32
  %v = atomic_rmw %p, %one {kind = 'add'} : i32
  cluster_barrier {members = (0, 2)}
  cluster_barrier {members = (1, 3)}
  %w = load %p : i32
  %four = constant {value = 4} : i32
  %at = add %r, %four : i32
  %q = ptr_add %o, %at : *i32
  store %q, %w"""
    out = np.zeros(8, np.int32)
    execute(CLUSTER, body, out, grid=4)
    assert out.tolist() == [2, 2, 0, 0, 2, 2, 2, 2]


# Deadlocks.


def test_a_barrier_that_one_rank_skips() -> None:
    body = """
  %r = cluster_rank : i32
  %zero = constant {value = 0} : i32
  %c = cmp %r, %zero {predicate = 'ne'} : i1
  cluster_barrier loc('skip.py':3:5)
  if %c then { cluster_barrier loc('skip.py':5:9) yield } else { yield }"""
    with pytest.raises(Deadlock) as caught:
        execute(") cluster (4, 1, 1)", body, grid=8)
    assert str(caught.value) == (
        "skip.py:5:9: deadlock: 3 of 4 CTAs stand at the cluster barrier, the other will never come\n"
        "  program (0, 0, 0): exited, 1 barrier passed\n"
        "  program (1, 0, 0), program (2, 0, 0), program (3, 0, 0): waits at skip.py:5 (cluster_barrier), "
        "1 barrier passed\n"
        "  help: every member must execute the barrier the same number of times: guard it only by conditions that "
        "are the same in all of them"
    )


def test_two_barriers_that_wait_for_each_other() -> None:
    body = """
  %r = cluster_rank : i32
  %zero = constant {value = 0} : i32
  %c = cmp %r, %zero {predicate = 'eq'} : i1
  if %c then {
    cluster_barrier {members = (0, 1)} loc('two.py':4:9)
    yield
  } else {
    cluster_barrier loc('two.py':6:9)
    yield
  }"""
    with pytest.raises(Deadlock) as caught:
        execute(") cluster (2, 1, 1)", body, grid=2)
    assert str(caught.value) == (
        "two.py:4:9: deadlock: 1 of 2 CTAs stands at the barrier of cluster ranks (0, 1), the other will never come\n"
        "  program (0, 0, 0): waits at two.py:4 (cluster_barrier), 0 barriers passed\n"
        "  program (1, 0, 0): waits at two.py:6 (cluster_barrier), 0 barriers passed\n"
        "  help: every member must execute the barrier the same number of times: guard it only by conditions that "
        "are the same in all of them"
    )


GRID = """
  %pid = program_id {axis = 0} : i32
  %old = atomic_rmw %a, %pid {kind = 'add'} : i32
  grid_barrier loc('grid.py':4:5)
  %v = load %a : i32
  %p = ptr_add %o, %pid : *i32
  store %p, %v
"""


@pytest.mark.parametrize("seed", [None, 7])
def test_grid_barrier(seed: int | None) -> None:
    total, out = i32(0), np.zeros(64, np.int32)
    execute("%a: *i32, %o: *i32) cooperative", GRID, total, out, grid=64, seed=seed)
    assert out.tolist() == [64 * 63 // 2] * 64


def test_a_grid_barrier_some_ctas_never_reach() -> None:
    body = """
  %pid = program_id {axis = 0} : i32
  %two = constant {value = 2} : i32
  %c = cmp %pid, %two {predicate = 'lt'} : i1
  if %c then { grid_barrier loc('grid.py':4:5) yield } else { yield }"""
    with pytest.raises(Deadlock) as caught:
        execute(") cooperative", body, grid=8)
    assert str(caught.value) == (
        "grid.py:4:5: deadlock: 2 of 8 CTAs stand at the grid barrier, the other 6 will never come\n"
        "  program (0, 0, 0), program (1, 0, 0): waits at grid.py:4 (grid_barrier), 0 barriers passed\n"
        "  program (2, 0, 0) and 5 more: exited, 0 barriers passed\n"
        "  help: every member must execute the barrier the same number of times: guard it only by conditions that "
        "are the same in all of them"
    )


# Loops that wait.

# Each CTA waits until its predecessor (or, reversed, its successor) has set its flag; then sets its own.
CHAIN = """
  %pid = program_id {axis = 0} : i32
  %one = constant {value = 1} : i32
  %zero = constant {value = 0} : i32
  %before = add %pid, %step : i32
  %count = num_programs {axis = 0} : i32
  %low = cmp %before, %zero {predicate = 'ge'} : i1
  %high = cmp %before, %count {predicate = 'lt'} : i1
  %has = and %low, %high : i1
  if %has then {
    %wait = ptr_add %flags, %before : *i32
    while before {
      %f = load %wait {volatile = True} : i32
      %unset = cmp %f, %zero {predicate = 'eq'} : i1
      condition %unset
    } do { yield } loc('chain.py':9:5)
    yield
  } else { yield }
  %mine = ptr_add %flags, %pid : *i32
  %ticket = atomic_rmw %next, %one {kind = 'add'} : i32
  %set = add %ticket, %one : i32
  store %mine, %set
"""
CHAIN_ARGS = "%flags: *i32, %next: *i32, %step: i32"


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("seed", [None, 3])
def test_ctas_that_wait_for_each_others_flags(step: int, seed: int | None) -> None:
    flags = np.zeros(20, np.int32)
    execute(CHAIN_ARGS, CHAIN, flags, i32(0), step, grid=20, seed=seed)
    assert flags.tolist() == (list(range(1, 21)) if step < 0 else list(range(20, 0, -1)))


def test_a_wait_that_never_ends() -> None:
    with pytest.raises(Deadlock) as caught:
        execute(CHAIN_ARGS, CHAIN, np.zeros(3, np.int32), i32(0), 0, grid=3)
    assert str(caught.value) == (
        "chain.py:9:5: livelock: program (0, 0, 0) repeats a loop, but no CTA will change what it waits for\n"
        "  program (0, 0, 0), program (1, 0, 0), program (2, 0, 0): loops at chain.py:9 (while), 0 barriers passed\n"
        "  help: check that another CTA of the launch writes the value the loop waits for"
    )


LOCK = """
  %one = constant {value = 1} : i32
  %zero = constant {value = 0} : i32
  while before {
    %old = atomic_cas %lock, %zero, %one : i32
    %taken = cmp %old, %zero {predicate = 'ne'} : i1
    condition %taken
  } do { yield }
  cluster_barrier
  %free = atomic_rmw %lock, %zero {kind = 'xchg'} : i32
"""


def test_a_lock_held_across_a_barrier_deadlocks() -> None:
    with pytest.raises(Deadlock, match="deadlock: 1 of 2 CTAs stands at the cluster barrier"):
        execute("%lock: *i32) cluster (2, 1, 1)", LOCK, i32(0), grid=2)
    lock = i32(0)
    execute("%lock: *i32", LOCK, lock, grid=5)
    assert lock[0] == 0


def test_a_loop_that_counts_while_it_waits_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tle2cuda.interpreter.scheduler.SPIN_ROUNDS", 20)
    body = """
  %zero = constant {value = 0} : i32
  %one = constant {value = 1} : i32
  %n = while %zero : i32 before (%a: i32) {
    %f = load %flag : i32
    %unset = cmp %f, %zero {predicate = 'eq'} : i1
    condition %unset, %a
  } do (%b: i32) {
    %c = add %b, %one : i32
    yield %c
  }"""
    with pytest.raises(Deadlock, match="livelock"):
        execute("%flag: *i32", body, i32(0))


# Output, faults of ours.


def test_print_and_assert() -> None:
    text = io.StringIO()
    body = """
  %pid = program_id {axis = 0} : i32
  print %pid, %n {prefix = 'v: ', hex = False}
  %c = cmp %pid, %n {predicate = 'lt'} : i1
  assert %c {message = 'too many'} loc('k.py':4:5)"""
    k = kernel("%n: i32", body)
    with pytest.raises(AssertionError, match=r"k.py:4:5: tl.device_assert failed: too many"):
        run(k, 2, [1], output=text)
    assert text.getvalue().splitlines()[0] == "pid (0, 0, 0) idx ()v: (operand 0) 0"


def test_custom_combine_functions_with_control_flow() -> None:
    body = """
  %r = arange {start = 0, end = 8} : i32[8]
  %zero = constant {value = 0} : i32
  %m = reduce %r {axis = 0, kind = 'custom'} : i32 do (%a: i32, %b: i32) {
    %c = cmp %a, %b {predicate = 'lt'} : i1
    %d = if %c : i32 then { yield %b } else { yield %a }
    yield %d
  }
  store %o, %m"""
    out = i32(0)
    execute("%o: *i32", body, out)
    assert out[0] == 7


def test_a_fault_of_a_meaning_is_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from tle2cuda.errors import InternalError
    from tle2cuda.ops.base import MEANINGS

    def broken(ctx: Any, op: Any, a: Any, b: Any) -> Any:
        raise ValueError("no")

    monkeypatch.setitem(MEANINGS, "add", broken)
    with pytest.raises(InternalError) as caught:
        run(kernel("%n: i32", "%m = add %n, %n : i32 loc('k.py':2:3)"), 1, [1])
    assert caught.value.message == "internal error while interpreting add: ValueError: no"
    assert caught.value.span is not None and caught.value.span.line == 2


def test_ir_behind_later_passes_means_the_same() -> None:
    body = """
  %r = arange {start = 0, end = 8} : i32[8]
  %scratch = alloc {name = 'scratch', scratch = True} : buffer<i32[32]>
  %s, %t = fused : i32[8], i32[8] do {
    %a = add %r, %r : i32[8]
    %c = convert_layout %a : i32[8]
    %h = hint %c {divisibility = (2,)} : i32[8]
    yield %a, %h
  }
  %sum = reduce %t, %scratch {axis = 0, kind = 'sum', num_scratch = 1} : i32
  barrier {reason = 'scratch'}
  %tile = splat %sum : i32[8]
  %z = add %tile, %s : i32[8]
  %os = splat %o : *i32[8]
  %p = ptr_add %os, %r : *i32[8]
  store %p, %z"""
    out = np.zeros(8, np.int32)
    execute("%o: *i32", body, out)
    assert out.tolist() == [56 + 2 * i for i in range(8)]


def test_cpu_tensors_are_arguments() -> None:
    torch = pytest.importorskip("torch")
    x = torch.zeros(4, dtype=torch.bfloat16)
    execute("%x: *bf16, %f: fp32", "%v = cast %f : bf16 store %x, %v", x, 1.5)
    assert x.tolist() == [1.5, 0, 0, 0]


def test_arrays_by_dlpack() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    x = i32(0)
    execute("%x: *i32, %n: i32", "store %x, %n", Foreign(x), 9)
    assert x[0] == 9


def test_device_arrays_are_refused() -> None:
    class OnDevice:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    with pytest.raises(ArgumentError, match="argument x lies on a device"):
        execute("%x: *i32", "", OnDevice())

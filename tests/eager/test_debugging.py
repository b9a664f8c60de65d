"""Eager mode as a debugger sees it: the user's lines, locals, tracebacks, and what it reports."""

from __future__ import annotations

import bdb
import inspect
import linecache
import os
import pathlib
import subprocess
import sys
import traceback
from unittest import mock

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import load
from tle2cuda.errors import Deadlock, DTypeMismatch, InterpreterError, InvalidType, OffsetOverflow, OutOfBounds
from tle2cuda.language import tle


@tle2cuda.jit
def stops(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    doubled = 2 * tl.load(x + i, mask=i < n)
    breakpoint()
    tl.store(out + i, doubled, mask=i < n)


def test_breakpoint_stops_in_the_users_line_with_tiles_as_locals(monkeypatch):
    seen = []

    def hook():
        frame = inspect.currentframe().f_back
        seen.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, dict(frame.f_locals)))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x, out = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    stops.eager[(2,)](x, out, 6, BLOCK=4)
    np.testing.assert_array_equal(out, 2 * x)
    assert len(seen) == 2
    file, line, name, names = seen[1]
    assert (file, name) == (__file__, "stops")
    assert "breakpoint()" in linecache.getline(file, line)
    assert repr(names["i"]) == "tile i32[4] [4 5 6 7]"
    assert repr(names["doubled"]) == "tile fp32[4] [ 8. 10.  0.  0.]"
    assert repr(names["x"]) == "pointer *fp32 x + 0"
    assert repr(names["BLOCK"]) == "4"


def test_elements_at_a_debuggers_prompt(monkeypatch):
    """What is typed there is told where the elements are, not how kernels are written."""
    said = []

    def hook():
        names = inspect.currentframe().f_back.f_locals
        for typed in ("i[0]", "list(i)"):
            with pytest.raises(InvalidType) as caught:
                eval(typed, {}, names)
            said.append(str(caught.value))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x = np.zeros(4, np.float32)
    stops.eager[(1,)](x, x, 4, BLOCK=4)
    help_text = "\n  help: the elements are in `.data`, an array of NumPy: x.data[0]"
    assert said == [
        f"a tile is indexed with None and `:` only, got 0{help_text}",
        f"a tile cannot be iterated over or unpacked (tile i32[4]){help_text}",
    ]


def test_addresses_of_no_argument_say_what_to_pass():
    @tle2cuda.jit
    def far(x):
        tl.store(x, tl.load(tl.full((), 4096, tl.int64).to(tl.pointer_type(tl.float32))))

    with pytest.raises(OutOfBounds) as caught:
        far.eager[(1,)](np.zeros(1, np.float32))
    assert caught.value.help == "an array that is reached through a table of pointers must be alive, and lie in host memory"


def _found(line: str) -> int:
    """Number of the line of this file that holds a text alone."""
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.strip() == line)


def place_of(line: str, part: str = "") -> str:
    """``file:line:column`` of a part of a line of this file, or ``file:line``."""
    column = f":{5 + line.index(part)}" if part else ""
    return f"test_debugging.py:{_found(line)}{column}"


def excerpt_of(line: str, part: str) -> str:
    """The line with carets below the part, as errors show it."""
    number = f"  {_found(line)} | "
    return f"\n{number}    {line}\n{' ' * (len(number) - 2)}|     {' ' * line.index(part)}{'^' * len(part)}\n"


@tle2cuda.jit
def inner_step(x, i):
    return tl.load(x + i)


@tle2cuda.jit
def reads_too_far(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = inner_step(x, i)
    tl.store(out + i, value)


def test_an_error_ends_in_the_users_line_and_names_the_element():
    with pytest.raises(OutOfBounds) as caught:
        reads_too_far.eager[(2,)](np.zeros(6, np.float32), np.zeros(8, np.float32), BLOCK=4)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.line for frame in frames[-2:]] == ["value = inner_step(x, i)", "return tl.load(x + i)"]
    package = os.path.dirname(tle2cuda.__file__)
    assert all(os.path.basename(f.filename) == "jit_function.py" for f in frames if f.filename.startswith(package))
    place = ("return tl.load(x + i)", "tl.load(x + i)")
    assert str(caught.value) == (
        f"{place_of(*place)}: tl.load: element [2] accesses element 6 of `x`, which has 6\n"
        f"{excerpt_of(*place)}"
        f"  in inner_step, called from {place_of('value = inner_step(x, i)')} in reads_too_far\n"
        "  `x`: argument of 6 elements of 4 bytes, shape [6]\n"
        "  2 elements are outside\n"
        "  in program (1, 0, 0) of the grid (2, 1, 1)\n"
        "  help: give a mask that is false there, such as mask=i < n"
    )


@tle2cuda.jit
def row_offsets(x, out, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) + 70000
    tl.store(out + i, tl.load(x + row * stride + i, mask=i < 0))
    tl.store(out + i, tl.load(x + (row * stride - row * stride) + i))
    tl.store(out + i, tl.load(x + row * stride + i))


def test_an_offset_that_wrapped_is_reported_when_it_is_used():
    x, out = np.zeros(16, np.float32), np.zeros(16, np.float32)
    with pytest.raises(OffsetOverflow) as caught:
        row_offsets.eager[(1,)](x, out, 70000, BLOCK=16)
    line, load_ = "tl.store(out + i, tl.load(x + row * stride + i))", "tl.load(x + row * stride + i)"
    assert str(caught.value) == (
        f"{place_of(line, load_)}: tl.load: element [0]: the offset wrapped in 32 bits before it reached the pointer: "
        "4900000000 became 605032704 elements from `x`\n"
        f"{excerpt_of(line, load_)}"
        "  in program (0, 0, 0) of the grid (1, 1, 1)\n"
        "  help: compute the offset in 64 bits: tl.program_id(0).to(tl.int64), or x.to(tl.int64) before multiplying"
    )
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "tl.store(out + i, tl.load(x + row * stride + i))"


@tle2cuda.jit
def constants(half, out, N: tl.constexpr):
    """Plain assignment makes a number a run-time scalar; constants adapt to what they meet."""
    i = tl.arange(0, 4)
    value = tl.load(half + i)
    plain = 2.5
    kept: tl.constexpr = 2.5
    tl.static_assert((value * plain).dtype == tl.float32)
    tl.static_assert((value * kept).dtype == tl.float16)
    tl.static_assert((value * N).dtype == tl.float16)
    first, second = 1, 2.5
    tl.static_assert(first.dtype == tl.int32 and second.dtype == tl.float32)
    count = 0
    count += N
    tl.static_assert(count.dtype == tl.int32)
    tl.static_assert(N // -2 == -4)  # of constants, as Python divides
    for k in range(2):
        tl.static_assert(k.dtype == tl.int32)
    for k in tl.static_range(2):
        tl.static_assert(k < 2)
    ok = (value > 0) and (i != 2)
    flag = tl.program_id(0) == 0 and N == 7
    if flag and not (tl.program_id(0) > 0):
        tl.store(out + i, count // -2, mask=ok)


def test_constants_and_run_time_values_differ_as_in_the_language():
    out = np.zeros(4, np.int32)
    for launch in (constants.eager, constants):
        out[:] = 0
        with mock.patch.dict(os.environ, {"TLE2CUDA_DEVICE": "interpreter"}):
            launch[(1,)](np.array([1, -1, 1, 1], np.float16), out, N=7)
        np.testing.assert_array_equal(out, [-3, 0, 0, -3])


@tle2cuda.jit
def asserts(x):
    i = tl.arange(0, 4)
    value = tl.load(x + i)
    assert value >= 0, "negative"


def test_assert_takes_tiles():
    asserts.eager[(1,)](np.zeros(4, np.int32))
    with pytest.raises(AssertionError, match="negative") as caught:
        asserts.eager[(1,)](np.array([0, 1, -2, 3], np.int32))
    assert 'assert value >= 0, "negative"' in "".join(traceback.format_tb(caught.value.__traceback__))


@tle2cuda.jit
def tile_condition(x):
    if tl.load(x + tl.arange(0, 4)) > 0:
        tl.store(x, 1)


def test_a_tile_is_no_condition():
    with pytest.raises(DTypeMismatch, match="the condition must be a scalar, got tile i1"):
        tile_condition.eager[(1,)](np.zeros(4, np.int32))


@tle2cuda.jit
def waits_forever(flag):
    while tl.load(flag, volatile=True) == 0:
        pass


@tle2cuda.jit
def hands_on(flag, out):
    """Each program waits for the next one."""
    me = tl.program_id(0)
    if me < tl.num_programs(0) - 1:
        while tl.atomic_add(flag + me + 1, 0) == 0:
            pass
    tl.store(out + me, tl.atomic_add(flag, 1))
    tl.atomic_xchg(flag + me, 1)


def test_programs_that_wait_take_turns():
    flag, out = np.zeros(9, np.int32), np.zeros(8, np.int32)
    hands_on.eager[(8,)](flag, out)
    assert flag[1:8].all()
    with pytest.raises(Deadlock, match="waits for a value in memory that no other program will change"):
        waits_forever.eager[(3,)](np.zeros(1, np.int32))


MESH = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})


@tle2cuda.jit
def sums_of_cluster(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    rank = tle.shard_id(MESH, "cluster_x")
    part = tle.gpu.alloc([N], tl.int32, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(part, (i,)), tl.load(x + rank * N + i))
    tle.distributed_barrier(MESH)
    total = tl.zeros((N,), tl.int32)
    for other in tl.static_range(4):
        total += tl.load(tle.gpu.local_ptr(tle.remote(part, other, scope=MESH), (i,)))
    tle.distributed_barrier(MESH)
    tl.store(out + rank * N + i, total)


@tle2cuda.jit
def half_of_them_wait(out):
    rank = tle.shard_id(MESH, "cluster_x")
    if rank < 2:
        tle.distributed_barrier(MESH)
    tl.store(out + rank, 1)


@tle2cuda.jit
def reads_unwritten(out, N: tl.constexpr):
    buffer = tle.gpu.alloc([N], tl.int32, nv_mma_shared_layout=False)
    tl.store(out + tl.arange(0, N), tl.load(tle.gpu.local_ptr(buffer)))


def test_clusters():
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    sums_of_cluster.eager[(1,)](x, out, N=8)
    np.testing.assert_array_equal(out, np.tile(x.reshape(4, 8).sum(0), 4))
    with pytest.raises(Deadlock) as caught:
        half_of_them_wait.eager[(1,)](out)
    assert "program (0, 0, 0) waits at tle.distributed_barrier" in str(caught.value)
    with pytest.raises(InterpreterError, match="reads element 0 of `buffer 0` before anything was written to it"):
        reads_unwritten.eager[(1,)](out, N=8)


def test_a_failing_program_stops_those_that_wait():
    @tle2cuda.jit
    def fails(out):
        rank = tle.shard_id(MESH, "cluster_x")
        if rank == 3:
            tl.store(out + 100, 1)
        tle.distributed_barrier(MESH)

    with pytest.raises(OutOfBounds, match="element 100 of `out`"):
        fails.eager[(1,)](np.zeros(4, np.int32))


def test_environment(tmp_path):
    module = load("@tle2cuda.jit\ndef k(out):\n    print('in Python')\n    tl.store(out, 1)\n", tmp_path)
    for variables in ({"TLE2CUDA_DEVICE": "eager"}, {"TRITON_INTERPRET": "1", "TLE2CUDA_DEVICE": ""}):
        out = np.zeros(1, np.int32)
        with mock.patch.dict(os.environ, variables):
            module.k[(1,)](out)
        assert out[0] == 1


def test_run_on_eager(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tle2cuda, tle2cuda.language as tl\n"
        "@tle2cuda.jit\n"
        "def k(out):\n"
        "    i = tl.arange(0, 4)\n"
        "    print(i)\n"
        "    tl.store(out + i, i)\n"
        "k[(1,)](np.zeros(4, np.int32))\n"
    )
    command = [sys.executable, "-m", "tle2cuda", "run", "--on", "eager", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "tile i32[4] [0 1 2 3]\n"


def test_a_debugger_steps_through_the_kernel(tmp_path):
    """`pdb` prints tiles and evaluates the language's functions; its commands pass over frames that are not the user's."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tle2cuda, tle2cuda.language as tl\n"
        "@tle2cuda.jit\n"
        "def inner(value):\n"
        "    return value + 1\n"
        "@tle2cuda.jit\n"
        "def k(x, out):\n"
        "    i = tl.arange(0, 4)\n"
        "    value = tl.load(x + i)\n"
        "    breakpoint()\n"
        "    value = inner(value)\n"
        "    tl.store(out + i, value)\n"
        "x = np.arange(4, dtype=np.int32)\n"
        "k.eager[(1,)](x, np.zeros(4, np.int32))\n"
    )
    commands = "p tl.sum(value, 0)\ns\nw\nu\np i\nu\ns\ns\nn\nc\n"
    for options in ([], ["-m", "pdb"]):  # `breakpoint` by itself, and within a debugger that runs already
        done = subprocess.run(
            [sys.executable, *options, str(script)],
            input=("b 10\nc\n" if options else "") + commands,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        shown = done.stdout.replace(str(script), "script.py").replace("(Pdb) ", "")
        stack = "  script.py(13)<module>()\n-> k.eager[(1,)](x, np.zeros(4, np.int32))\n  script.py(10)k()\n"
        assert "> script.py(10)k()\n-> value = inner(value)\n" in shown
        assert "scalar i32 6\n--Call--\n> script.py(3)inner()\n-> def inner(value):\n" in shown
        assert f"{stack}-> value = inner(value)\n> script.py(3)inner()\n" in shown
        assert "> script.py(10)k()\n-> value = inner(value)\ntile i32[4] [0 1 2 3]\n> script.py(13)<module>()\n" in shown
        assert "> script.py(11)k()\n-> tl.store(out + i, value)\n" in shown
        assert "site-packages" not in shown and f"{os.sep}tle2cuda{os.sep}" not in shown


@tle2cuda.jit
def left(x):
    value = tl.load(x)
    raise_quit(value)


def raise_quit(value):
    raise bdb.BdbQuit


def test_leaving_a_debugger_shows_no_frames_of_ours() -> None:
    with pytest.raises(bdb.BdbQuit) as caught:
        left.eager[(1,)](np.zeros(1, np.int32))
    files = {entry.path.name if hasattr(entry.path, "name") else str(entry.path) for entry in caught.traceback}
    assert "test_debugging.py" in files
    assert not files & {"launch.py", "launches.py", "program.py"}


@tle2cuda.jit
def bool_quotients(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, (a // b).to(tl.int32) + 2 * (a % b) + 4 * (True % b))


@pytest.mark.parametrize("device", ["eager", "interpreter"])
def test_bool_by_false_is_true_and_leaves_the_dividend(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(4, np.int32)
    bool_quotients[(1,)](np.array([False, False, True, True]), np.array([False, True, False, True]), out, N=4)
    assert out.tolist() == [1 + 4, 0, 1 + 2 + 4, 1]


@tle2cuda.jit
def remainders(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) % tl.load(y + i))


def test_remainders_of_infinities_and_by_zero_are_those_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    special = np.float32([np.inf, 1, -1, 0, np.nan, 5.5, -np.inf, -0.0])
    floats = [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(special, special)]
    whole = np.int32([-7, 0, 7, -(2**31), 3, 2**31 - 1, -1, 1])
    integers = [np.ascontiguousarray(a.ravel()) for a in np.meshgrid(whole, whole)]
    for x, y in (floats, integers):
        found = {}
        for device in ("eager", "interpreter"):
            monkeypatch.setenv("TLE2CUDA_DEVICE", device)
            found[device] = np.zeros(64, x.dtype)
            remainders[(1,)](x, y, found[device], N=64)
        np.testing.assert_array_equal(found["eager"], found["interpreter"])
    assert np.isinf(found["eager"]).sum() == 0


@tle2cuda.jit
def speaking(x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    total = tl.sum(value, axis=0)
    print(f"value is {value}, total {total} or {total:.2f}")
    tl.device_print("value:", value)


def test_values_stand_in_formatted_text(capsys: pytest.CaptureFixture[str]) -> None:
    speaking.eager[(1,)](np.arange(4, dtype=np.float32), N=4)
    shown = capsys.readouterr().out
    assert "[0. 1. 2. 3.]" in shown and "or 6.00" in shown and "value:" in shown


@tle2cuda.jit
def rounds_as_stored(x, out):
    i = tl.arange(0, 16)
    value = tl.load(x + i)
    tl.store(out + i, value.to(out.dtype.element_ty, fp_downcast_rounding="rtne"))


def test_a_rounding_mode_goes_with_a_conversion_to_the_same_dtype() -> None:
    x = np.arange(16, dtype=np.float32) / 3
    for dtype in (np.float32, np.float16):
        out = np.zeros(16, dtype)
        rounds_as_stored.eager[(1,)](x, out)
        assert (out == x.astype(dtype)).all()


@tle2cuda.jit
def beyond_all_bounds(x, out, a: tl.float32, b: tl.float16, n, C: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, v * a + b + v / (v - v) + tl.log(v) + tl.exp(v * 1e30) + tl.sqrt(v))
    tl.store(out + N + i, tl.where(v == 0, C, v.to(tl.int32)) + v.to(tl.int8) + (v % (v - v)))
    tl.store(out + 2 * N + i, v.to(tl.int64) * 9223372036854775807 + (i << 31) * n + i // (n - n))
    tl.store(out + 3 * N + i, tl.cumsum(v * 1e38, 0) + tl.full((N,), C, tl.float32) * v.to(tl.float16))


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_all_bounds_are_no_reason_to_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    special = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-45, 3e9, -3e9, 1e20, 65504, 70000, 448]
    found = {}
    for device in ("interpreter", "eager", "emulator"):
        monkeypatch.setenv("TLE2CUDA_DEVICE", device)
        found[device] = np.zeros(64, np.float32)
        beyond_all_bounds[(1,)](np.array(special, np.float32), found[device], 1e300, 1e10, 7, 1e300, N=16)
    for device in ("eager", "emulator"):
        np.testing.assert_array_equal(found[device], found["interpreter"])
    assert np.isinf(found["interpreter"]).any() and np.isfinite(found["interpreter"]).any()


@tle2cuda.jit
def multiplies_and_adds(x, y, z, out, rest, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
    tl.store(out + i, tl.fma(a, b, c))
    tl.store(rest + i, a % b)


def test_zeros_and_overflows_of_multiply_add_are_those_of_the_emitted_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose sum is 0, whose product alone is too large, and whose remainder is 0 of either sign."""
    special = np.array(
        [0.0, -0.0, 1, -1, 1.5, 1e-300, -1e-300, 1e300, np.inf, -np.inf, np.nan, 1.7e308, 2.0, -2.0, 3e-320, 7]
    )
    x, y, z = (np.ascontiguousarray(v.ravel()) for v in np.meshgrid(special, special, special[[0, 1, 3, 8, 9, 11, 13, 14]]))
    for dtype in (np.float64, np.float32):
        with np.errstate(all="ignore"):
            arrays = [v.astype(dtype) for v in (x, y, z)]
        found = {}
        for device in ("emulator", "interpreter", "eager"):
            monkeypatch.setenv("TLE2CUDA_DEVICE", device)
            found[device] = np.zeros((2, x.size), dtype)
            multiplies_and_adds[(1,)](*arrays, *found[device], N=x.size)
        for device in ("interpreter", "eager"):
            np.testing.assert_array_equal(found[device], found["emulator"])
            signs = [np.signbit(found[one]) & ~np.isnan(found[one]) for one in (device, "emulator")]
            np.testing.assert_array_equal(*signs)

"""Kernels with pipes, barriers and partitions as IR text: each copies or sums rows of 128 floats.

All have the arguments ``%x`` (rows to read), ``%y`` (rows to write) and ``%n`` (their number).
"""

from __future__ import annotations

from tle2cuda.ir.nodes import Kernel
from tle2cuda.ir.parser import parse_kernel

_HEAD = """
kernel {name}(%x: *fp32 divisibility 16, %y: *fp32 divisibility 16, %n: i32) num_warps 4 target "sm_90a" {{
  %zero = constant {{value = 0}} : i32
  %one = constant {{value = 1}} : i32
  %row = constant {{value = 128}} : i32
  %columns = arange {{start = 0, end = 128}} : i32[128]
"""

# The pointers to row %k.
_ROW = """
      %at{0} = mul %k{0}, %row : i32
      %base{0} = ptr_add %{1}, %at{0} : *fp32
      %many{0} = splat %base{0} : *fp32[128]
      %ptrs{0} = ptr_add %many{0}, %columns : *fp32[128]
"""

# Stage and lap of iteration %k in a ring of 2.
_STAGE = """
      %stage{0} = and %k{0}, %one : i32
      %lap{0} = shr %k{0}, %one : i32
"""

_PIPE = """
  %ring = alloc {name = 'ring', alignment_bytes = 128} : buffer<fp32[2, 128]>
  %p = pipe %ring {name = 'p', capacity = 2, fields = ('data',), readers = (), one_shot = False}
    : pipe<2, data: buffer<fp32[2, 128]>>
"""

_CONSUME = f"""
    for %zero, %n, %one do (%kc: i32) {{{_STAGE.format("c")}
      %closed, %got = pipe_wait %p, %stagec, %lapc : i1, buffer<fp32[128]>
      %gotptrs = local_ptr %got : *fp32@shared[128]
      %value = load %gotptrs : fp32[128]
      pipe_release %p, %stagec, %lapc{_ROW.format("c", "y")}
      store %ptrsc, %value
      yield
    }}
"""

_PRODUCE_BY_STORES = f"""
    for %zero, %n, %one do (%kp: i32) {{{_STAGE.format("p")}
      %slot = pipe_acquire %p, %stagep, %lapp : buffer<fp32[128]>{_ROW.format("p", "x")}
      %loaded = load %ptrsp : fp32[128]
      %slotptrs = local_ptr %slot : *fp32@shared[128]
      store %slotptrs, %loaded
      pipe_commit %p, %stagep, %lapp
      yield
    }}
"""

_PRODUCE_BY_TMA = f"""
    %cols = constant {{value = 128}} : i64
    %unit = constant {{value = 1}} : i64
    for %zero, %n, %one do (%kp: i32) {{{_STAGE.format("p")}
      %slot = pipe_acquire %p, %stagep, %lapp : buffer<fp32[128]>
      tma_load %x, %n, %row, %cols, %unit, %kp, %zero, %slot
        {{rank = 2, block = (1, 128), padding = 'zero', completion = 'blocking'}}
      pipe_commit %p, %stagep, %lapp
      yield
    }}
"""

_TWO_TASKS = """
  warp_specialize {warps = (4, 4), registers = (168,), names = ('consume', 'produce')} do {
    CONSUME
    yield
  } do {
    PRODUCE
    yield
  }
"""

_CP_ASYNC = f"""
  %ring = alloc {{name = 'ring'}} : buffer<fp32[2, 128]>
  for %zero, %n, %one do (%kp: i32) {{{_STAGE.format("p")}
      %slot = buffer_view %ring, %stagep {{kind = 'slot'}} : buffer<fp32[128]>{_ROW.format("p", "x")}
      cp_async %ptrsp, %slot
      cp_async_commit
      cp_async_wait {{pending = 0}}
      %slotptrs = local_ptr %slot : *fp32@shared[128]
      %value = load %slotptrs : fp32[128]
      %toy = ptr_add %y, %atp : *fp32
      %manyy = splat %toy : *fp32[128]
      %ptrsy = ptr_add %manyy, %columns : *fp32[128]
      store %ptrsy, %value
      yield
  }}
"""

_MBARRIERS = f"""
  %ring = alloc {{name = 'ring', alignment_bytes = 128}} : buffer<fp32[2, 128]>
  %full = alloc_barriers {{name = 'full', arrivals = 1, init = 'pending', expect_bytes = 512}} : barriers<2>
  %free = alloc_barriers {{name = 'free', arrivals = 1, init = 'ready'}} : barriers<2>
  warp_specialize {{warps = (4, 1), registers = (40,), names = ('consume', 'produce')}} do {{
    for %zero, %n, %one do (%kc: i32) {{{_STAGE.format("c")}
      mbarrier_wait %full, %stagec, %lapc
      %got = buffer_view %ring, %stagec {{kind = 'slot'}} : buffer<fp32[128]>
      %gotptrs = local_ptr %got : *fp32@shared[128]
      %value = load %gotptrs : fp32[128]
      mbarrier_arrive %free, %stagec {{arrivals = 1}}{_ROW.format("c", "y")}
      store %ptrsc, %value
      yield
    }}
    yield
  }} do {{
    %cols = constant {{value = 128}} : i64
    %unit = constant {{value = 1}} : i64
    for %zero, %n, %one do (%kp: i32) {{{_STAGE.format("p")}
      mbarrier_wait %free, %stagep, %lapp
      %slot = buffer_view %ring, %stagep {{kind = 'slot'}} : buffer<fp32[128]>
      tma_load %x, %n, %row, %cols, %unit, %kp, %zero, %slot, %full, %stagep
        {{rank = 2, block = (1, 128), padding = 'zero', completion = 'barrier'}}
      yield
    }}
    yield
  }}
"""

_TMA_STORE = """
  %row_buffer = alloc {name = 'row', alignment_bytes = 128} : buffer<fp32[128]>
  %cols = constant {value = 128} : i64
  %unit = constant {value = 1} : i64
  for %zero, %n, %one do (%k: i32) {
    tma_load %x, %n, %row, %cols, %unit, %k, %zero, %row_buffer
      {rank = 2, block = (1, 128), padding = 'zero', completion = 'blocking'}
    tma_store %row_buffer, %y, %n, %row, %cols, %unit, %k, %zero {rank = 2, block = (1, 128), kind = 'store'}
    yield
  }
"""


def _two_tasks(produce: str) -> str:
    return _PIPE + _TWO_TASKS.replace("CONSUME", _CONSUME).replace("PRODUCE", produce)


BODIES = {
    "pipe_in_two_tasks": _two_tasks(_PRODUCE_BY_STORES),
    "pipe_filled_by_tma": _two_tasks(_PRODUCE_BY_TMA),
    "cp_async_ring": _CP_ASYNC,
    "mbarrier_ring": _MBARRIERS,
    "tma_row_copy": _TMA_STORE,
}


def text_of(name: str) -> str:
    """The text of one example."""
    return _HEAD.format(name=name) + BODIES[name] + "  yield\n}\n"


def example(name: str) -> Kernel:
    """One example, parsed."""
    return parse_kernel(text_of(name))

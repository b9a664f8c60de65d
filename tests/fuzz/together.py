"""Random kernels whose CTAs or warps work together: clusters that exchange tiles, partitions, rings between them.

What is exchanged lies between barriers, updates of one place commute, and every partition writes to places of its own, so
that no order shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.generate import Writer

MESH = """\
MESH = tle.device_mesh({"block_cluster": [("cluster_x", 2)]})


"""

# ---- clusters -------------------------------------------------------------------------------------------------------


def rank(w: Writer) -> None:
    """The CTA's rank as a name, at the kernel's beginning."""
    w.line(1, 'rank = tle.shard_id(MESH, "cluster_x")')
    w.line(1, "mine = rank + 0")  # which may change, while `rank` names a peer
    w.names.append(w.variable("mine", "int32", ""))


def exchange(w: Writer, depth: int) -> None:
    """A tile of the peer's shared memory, or what both CTAs did to that of rank 0."""
    if depth > 1:
        w.change(depth)
        return
    dtype = w.pick("int32", "int64", "int16", "uint8", "uint32")
    buffer, variable = w.new("b"), w.variable(w.new(), dtype, "N")
    w.line(depth, f"{buffer} = tle.gpu.alloc([N], tl.{dtype}, nv_mma_shared_layout=False)")
    w.line(depth, f"tl.store(tle.gpu.local_ptr({buffer}, (col,)), {w.full('int', 'N')})")
    w.line(depth, "tle.distributed_barrier(MESH)")
    peer = w.pick("(rank + 1) % 2", "1 - rank", "0", "1", "rank")
    places = f"{w.solid('N', 1)}.to(tl.int32) & (N - 1)"
    if dtype in ("int32", "uint32", "int64") and w.chance(0.5):
        kind = w.pick("add", "max", "xor", "or")
        there = f"tle.gpu.local_ptr(tle.remote({buffer}, 0, scope=MESH), ({places},))"
        mask = f", mask={w.condition_solid('N', 1)}" if w.chance(0.3) else ""
        value = f"{w.full('int', 'N')}.to(tl.{dtype})"
        w.line(depth, f"tl.atomic_{kind}({there}, {value}{mask})")
        w.line(depth, "tle.distributed_barrier(MESH)")
    elif w.chance(0.3):  # the peer's memory takes this CTA's tile
        there = f"tle.remote(tle.gpu.local_ptr({buffer}, (N - 1 - col,)), 1 - rank)"
        kept = w.new()
        w.line(depth, f"{kept} = {w.full('int', 'N')}.to(tl.{dtype})")
        w.line(depth, f"tl.store({there}, {kept})")
        w.line(depth, "tle.distributed_barrier(MESH)")
    index = f"{w.solid('N', 1)}.to(tl.int32) & (N - 1)"
    source = f"tle.remote({buffer}, {peer}, scope=MESH)"
    w.line(depth, f"{variable.name} = tl.load(tle.gpu.local_ptr({source}, ({index},)))")
    w.line(depth, "tle.distributed_barrier(MESH)")
    w.names.append(variable)


# ---- partitions -----------------------------------------------------------------------------------------------------


def _begin(w: Writer, name: str, first: str) -> None:
    w.line(0, f"@{w.jit}")
    w.line(0, f"def {name}({first}{', '.join(w.parameters)}, M: tl.constexpr, N: tl.constexpr):")
    w.places()


def _end(w: Writer) -> list[str]:
    return [*w.lines, "", ""]


def partitions(w: Writer, depth: int) -> None:
    """Two or three functions that run side by side, the first of which gives values."""
    if depth > 1 or w.has_roles:
        w.change(depth)
        return
    w.has_roles = True
    count = w.choose.randint(2, 3)
    names = [w.new("role") for _ in range(count)]
    results = []
    for number, name in enumerate(names):
        inner = w.inside()
        _begin(inner, name, "")
        for _ in range(w.choose.randint(1, 3)):
            inner.statement(1)
        if number:
            inner.declare(1)
            for variable in inner.names:
                inner.emit(variable)
        else:
            for _ in range(w.choose.randint(1, 2)):
                inner.declare(1)
            results = inner.names[-2:]
            inner.line(1, f"return {', '.join(v.name for v in results)}")
        w.front += _end(inner)
    arguments = f"({', '.join(w.parameters)}, M, N)"
    calls = ", ".join(f"({name}, {arguments})" for name in names)
    targets = [w.variable(w.new(), v.dtype, v.shape) for v in results]
    warps = [w.choose.choice((1, 2, 4)) for _ in names[1:]]
    call = f"tle.gpu.warp_specialize([{calls}], {warps}, {[24] * len(warps)})"
    w.line(depth, f"{', '.join(v.name for v in targets)} = {call}")
    w.names += targets


def ring(w: Writer, depth: int) -> None:
    """Tiles through a pipe of some stages, from one partition to the other."""
    if depth > 1 or w.has_roles:
        w.change(depth)
        return
    w.has_roles = True
    dtype = w.pick("int32", "int64", "uint32", "int16")
    put, take, data, pipe = w.new("put"), w.new("take"), w.new("b"), w.new("pipe")
    rounds = w.pick("n & 7", "5", "(s & 3) + 1", "s & 15")
    step = w.variable("k", "int32", "")
    inner = w.inside()
    _begin(inner, put, "w, ")
    inner.line(1, f"for k in range({rounds}):")
    inner.names.append(step)
    inner.line(2, "slot = w.acquire(k)")
    if w.chance(0.3) and dtype in ("int32", "int64"):
        inner.line(2, f"tle.gpu.copy(p_{dtype} + (k & 3) * N + col, slot.data, [N])")
    else:
        inner.line(2, f"tl.store(tle.gpu.local_ptr(slot.data), {inner.full('int', 'N')}.to(tl.{dtype}))")
    inner.line(2, "w.commit(k)")
    w.front += _end(inner)
    inner = w.inside()
    _begin(inner, take, "r, ")
    inner.line(1, "total = (col * 0).to(tl.int64)")
    inner.line(1, f"for k in range({rounds}):")
    inner.names.append(step)
    inner.line(2, "got = r.wait(k)")
    places = w.pick("col", "(N - 1 - col)", "(col ^ (s & (N - 1)))")
    inner.line(2, f"value = tl.load(tle.gpu.local_ptr(got.slot.data, ({places},)))")
    inner.line(2, "r.release(k)")
    used = w.pick("value", "tl.sort(value)", "tl.sum(value)", "tl.cumsum(value, 0)", "tl.flip(value, 0)")
    inner.line(2, f"total += {used}.to(tl.int64) * (k + 1)")
    inner.names = [w.variable("total", "int64", "N")]
    inner.emit(inner.names[0])
    w.front += _end(inner)
    capacity = w.choose.randint(1, 3)
    w.line(depth, f"{data} = tle.gpu.alloc([{capacity}, N], tl.{dtype}, nv_mma_shared_layout=False)")
    w.line(depth, f'{pipe} = tle.pipe(capacity={capacity}, name="{pipe}", data={data})')
    ends = [
        f"({name}, ({pipe}.{end}(), {', '.join(w.parameters)}, M, N))" for name, end in ((put, "writer"), (take, "reader"))
    ]
    workers = w.choose.choice((1, 2, 4))
    w.line(depth, f"tle.gpu.warp_specialize([{', '.join(ends)}], [{workers}], [24])")

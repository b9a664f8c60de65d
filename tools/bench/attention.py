"""Benchmarks attention, forward and backward, against torch (flash, cuDNN) and the same kernels under Triton.

python -m tools.bench.attention --json out.json
python -m tools.bench.attention --head-dims 128 --tiles "128,64,8,3 128,128,8,2" --no-backward

Shapes are batch,heads,key heads,length. Some heads are checked whole against float64, all of them against torch.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tools.bench import rivals
from tools.bench.by_hand import hand_launch, tensor_map
from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list
from tools.bench.rowwise import Contestant, compete, relative_error, show_against, unless_absent

LIMITS = {"float16": 2e-3, "bfloat16": 1.6e-2}
CHECKED_HEADS = 3  # against float64
SHAPES = ("4,32,32,4096", "2,32,32,8192", "4,32,8,4096")


@dataclasses.dataclass(slots=True)
class Problem:
    """Inputs of one case, and what is expected of it.

    Attributes:
        q, k, v, do: [batch, heads, length, head_dim].
        causal: Whether queries see no later keys.
        out, lse: Results of the forward pass by torch.
        gradients: dq, dk, dv by torch, for all heads; empty without backward.
        places: (batch, head) of q of those that are checked against float64.
    """

    q: Any
    k: Any
    v: Any
    do: Any
    causal: bool
    out: Any
    lse: Any
    gradients: tuple[Any, ...]
    places: list[tuple[int, int]]

    @property
    def group(self) -> int:
        """Heads of q for each one of k."""
        return int(self.q.shape[1] // self.k.shape[1])


def make_problem(shape: tuple[int, ...], head_dim: int, dtype: str, causal: bool, backward: bool) -> Problem:
    import torch

    batch, heads, kv_heads, length = shape
    type_ = getattr(torch, dtype)
    q, do = (torch.randn(batch, heads, length, head_dim, device="cuda").to(type_) for _ in range(2))
    k, v = (torch.randn(batch, kv_heads, length, head_dim, device="cuda").to(type_) for _ in range(2))
    group = heads // kv_heads
    out, lse = torch_forward(q, *spread(k, v, group=group), causal)
    gradients: tuple[Any, ...] = ()
    if backward:
        dq, dk, dv = torch_backward(q, *spread(k, v, group=group), do, causal)()
        joined = (x.float().view(batch, kv_heads, group, length, head_dim).sum(2).to(type_) for x in (dk, dv))
        gradients = (dq, *joined)
    generator = torch.Generator().manual_seed(length)
    places = [
        (int(torch.randint(batch, (1,), generator=generator)), int(torch.randint(heads, (1,), generator=generator)))
        for _ in range(CHECKED_HEADS)
    ]
    return Problem(q, k, v, do, causal, out, lse, gradients, places)


def spread(*arrays: Any, group: int) -> tuple[Any, ...]:
    """Keys and values with a head of their own for each of the queries."""
    return tuple(x if group == 1 else x.repeat_interleave(group, 1) for x in arrays)


def torch_forward(q: Any, k: Any, v: Any, causal: bool) -> tuple[Any, Any]:
    """`out` and `lse` of torch's flash attention."""
    import torch

    found = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False)
    return found[0], found[1]


def torch_backward(q: Any, k: Any, v: Any, do: Any, causal: bool) -> Callable[[], Any]:
    """What launches the backward pass of torch's flash attention, on the stream that is current now."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)
    return lambda: torch.autograd.grad(out, leaves, do, retain_graph=True)


def expected_of(problem: Problem, place: tuple[int, int]) -> tuple[Any, ...]:
    """out, dq, and this head's share of dk and dv, in float64."""
    batch, head = place
    of_key = (batch, head // problem.group)
    q, do = problem.q[place].double(), problem.do[place].double()
    k, v = problem.k[of_key].double(), problem.v[of_key].double()
    scale = q.shape[-1] ** -0.5
    score = q @ k.T * scale
    if problem.causal:
        score.masked_fill_(~score.new_ones(score.shape, dtype=bool).tril_(), float("-inf"))
    weight = score.softmax(-1)
    out = weight @ v
    slope = weight * (do @ v.T - (do * out).sum(-1, keepdim=True)) * scale
    return out, slope @ k, slope.T @ q, weight.T @ do


def wrong_forward(problem: Problem, out: Any, limit: float) -> str:
    for place in problem.places:
        wrong = relative_error(out[place], expected_of(problem, place)[0], limit)
        if wrong:
            return f"head {place}: {wrong}"
    return relative_error(out, problem.out, 2 * limit)


def wrong_backward(problem: Problem, found: tuple[Any, ...], limit: float) -> str:
    names = ("dq", "dk", "dv")
    for place in problem.places:
        expected = expected_of(problem, place)[1:]
        for name, actual, wanted in zip(names, found, expected, strict=True):
            if name != "dq" and problem.group > 1:
                continue  # a sum over heads, which is compared below
            wrong = relative_error(actual[place], wanted, 2 * limit)
            if wrong:
                return f"{name} of head {place}: {wrong}"
    wrongs = (relative_error(x, wanted, 4 * limit) for x, wanted in zip(found, problem.gradients, strict=True))
    return "; ".join(f"{name}: {wrong}" for name, wrong in zip(names, wrongs, strict=True) if wrong)


def sdpa(problem: Problem, backend: str, out: Any) -> Callable[[], Any]:
    """What launches torch's attention by one of its back ends; the result is copied once, to be checked."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    k, v = problem.k, problem.v
    if backend == "FLASH_ATTENTION":
        k, v = spread(k, v, group=problem.group)
    grouped = problem.group > 1 and backend != "FLASH_ATTENTION"

    def launch() -> None:
        with sdpa_kernel(getattr(SDPBackend, backend)):
            out[0] = torch.nn.functional.scaled_dot_product_attention(
                problem.q, k, v, is_causal=problem.causal, enable_gqa=grouped
            )

    return launch


def forward_contestants(
    problem: Problem, limit: float, tiles: list[list[int]], only: list[str] | None, tle_tiles: Sequence[list[int]] = ()
) -> list[Contestant]:
    import torch

    from kernels import flash_attention as ours
    from kernels import flash_attention_tle

    contestants = []
    for name, backend in (("torch flash", "FLASH_ATTENTION"), ("cuDNN", "CUDNN_ATTENTION")):
        held: dict[int, Any] = {}
        for launch in unless_absent(name, lambda backend=backend, held=held: sdpa(problem, backend, held)).values():
            contestants.append(Contestant(name, launch, [], lambda held=held: wrong_forward(problem, held[0], limit)))
    out, lse = torch.empty_like(problem.q), torch.empty(problem.q.shape[:3], device="cuda", dtype=torch.float32)
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.flash_attention")
    for tile in tiles or [None]:
        for name, module in modules.items():
            sizes = module.Tile(*tile) if tile else None

            def launch(module: Any = module, sizes: Any = sizes) -> None:
                module.flash_attention(problem.q, problem.k, problem.v, out, lse, causal=problem.causal, tile=sizes)

            label = f"{name} {','.join(map(str, tile))}" if tile else name
            contestants.append(Contestant(label, launch, [out, lse], lambda: wrong_forward(problem, out, limit)))
    if problem.q.shape[2] % 128 == 0:
        contestants += described_contestants(problem, limit, (out, lse))
    for tile in tle_tiles or [flash_attention_tle.TILES.get(problem.q.shape[-1])]:
        if tile is None:
            continue
        sizes = flash_attention_tle.Tile(*tile)
        label = f"tle2cuda tle {','.join(map(str, sizes))}" if tle_tiles else "tle2cuda tle"

        def launch_tle(sizes: Any = sizes) -> None:
            flash_attention_tle.attend_rows(problem.q, problem.k, problem.v, out, lse, causal=problem.causal, tile=sizes)

        contestants.append(Contestant(label, launch_tle, [out, lse], lambda: wrong_forward(problem, out, limit)))
    if problem.causal and problem.group == 1 and problem.q.shape[-1] == 128 and problem.q.dtype == torch.float16:
        launch_hand = by_hand(problem, out)
        contestants.append(Contestant("hand", launch_hand, [out], lambda: wrong_forward(problem, out, limit)))
    return [x for x in contestants if only is None or x.name.split()[0] in only]


def described_contestants(problem: Problem, limit: float, results: tuple[Any, Any]) -> list[Contestant]:
    """The kernel over tensor descriptors, with a warp that loads and without; the same by Triton."""
    import torch

    from kernels import flash_attention_described as ours

    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.flash_attention_described")
        importlib.import_module("triton").set_allocator(
            lambda size, _align, _stream: torch.empty(size, dtype=torch.int8, device="cuda")
        )
    contestants = []
    for name, module in modules.items():
        if problem.q.shape[-1] not in module.TILES:
            continue
        for specialize in (True, False):
            tile = module.TILES[problem.q.shape[-1]]._replace(specialize=specialize)

            def launch(module: Any = module, tile: Any = tile) -> None:
                module.attend_rows(problem.q, problem.k, problem.v, *results, causal=problem.causal, tile=tile)

            label = f"{name} described{', a warp loads' if specialize else ''}"
            contestants.append(Contestant(label, launch, list(results), lambda: wrong_forward(problem, results[0], limit)))
    return contestants


def by_hand(problem: Problem, out: Any) -> Callable[[], Any]:
    """What launches `tools/bench/hand/attention.cu`: causal, heads of 128, lengths of whole blocks of 128."""
    batch, heads, length, head_dim = problem.q.shape
    boxes = ((problem.q, (64, 64)), (problem.k, (128, 64)), (problem.v, (128, 64)), (out, (64, 64)))
    maps = [tensor_map(x.view(-1, head_dim), box) for x, box in boxes]
    numbers = [ctypes.c_int(length), ctypes.c_float(head_dim**-0.5 * 1.4426950408889634)]
    grid = (length // 128, batch * heads, 1)
    return hand_launch("attention.cu", "attention", grid, 384, 165888, [*maps, *numbers])


def backward_contestants(
    problem: Problem, limit: float, tiles: list[list[int]], only: list[str] | None
) -> list[Contestant]:
    import torch

    from kernels import flash_attention_backward as ours

    contestants = []
    spread_kv = spread(problem.k, problem.v, group=problem.group)
    launch_torch = torch_backward(problem.q, *spread_kv, problem.do, problem.causal)
    contestants.append(Contestant("torch flash", launch_torch, [], lambda: ""))  # what all others are compared with
    found = tuple(torch.empty_like(x) for x in (problem.q, problem.k, problem.v))
    delta = torch.empty_like(problem.lse)
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.flash_attention_backward")
    inputs = (problem.q, problem.k, problem.v, problem.out, problem.lse, problem.do)
    for tile in tiles or [None]:
        for name, module in modules.items():
            sizes = (module.Tile(*tile[:4]), module.Tile(*tile[4:])) if tile else None

            def launch(module: Any = module, sizes: Any = sizes) -> None:
                module.flash_attention_backward(*inputs, *found, delta, causal=problem.causal, tiles=sizes)

            label = f"{name} {','.join(map(str, tile))}" if tile else name
            wrong = lambda: wrong_backward(problem, found, limit)  # noqa: E731
            contestants.append(Contestant(label, launch, [*found, delta], wrong))
    return [x for x in contestants if only is None or x.name.split()[0] in only]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.attention", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--shapes", type=str.split, default=list(SHAPES), help="batch,heads,key heads,length of each")
    parser.add_argument("--head-dims", type=comma_ints, default=[64, 128, 256])
    parser.add_argument("--dtypes", type=comma_list, default=["float16"])
    parser.add_argument("--masks", type=comma_list, default=["full", "causal"])
    parser.add_argument("--tiles", type=str.split, default=[], help="M,N,warps,stages of each, forward")
    parser.add_argument("--tle-tiles", type=str.split, default=[], help="of the kernel in TLE")
    parser.add_argument("--backward-tiles", type=str.split, default=[], help="the same twice: of dk and dv, of dq")
    parser.add_argument("--no-forward", action="store_true")
    parser.add_argument("--no-backward", action="store_true")
    options = parser.parse_args(arguments)
    tle_tiles = [comma_ints(tile) for tile in options.tle_tiles]
    forward = functools.partial(forward_contestants, tle_tiles=tle_tiles)
    bench = Bench()
    report = Report("attention", bench.describe_device())
    wrong = 0
    for dtype, head_dim in [(dtype, head_dim) for dtype in options.dtypes for head_dim in options.head_dims]:
        for shape, mask in [(comma_ints(text), mask) for text in options.shapes for mask in options.masks]:
            problem = make_problem(tuple(shape), head_dim, dtype, mask == "causal", not options.no_backward)
            batch, heads, _, length = shape
            work = 4 * batch * heads * length * length * head_dim / (2 if problem.causal else 1)
            case = {"dtype": dtype, "head_dim": head_dim, "shape": ",".join(map(str, shape)), "mask": mask}
            for kind, skipped, factor, make, tiles in (
                ("forward", options.no_forward, 1.0, forward, options.tiles),
                ("backward", options.no_backward, 2.5, backward_contestants, options.backward_tiles),
            ):
                if skipped:
                    continue
                with bench.current():
                    made = make(problem, LIMITS[dtype], [comma_ints(tile) for tile in tiles], options.only)
                outcome = compete(bench, made, options.repeats)
                wrong += show_against(report, [({**case, "pass": kind}, factor * work, outcome)], "torch flash", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

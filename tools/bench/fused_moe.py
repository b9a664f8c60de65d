"""Benchmarks a mixture of experts' layer, end to end, against the same products under Triton; both behind our MoE Align.

python -m tools.bench.fused_moe --json out.json
python -m tools.bench.fused_moe --tokens 64 --tiles "16:64,128,4,4,4:64,128,4,4,4"

Models are experts,choices,hidden,intermediate; tiles the rows of a block, then N,K,group,warps,stages of each product.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.rowwise import Contestant, compete, relative_error, show_against

LIMIT = 2e-2  # bfloat16, three roundings
MODELS = ("64,8,2048,1408", "256,8,7168,2048", "128,8,4096,1536")


def parsed_tiles(text: str, module: Any) -> Any:
    rows, *products = text.split(":")
    return module.Tiles(int(rows), *(module.Tile(*comma_ints(product)) for product in products))


def expected_of(x: Any, w_gate_up: Any, w_down: Any, weights: Any, ids: Any) -> Any:
    """The layer in float64, expert by expert."""
    import torch

    out = torch.zeros(x.shape, device="cuda", dtype=torch.float64)
    inner = w_down.shape[2]
    for expert in ids.unique().tolist():
        token, choice = (ids == expert).nonzero(as_tuple=True)
        both = x[token].double() @ w_gate_up[expert].double().T
        result = torch.nn.functional.silu(both[:, :inner]) * both[:, inner:] @ w_down[expert].double().T
        out.index_add_(0, token, result * weights[token, choice, None].double())
    return out


def contestants(model: list[int], tokens: int, weights: tuple[Any, Any], options: Any) -> list[Contestant]:
    import torch

    from kernels import fused_moe as ours
    from kernels.fused_moe_few import takes_few_tokens

    experts, top_k, hidden, _ = model
    x = torch.randn(tokens, hidden, device="cuda").bfloat16()
    scores = torch.rand(tokens, experts, device="cuda")
    found = scores.topk(top_k, 1)
    topk_weights, ids = found.values.softmax(1).float(), found.indices.int()
    out = torch.empty_like(x)
    expected = expected_of(x, *weights, topk_weights, ids)
    torch.cuda.synchronize()
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.fused_moe")
    made = []
    for text in options.tiles or [""]:
        for name, module in modules.items():
            if options.only is not None and name not in options.only:
                continue
            tiles = parsed_tiles(text, module) if text else module.choose_tiles(tokens * top_k, experts)
            workspace = module.new_workspace(x, weights[0], top_k, tiles.block_m)
            chosen = {f"{name} {text}".strip(): tiles}
            if module is ours and not text and takes_few_tokens(x, *weights, ids):
                chosen = {name: None, f"{name} two products": tiles}
            for title, tiles in chosen.items():

                def launch(module: Any = module, tiles: Any = tiles, workspace: Any = workspace) -> None:
                    module.fused_moe(x, *weights, topk_weights, ids, out, tiles=tiles, workspace=workspace)

                outputs = [out, workspace.hidden, workspace.partial, *workspace.aligned]
                made.append(Contestant(title, launch, outputs, lambda: relative_error(out, expected, LIMIT)))
    return made


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.fused_moe", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--models", type=str.split, default=list(MODELS))
    parser.add_argument("--tokens", type=comma_ints, default=[1, 16, 64, 256, 1024, 4096, 8192])
    parser.add_argument("--tiles", type=str.split, default=[])
    options = parser.parse_args(arguments)
    import torch

    bench = Bench(launches_per_graph=5)
    report = Report("mixture of experts", bench.describe_device())
    wrong = 0
    for model in map(comma_ints, options.models):
        experts, top_k, hidden, inner = model
        w_gate_up = torch.randn(experts, 2 * inner, hidden, device="cuda", dtype=torch.bfloat16).mul_(hidden**-0.5)
        w_down = torch.randn(experts, hidden, inner, device="cuda", dtype=torch.bfloat16).mul_(inner**-0.5)
        results = []
        for tokens in options.tokens:
            made = contestants(model, tokens, (w_gate_up, w_down), options)
            case = {"model": ",".join(map(str, model)), "tokens": tokens}
            work = 6.0 * tokens * top_k * hidden * inner
            results.append((case, work, compete(bench, made, options.repeats, in_graphs=True)))
        wrong += show_against(report, results, "triton" if not options.tiles else f"triton {options.tiles[0]}", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

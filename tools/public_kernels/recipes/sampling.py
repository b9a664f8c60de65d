"""Recipes of sampling.

Probabilities are whole numbers over a power of two wherever a kernel compares their sums with a random number: then
every order of summation gives the same sums, and which token is drawn is determined.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tools.public_kernels.recipe import (
    Array,
    Launch,
    Tolerance,
    Values,
    array,
    booleans,
    cdiv,
    full_of,
    integers,
    made,
    normal,
    offsets,
    permutation,
    recipe,
    uniform,
    unwritten,
    zeros,
)


def exact_probabilities(rows: int, classes: int, largest: int = 255) -> Values:
    """Multiples of a power of two whose sums along a row are close to one and exact in every order."""
    unit = 2.0 ** -round(float(np.log2(classes * largest / 2)))
    return made(lambda rng: rng.integers(0, largest + 1, (rows, classes)) * unit)


def exact_logits(rows: int, classes: int) -> Values:
    """Multiples of an eighth, so few that sums of two of them are exact in bfloat16."""
    return made(lambda rng: rng.integers(-60, 61, (rows, classes)) / 8)


_MASK = np.uint64(0xFFFFFFFF)


def _philox(counters: Sequence[Any], keys: Sequence[Any], rounds: int) -> list[Array]:
    """The words of Philox 4x32, in 64-bit integers."""
    c0, c1, c2, c3 = (np.asarray(c).astype(np.uint64) & _MASK for c in counters)
    k0, k1 = (np.asarray(k).astype(np.uint64) & _MASK for k in keys)
    for _ in range(rounds):
        first, second = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK, (first >> 32) ^ c3 ^ k1, first & _MASK
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _MASK, (k1 + np.uint64(0xBB67AE85)) & _MASK
    return list(np.broadcast_arrays(c0, c1, c2, c3))


def _murmur(words: Sequence[Any], domain: int) -> Array:
    """Murmur3 of four 32-bit words, in 64-bit integers."""

    def rotated(x: Array, by: int) -> Array:
        return (x << by | x >> (32 - by)) & _MASK

    h = np.uint64(domain)
    for word in words:
        key = rotated(np.asarray(word).astype(np.uint64) * np.uint64(3432918353) & _MASK, 15)
        h = (rotated(h ^ key * np.uint64(461845907) & _MASK, 13) * np.uint64(5) + np.uint64(3864292196)) & _MASK
    h = h ^ np.uint64(4 * len(words))
    h = (h ^ h >> 16) * np.uint64(2246822507) & _MASK
    h = (h ^ h >> 13) * np.uint64(3266489909) & _MASK
    return np.asarray(h ^ h >> 16)


@recipe("7ba03553")
def repetition_penalties(full: bool) -> Launch:
    rows, classes = (256, 128256) if full else (3, 2500)
    return Launch(
        (rows, cdiv(classes, 1024)),
        logits_ptr=normal(rows, classes),
        prompt_mask_ptr=booleans(rows, classes, share=0.2),
        output_mask_ptr=booleans(rows, classes, share=0.1),
        penalties_ptr=uniform(rows, low=1.0, high=2.0),
        num_seqs=rows,
        vocab_size=classes,
    )


@recipe("520c1cf2", timed=False)
def record_of_a_selection(full: bool) -> Launch:
    rows, width = 7, 16
    return Launch(
        (rows + 2,),
        positions=integers(rows, high=1000),
        saved_positions=unwritten(rows + 2),
        saved_rows=unwritten(1),
        selection=integers(rows, width, low=-1, high=200),
        saved_selection=unwritten(rows + 2, width),
        rows=rows,
        enabled=1,
    )


@recipe("1b599b1a", timed=False)
def selection_of_a_draft(full: bool) -> Launch:
    rows, sources, requests, width, tail = 9, 5, 6, 16, 16
    anchors = np.array([30, 12, -1, 100, 7])
    source_of = np.array([0, 3, 1, -1, 2, 4])
    request_of = np.array([0, 1, 2, 3, -1, 0, 4, 5, 9])
    positions = np.array([33, 101, 40, 5, 5, 46, 3, 8, 2])
    return Launch(
        (rows + 1,),
        source_positions=array(anchors),
        source_selection=integers(sources, width, low=-1, high=100),
        source_rows=array(source_of),
        num_source_rows=array([sources]),
        request_ids=array(request_of),
        query_positions=array(positions),
        selected=unwritten(rows + 1, width + tail),
        rows=rows,
        source_capacity=sources,
        max_requests=requests,
    )


def _slots(rows: int) -> Values:
    """A place of its own for each row, one in ten of them without."""

    def fill(rng: np.random.Generator) -> Array:
        return np.where(rng.random(rows) < 0.1, -1, rng.permutation(rows))

    return made(fill)


@recipe("2a14ffc3")
def samples_of_values(full: bool) -> Launch:
    rows, width, stride = (32768, 1024, 1024) if full else (100, 150, 160)
    return Launch(
        (rows + 2, cdiv(width, 128)),
        source=normal(rows, stride),
        slots=_slots(rows),
        output=unwritten(rows, width),
        rows=rows,
        width=width,
        source_stride=stride,
    )


@recipe("9a6f75e0")
def samples_of_pairs_of_values(full: bool) -> Launch:
    rows, width = (32768, 1024) if full else (100, 150)
    return Launch(
        (rows + 2, cdiv(width, 128)),
        source=normal(rows, width),
        slots=_slots(rows),
        output=unwritten(rows, width),
        ready=zeros(rows),
        rows=rows,
        width=width,
    )


@recipe("b947fd22")
def penalties_of_tokens(full: bool) -> Launch:
    rows, classes, longest = (2048, 32000, 1024) if full else (4, 300, 64)
    lengths = np.random.default_rng(0).integers(1, longest + 1, rows)
    lengths[1] = 0

    def tokens(rng: np.random.Generator) -> Array:
        return np.concatenate([rng.choice(classes, length, replace=False) for length in lengths])

    return Launch(
        (rows,),
        tolerance=Tolerance(1.6e-2, 1e-1),
        why="every step rounds to bf16, and two of its numbers are subtracted",
        Logits=normal(rows, classes, scale=3.0),
        presence_penalty=uniform(rows),
        freqency_penalty=uniform(rows),
        repetition_penalty=uniform(rows, low=1.0, high=2.0),
        p_token_ids=made(tokens),
        p_token_counts=integers(int(lengths.sum()), low=1, high=4),
        p_cumsum_seq_len=offsets(lengths.tolist()),
        stride_logit_b=classes,
        stride_logit_s=1,
        BLOCK_P=longest,
    )


@recipe("a4452b7e")
def multinomial(full: bool) -> Launch:
    rows, classes = (1024, 32000) if full else (20, 1000)
    return Launch(
        (rows,),
        tolerance=Tolerance(0.0, 0.0),
        Scores=exact_probabilities(rows, classes),
        Seeds=integers(rows, high=1 << 31),
        Offsets=integers(rows, high=10000),
        Indices=integers(rows, classes, high=256),  # exact in bf16
        Outputs=unwritten(rows),
        stride_sb=classes,
        stride_st=1,
        stride_ib=classes,
        stride_it=1,
        num_tokens=classes,
    )


@recipe("7a75c4b0")
def metadata_of_drafts(full: bool) -> Launch:
    requests, columns, tokens, pool = (256, 512, 50, 300) if full else (5, 300, 50, 8)
    return Launch(
        (requests, cdiv(columns, 256)),
        seq_lens=integers(requests, low=1, high=256),
        seq_lens_stride_0=1,
        extend_seq_lens=integers(requests, high=60),
        extend_seq_lens_stride_0=1,
        req_to_token=integers(pool, columns, high=256),
        req_to_token_stride_0=columns,
        req_to_token_stride_1=1,
        req_pool_indices=made(lambda rng: rng.permutation(pool)[:requests]),
        req_pool_indices_stride_0=1,
        cache_seqlens_int32=unwritten(requests),
        cache_seqlens_int32_stride_0=1,
        cu_seqlens_k=unwritten(requests + 1),
        cu_seqlens_k_stride_0=1,
        cu_seqlens_q=unwritten(requests + 1),
        cu_seqlens_q_stride_0=1,
        page_table=unwritten(requests, columns),
        page_table_stride_0=columns,
        page_table_stride_1=1,
        full_to_swa_index_mapping=permutation(256),
        swa_page_table=unwritten(requests, columns),
        out_cache_loc=integers(requests * tokens, high=256),
        swa_out_cache_loc=unwritten(requests * tokens),
        B=requests,
        max_seq_pages=columns,
        tokens_per_req=tokens,
    )


@recipe("8d411f09")
def markov_samples(full: bool) -> Launch:
    rows, classes = (128, 128256) if full else (4, 700)
    padded = classes + 20
    parts = cdiv(classes, 256)

    def split(pairs: Array) -> dict[str, Array]:
        return {"largest": pairs[..., 0], "token": np.ascontiguousarray(pairs[..., 1]).view(np.int32)}

    start, key, step = 1024, 123456789, 3

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        values = before["X"].astype(np.float64)
        values[:, :classes] += before["B"]
        row, token = np.arange(rows)[:, None], np.arange(parts * 256)
        words = _philox(((token + start) // 4, row, step, before["OFFSET"]), (key, 0), 2)
        bits = np.choose(token % 4, words)
        noise = -np.log(-np.log1p(-(bits.astype(np.float32).astype(np.float64) + 0.5) * 2.0**-32))
        temperature = before["T"].astype(np.float64)[:, None]
        keys = np.full((rows, parts * 256), -np.inf)
        keys[:, :classes] = np.where(
            temperature != 0, values[:, :classes] / np.where(temperature == 0, 1, temperature) + noise[:, :classes],
            values[:, :classes],
        )  # fmt: skip
        keys = keys.reshape(rows, parts, 256)
        tokens = (keys.argmax(2) + np.arange(parts) * 256 + start).astype(np.int32)
        pairs = np.stack([keys.max(2).astype(np.float32), tokens.view(np.float32)], axis=-1)
        return {"L": values, "P": pairs}

    return Launch(
        (rows, parts),
        expected=expected,
        B=exact_logits(rows, classes),
        X=exact_logits(rows, padded),
        T=made(lambda rng: rng.choice([0.0, 0.5, 1.0], rows)),
        OFFSET=integers(1, high=1000),
        L=unwritten(rows, padded),
        P=dataclasses.replace(unwritten(rows, parts, 2), parts=split),
        BS=classes,
        XS=padded,
        LS=padded,
        WIDTH=classes,
        PADDED=padded,
        VOCAB_START=start,
        PARTS=parts,
        KEY=key,
        STEP=step,
    )


@recipe("7205e410")
def speculative_sampling(full: bool) -> Launch:
    requests, slots, classes = (128, 4, 32768) if full else (12, 4, 6000)
    scale = 2.0**-12  # of what a token that both models like is worth

    def candidates(rng: np.random.Generator) -> Array:
        return rng.integers(0, classes, (requests, slots))

    def liked(rng: np.random.Generator) -> Array:
        return rng.integers(1, 256, (requests, slots, classes)) * scale / 16

    layout = {f"stride_{which}p_b": slots * classes for which in "td"}
    layout |= {f"stride_{which}p_s": classes for which in "td"}
    layout |= {f"stride_{which}p_v": 1 for which in "td"}
    return Launch(
        (requests,),
        tolerance=Tolerance(0.0, 0.0),
        Predicts=full_of(-1, requests * slots),
        AcceptIndex=full_of(-1, requests, slots),
        AcceptTokenNum=unwritten(requests),
        Candidates=made(candidates),
        RetriveIndex=array(np.arange(requests * slots).reshape(requests, slots)),
        UniformSamples=uniform(requests, slots),
        UniformSamplesFinal=uniform(requests),
        TargetProbs=made(liked),
        DraftProbs=made(liked),
        stride_cand_b=slots,
        stride_cand_s=1,
        stride_idx_b=slots,
        stride_idx_s=1,
        stride_uni_b=slots,
        stride_uni_s=1,
        VOCAB_SIZE=classes,
        **layout,
    )


@recipe("45ab9ea8", timed=False)
def sampled_product(full: bool) -> Launch:
    batch, rows, cols, depth, block = (2, 1024, 1024, 512, 64) if full else (2, 192, 256, 40, 64)
    rng = np.random.default_rng(0)
    stored = rng.integers(1, cols // block + 1, rows // block)
    stored[1] = 0
    columns = np.concatenate([np.sort(rng.permutation(cols // block)[:count]) for count in stored])
    total = len(columns)
    return Launch(
        (rows // block, batch),
        tolerance=Tolerance(2e-3, 2e-3),
        alpha=0.5,
        beta=0.0,
        k=depth,
        values_ptr=unwritten(batch, total, block, block),
        values_batch_stride=total * block * block,
        values_nnz_stride=block * block,
        values_row_block_stride=block,
        values_col_block_stride=1,
        crow_indices_ptr=array([[0, *np.cumsum(stored)]] * batch),
        crow_indices_batch_stride=len(stored) + 1,
        crow_indices_stride=1,
        col_indices_ptr=array([columns] * batch),
        col_indices_batch_stride=total,
        col_indices_stride=1,
        mat1_ptr=normal(batch, rows, depth),
        mat1_batch_stride=rows * depth,
        mat1_tiled_row_stride=block * depth,
        mat1_tiled_col_stride=0,
        mat1_row_block_stride=depth,
        mat1_col_block_stride=1,
        mat2_ptr=normal(batch, depth, cols),
        mat2_batch_stride=depth * cols,
        mat2_tiled_row_stride=0,
        mat2_tiled_col_stride=block,
        mat2_row_block_stride=cols,
        mat2_col_block_stride=1,
    )


_DRAFTED = [3, 0, 5, 2, 5, 1, 4]  # draft tokens of each request


@recipe("975b19be", timed=False)
def rejection_of_greedy_samples(full: bool) -> Launch:
    total, requests, longest = sum(_DRAFTED), len(_DRAFTED), max(_DRAFTED)
    return Launch(
        (requests,),
        output_token_ids_ptr=full_of(-1, requests, longest + 1),
        cu_num_draft_tokens_ptr=array(np.cumsum(_DRAFTED)),
        draft_token_ids_ptr=integers(total, low=-1, high=200),
        target_argmax_ptr=integers(total, high=200),
        bonus_token_ids_ptr=integers(requests, high=200),
        is_greedy_ptr=array([True, True, True, False, True, True, True]),
        max_spec_len=longest,
        uniform_probs_ptr=uniform(total),
        synthetic_conditional_rates_ptr=array([0.9, 0.8, 0.7, 0.6, 0.5]),
    )


@recipe("8237db9b", timed=False)
def rejection_of_random_samples(full: bool) -> Launch:
    total, requests, longest, classes = sum(_DRAFTED), len(_DRAFTED), max(_DRAFTED), 50
    return Launch(
        (requests,),
        output_token_ids_ptr=full_of(-1, requests, longest + 1),
        cu_num_draft_tokens_ptr=array(np.cumsum(_DRAFTED)),
        draft_token_ids_ptr=integers(total, low=-1, high=classes),
        draft_probs_ptr=uniform(total, classes),
        target_probs_ptr=uniform(total, classes),
        bonus_token_ids_ptr=integers(requests, high=classes),
        recovered_token_ids_ptr=integers(total, high=classes),
        uniform_probs_ptr=uniform(total),
        is_greedy_ptr=array([0, 0, 0, 1, 0, 0, 0]),
        max_spec_len=longest,
        vocab_size=classes,
        synthetic_conditional_rates_ptr=array([0.9, 0.8, 0.7, 0.6, 0.5]),
    )


@recipe("aab9782a")
def gumbel_samples(full: bool) -> Launch:
    tokens, classes = (128, 128256) if full else (5, 2500)
    requests, steps, blocks = tokens + 2, 3, cdiv(classes, 1024)

    def states(rng: np.random.Generator) -> Array:
        found = rng.permutation(requests)[:tokens]
        found[3] = -1
        return found

    return Launch(
        (tokens, blocks),
        local_argmax_ptr=unwritten(tokens, blocks),
        local_argmax_stride=blocks,
        local_max_ptr=unwritten(tokens, blocks),
        local_max_stride=blocks,
        logits_cache_ptr=zeros(requests, steps, classes),
        logits_cache_stride_0=steps * classes,
        logits_cache_stride_1=classes,
        logits_cache_col_ptr=integers(tokens, high=steps),
        logits_cache_source_ptr=normal(tokens, classes),
        logits_cache_source_stride=classes,
        logits_ptr=normal(tokens, classes, scale=2.0),
        logits_stride=classes,
        expanded_idx_mapping_ptr=made(states),
        seeds_ptr=integers(requests, high=1 << 31),
        pos_ptr=integers(tokens, high=4096),
        temp_ptr=made(lambda rng: rng.choice([0.0, 0.5, 1.0], requests)),
        vocab_size=classes,
    )


@recipe("7caa58fe")
def counts_of_tokens(full: bool) -> Launch:
    tokens, longest, classes = (512, 4096, 32000) if full else (4, 3000, 500)
    requests, words = tokens + 1, cdiv(classes, 32)
    prefill = np.random.default_rng(0).integers(longest // 2, longest + 1, requests)
    prompt = np.random.default_rng(1).integers(0, prefill + 1)
    return Launch(
        (tokens, cdiv(longest, 1024)),
        expanded_idx_mapping_ptr=made(lambda rng: rng.permutation(requests)[:tokens]),
        all_token_ids_ptr=integers(requests, longest, high=classes),
        all_token_ids_stride=longest,
        prompt_len_ptr=array(prompt),
        prefill_len_ptr=array(prefill),
        prompt_bin_mask_ptr=zeros(requests, words),
        prompt_bin_mask_stride=words,
        output_bin_counts_ptr=zeros(requests, classes),
        output_bin_counts_stride=classes,
    )


@recipe("1554a7de")
def watermarked_samples(full: bool) -> Launch:
    rows, classes = (128, 128256) if full else (5, 2500)
    requests, steps, blocks = rows + 2, 3, cdiv(classes, 1024)

    def states(rng: np.random.Generator) -> Array:
        found = rng.permutation(requests)[:rows]
        found[3] = -1
        return found

    key = (12345, 678)

    def with_murmur(seed: int, position: int) -> Array:
        words = [seed & 0xFFFFFFFF, seed >> 32, position, np.arange(classes)]
        low, high = _murmur(words, 0), _murmur(words, 0x9E3779B9)
        uniforms = ((high << np.uint64(32) | low) >> np.uint64(11)).astype(np.float64)
        return np.asarray((uniforms + 0.5) * 2.0**-53)

    def with_philox(context: Array) -> Array:
        state: Sequence[Any] = (1464681304, 16, 0, 0)
        for at in range(0, 16, 4):
            counters = [int(s) ^ (int(c) & 0xFFFFFFFF) for s, c in zip(state, context[at : at + 4], strict=True)]
            state = _philox(counters, (key[0] ^ at, key[1]), 10)
        s0, s1, s2, s3 = map(int, state)
        token = np.arange(classes)
        words = np.choose(token % 4, _philox((token // 4, s0, s1, s2), (key[0] ^ s3, key[1] ^ 1464685643), 10))
        scaled = (((words >> np.uint64(8)) + np.uint64(1)).astype(np.float64) * 2.0**-24).astype(np.float32)
        return (scaled.view(np.uint32) - np.uint32(1)).view(np.float32).astype(np.float64)

    def expected(before: Mapping[str, Array]) -> dict[str, Array]:
        cache = before["logits_cache_ptr"].copy()
        where, largest = np.zeros((rows, blocks), np.int64), np.zeros((rows, blocks))
        for row, state in enumerate(before["expanded_idx_mapping_ptr"]):
            temperature = float(before["temp_ptr"][state]) if state >= 0 else 0.0
            column = int(before["logits_cache_col_ptr"][row])
            if state >= 0:
                cache[state, column] = before["logits_cache_source_ptr"][row]
            logits = before["logits_ptr"][row].astype(np.float64) / (temperature or 1.0)
            if not before["skip_mask_ptr"][row]:
                logits -= np.log(-np.log(with_philox(before["contexts_ptr"][row])))
            elif temperature:
                seed = int(before["seeds_ptr"][state]) ^ column << 32
                logits -= np.log(-np.log(with_murmur(seed, int(before["pos_ptr"][row]) + (1 << 30))))
            padded = np.full(blocks * 1024, -np.inf)
            padded[:classes] = logits
            padded = padded.reshape(blocks, 1024)
            where[row], largest[row] = padded.argmax(1) + np.arange(blocks) * 1024, padded.max(1)
        return {"logits_cache_ptr": cache, "local_argmax_ptr": where, "local_max_ptr": largest}

    return Launch(
        (rows, blocks),
        expected=expected,
        local_argmax_ptr=unwritten(rows, blocks),
        local_argmax_stride=blocks,
        local_max_ptr=unwritten(rows, blocks),
        local_max_stride=blocks,
        logits_ptr=normal(rows, classes, scale=2.0),
        logits_stride=classes,
        contexts_ptr=integers(rows, 16, low=-1, high=32000),
        context_stride=16,
        skip_mask_ptr=booleans(rows, share=0.4),
        expanded_idx_mapping_ptr=made(states),
        seeds_ptr=integers(requests, high=1 << 31),
        pos_ptr=integers(rows, high=4096),
        temp_ptr=made(lambda rng: rng.choice([0.0, 0.5, 1.0], requests)),
        logits_cache_ptr=zeros(requests, steps, classes),
        logits_cache_stride_0=steps * classes,
        logits_cache_stride_1=classes,
        logits_cache_col_ptr=integers(rows, high=steps),
        logits_cache_source_ptr=normal(rows, classes),
        logits_cache_source_stride=classes,
        key_0_value=float(key[0]),
        key_1_value=float(key[1]),
        vocab_size=classes,
        tolerance=Tolerance(2e-5, 2e-5),
    )


@recipe("02b6d2da")
def step_of_a_draft(full: bool) -> Launch:
    requests, history, blocks, width, steps = (512, 8192, 60, 16, 4) if full else (8, 700, 10, 16, 4)
    repeating = np.arange(requests) % 3 == 1  # draws the token that all its context and some of its history is
    own = np.arange(requests) % 50

    def tokens(rng: np.random.Generator) -> Array:
        found = rng.integers(0, 60, (requests, history))
        found[repeating, 40:60] = own[repeating, None]
        return found

    def contexts(rng: np.random.Generator) -> Array:
        return np.where(repeating[:, None], own[:, None], rng.integers(0, 60, (requests, width)))

    def drawn(rng: np.random.Generator) -> Array:
        return np.where(repeating[:, None], own[:, None], rng.integers(0, 60, (requests, blocks)))

    def values(rng: np.random.Generator) -> Array:
        return np.where(rng.random((requests, blocks)) < 0.03, np.nan, rng.integers(0, 40, (requests, blocks)))

    return Launch(
        (requests,),
        tolerance=Tolerance(0.0, 0.0),
        sampled_ptr=unwritten(requests, steps),
        sampled_stride=steps,
        step=1,
        local_argmax_ptr=made(drawn),
        local_max_ptr=made(values),
        num_blocks=blocks,
        contexts_ptr=made(contexts),
        context_stride=width,
        skip_mask_ptr=unwritten(requests),
        next_req_indices_ptr=made(lambda rng: np.where(np.arange(requests) == 3, -1, np.arange(requests))),
        next_steps_ptr=full_of(2, requests),
        temp_ptr=made(lambda rng: rng.choice([0.0, 0.5, 1.0], requests)),
        enabled_ptr=booleans(requests, share=0.9),
        all_token_ids_ptr=made(tokens),
        all_token_ids_stride=history,
        prompt_lens_ptr=integers(requests, low=10, high=100),
        total_lens_ptr=integers(requests, low=100, high=history + 1),
        prior_contexts_ptr=integers(requests, steps, width, high=60),
        prior_contexts_stride_0=steps * width,
        prior_contexts_stride_1=width,
    )


@recipe("de35f6d3", timed=False)
def inputs_of_drafts(full: bool) -> Launch:
    lengths, rejected, sampled = [5, 1, 1200, 4, 3], [2, 0, 0, 3, 1], [1, 0, 0, 2, 1]
    requests, most, steps, states, total = len(lengths), 8, 4, 7, sum(lengths)
    starts = [0, *np.cumsum(lengths)] + [0] * (most - requests)
    return Launch(
        (requests,),
        last_token_indices_ptr=unwritten(most),
        draft_input_ids_ptr=unwritten(total),
        draft_positions_ptr=unwritten(total),
        draft_seq_lens_ptr=unwritten(most),
        target_input_ids_ptr=integers(total, high=32000),
        target_positions_ptr=array(np.concatenate([100 * i + np.arange(n) for i, n in enumerate(lengths)])),
        cached_draft_input_ids_ptr=integers(states, steps, high=32000),
        cached_draft_input_ids_stride0=steps,
        draft_input_id_overrides_ptr=unwritten(requests, steps),
        draft_input_id_overrides_stride0=steps,
        idx_mapping_ptr=array([3, 0, 6, 1, 2]),
        last_sampled_ptr=integers(states, high=32000),
        next_prefill_tokens_ptr=integers(steps, states, high=32000),
        next_prefill_tokens_stride0=states,
        num_sampled_ptr=array(sampled),
        num_rejected_ptr=array(rejected),
        target_seq_lens_ptr=array([105, 101, 1400, 304, 403]),
        query_start_loc_ptr=array(starts),
        max_num_reqs=most,
        num_speculative_steps=steps,
    )

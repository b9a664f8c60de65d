"""One or two kernels of every op family, from tests/opcases."""

from __future__ import annotations

from tests.golden import TARGETS, golden_case
from tests.opcases import OpCase, cases

SHOWN = (
    # Elementwise work: masked vectors, narrow types, conversions.
    "where_f32",
    "bits_u8",
    "mod_i64",
    "exp_f32",
    "compare_bf16",
    "cast_f32_f8e4nv",
    "scalar_div_f32",
    "libdevice_i64_i32_exact",
    "random_normal_int64",
    "asm_int8_to_int16",
    "asm_memory",
    "mapped_elements",
    # Memory: edges of vectors, masks of several kinds, cache hints, addresses without alignment.
    "copy_f16_1003",
    "load_window_f32_5_1001",
    "mask_from_memory_i8",
    "uniform_mask_3_100",
    "copy_shifted_1",
    "cache_load_cg_f32_1001",
    "in_place_1024",
    "copy_matrix_bf16_50x70_16",
    "hints",
    "device_print",
    # Shapes, with exchanges between threads.
    "transpose_f16_64x16",
    "reshape_chain_16x64",
    "broadcast_data_16x64",
    "permute_210_i32_4x8x32",
    "interleave_f16_1000",
    "split_quads_512",
    "cat_16x64_axis1",
    "flip_i32_16x64_axis1",
    "extract_tile_64x32_16x8_dynamic",
    "insert_tile_32x64_16x16_form2",
    "sort_1x1024_axis1_warps4",
    "sort_float16_4x128",
    "topk_f32_1x1024_64",
    "gather_f32_128x32_128x32_axis1",
    "gather_f32_64x32_32x32_axis0",
    # Collectives.
    "reduce_sum_f32_1000",
    "reduce_max_64x16_axis0",
    "reduce_keep_16x64",
    "arg_extremes_f32_200_left",
    "reduce_welford_512",
    "softmax_4x128",
    "scan_sum_i32_1000",
    "scan_sum_64x16_axis0_reverse",
    "scan_affine_512",
    "exclusive_i32_1000",
    "exclusive_f32_30_reverse",
    "histogram_i32_1000_64_masked",
    # Matrix products.
    "dot_matmul_f16_70x90x75",
    "dot_turned_f32_tt",
    "dot_accumulated_f16h",
    "dot_attention_f16_100x32",
    "dot_scaled_mxfp4",
    "dot_wgmma_turned_float16_64x32_tn",
    "dot_wgmma_attention_100x32",
    "dot_wgmma_f8e4nv_f8e5_128x32x32",
    # Tiles described by base, extents and strides.
    "block_matmul_50x70x40",
    "block_turn_70x50",
    "descriptor_copy_edge",
    "descriptor_rows",
    # Tensors and buffers.
    "tensor_boxes_f32_nan",
    "tensor_blocks",
    "tensor_blocks_of_the_engine",
    "tensor_lines_2500",
    "tensor_turn_f32",
    "tensor_turn_and_store_f16",
    "tensor_ring_3_10",
    "tensor_segments",
    "bulk_stores_combine_i64",
    "bulk_stores_rows_bf16",
    "made_maps_pipe",
    "made_maps_stages",
    "multicast_rows_3",
    "multicast_product",
    "tensor_corners",
    "bulk_ring_bf16_rows",
    "pipe_boxes",
    "async_load_on_one_path_3",
    "order_mixed",
    "order_ring_4_41",
    "order_combine_add_bfloat16",
    "tensor_windows",
    # Control flow and what it carries.
    "accumulate_1024",
    "swap_tiles_1024_2",
    "turned_accumulator_16",
    "while_tiles_512",
    "branches_1024_1",
    "wrapping_hash_int32",
    "merged_pointers_1024_2",
    "early_return",
    "checked_int32_1000",
    # Atomics.
    "atomic_add_i32_1000",
    "atomic_add_i32_30",
    "atomic_max_f32_1000_no_old",
    "atomic_cas_f16",
    "scalar_atomics",
    "spin_lock",
    "last_one_sums",
    # Shared memory.
    "shared_matrix_f16_16x64",
    "shared_pointer_forms_1024",
    "shared_views_1024",
    "shared_prefix_1024",
    "shared_ranks_700_512",
    "shared_copy_i32_16x32",
    "shared_aliased_1024",
    "shared_big",
    # Pipes, partitions and their barriers.
    "pipe_ring_2_9_4",
    "pipe_row_sums_float16_496_2",
    "pipe_row_sums_int8_500_2",
    "pipe_two_readers_2",
    "pipe_closed_7_2",
    "pipe_one_shot",
    "pipe_in_one_task_float16_1000_9_2",
    "pipe_cursor_3",
    "pipe_tiles_float32_16x32",
    "pipes_over_one_buffer_2",
    "partitions_collectives_4_2_1_4",
    "partitions_one_after_the_other_256",
    "tiles_of_rows_tensor_2_7_3_4_60",
    "accumulated_7",
    "returns_early",
    "divided_2_1_1_5",
    "barriers_by_phases_2",
    "barriers_by_names_4",
    "cp_async_groups_float16_1000_8_2",
    # Clusters and grids.
    "cluster_ring_1",
    "cluster_counts_1900",
    "cluster_submesh",
    "grid_counts",
)


FOR_WARPGROUPS = ("wgmma_two_products", "wgmma_ring_7_3")  # which one target has
FOR_ONE_TARGET = {  # and the one target that their text is kept for
    "dot_wgmma_f16_256x32x64": "sm_100a",
    "dot_wgmma_matmul_float16_70x90x75": "sm_100a",
    "dot_wgmma_attention_100x32": "sm_100a",
    "ring_product_160_5_float16_turned_128x16x32": "sm_100a",
    "dot_scaled_wide_mxfp8": "sm_100a",
    "dot_scaled_mxfp4": "sm_120a",
}


def _register() -> None:
    for name in (*SHOWN, *FOR_WARPGROUPS):
        case = cases()[name]

        def emit(arch: str, case: OpCase = case) -> str:
            return case.emit(arch).source

        targets = ("sm_90a",) if name in FOR_WARPGROUPS else TARGETS
        golden_case(f"op_{name}", targets=targets)(emit)
    for name, arch in FOR_ONE_TARGET.items():
        shown = cases()[name]

        def emit_for(_: str, case: OpCase = shown, arch: str = arch) -> str:
            return case.emit(arch).source

        golden_case(f"op_{name}_{arch}", targets=(arch,))(emit_for)


_register()

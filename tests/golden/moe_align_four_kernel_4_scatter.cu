// moe_align_scatter.cu: emitted by tle2cuda from staged.py:105 (moe_align_scatter). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      topk_ids *i32 align 16, sorted_ids *i32 align 16, expert_ids *i32 align 16,
//             counts *i32 align 16, starts *i32 align 16, numel i32
//   constants FIRST_EXPERT = 0, NUM_GROUPS = 512, BLOCK_SIZE = 16, SLOT_TILE = 256,
//             GROUP_TILE = 512

namespace {

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
moe_align_scatter(const int* topk_ids, int* sorted_ids, int* expert_ids, int* counts,
                  const int* starts, const int numel)
{
    const int thread = threadIdx.x;

    // program = tl.program_id(0)                                                      staged.py:119
    const int program = blockIdx.x;
    // name_blocks(expert_ids, starts, program, tl.num_programs(0), FIRST_EXPERT, ...  staged.py:120
    const int programs = gridDim.x;
    // for group in range(program, NUM_GROUPS, programs):                               staged.py:99
    for (int group = program; group < 512; group += programs) {
        // for place in range(tl.load(starts + group), tl.load(starts + group + 1 ...  staged.py:100
        const int starts_value = starts[group];
        const int starts_value_2 = starts[group + 1];
        for (int place = starts_value; place < starts_value_2; place += 16) {
            // tl.store(expert_ids + place // BLOCK_SIZE, group + FIRST_EXPERT)        staged.py:101
            if (thread == 0) expert_ids[place / 16] = group;
        }
    }

    // slot = program * SLOT_TILE + tl.arange(0, SLOT_TILE)                            staged.py:121
    const int slot = program * 256 + thread;
    // id = tl.load(topk_ids + slot, mask=slot < numel, other=FIRST_EXPERT - 1)          parts.py:39
    const int id = load_if(slot < numel, topk_ids + slot, -1);
    // is_routed = (group >= 0) & (group < NUM_GROUPS)                                   parts.py:41
    const bool is_routed = id >= 0 && id < 512;
    // rank = tl.atomic_add(row + slot_group, 1, mask=is_routed, sem="relaxed", s ...  staged.py:124
    int rank = 0;
    if (is_routed) rank = atomicAdd_block(counts + program * 512 + id, 1);
    // first_place = tl.load(starts + slot_group, mask=is_routed, other=0)             staged.py:125
    const int first_place = load_if(is_routed, starts + id, 0);
    // tl.store(sorted_ids + first_place + rank, slot, mask=is_routed)                 staged.py:126
    if (is_routed) *(sorted_ids + first_place + rank) = slot;
}

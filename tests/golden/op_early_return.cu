// early_return.cu: emitted by tle2cuda from control.py:253 (early_return). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants N = 32

namespace {

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32)
early_return(const int* x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // p = tl.program_id(0)                                                           control.py:254
    const int p = blockIdx.x;
    // if p * N >= n:                                                                 control.py:255
    if (p * 32 >= n) {
        // tl.store(out + p, -1)                                                      control.py:256
        if (thread == 0) out[p] = -1;
        return;
    }

    // value = tl.load(x + p)                                                         control.py:258
    const int value = x[p];
    // if value < 0:                                                                  control.py:259
    if (value >= 0) {
        // tl.store(out + p, value + tl.sum(i, axis=0))                               control.py:262
        int i_sum = thread;
        i_sum = warp_all_reduce(i_sum, [](int a, int b) { return a + b; });
        if (thread == 0) out[p] = value + i_sum;
    }
}

// early_return.cu: emitted by tle2cuda from control.py:269 (early_return). Do not edit.
//
//   target    sm_90a, 32 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants N = 32

extern "C" __global__ void __launch_bounds__(32)
early_return(const int* x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // p = tl.program_id(0)                                                           control.py:270
    const int p = blockIdx.x;
    // if p * N >= n:                                                                 control.py:271
    if (p * 32 >= n) {
        // tl.store(out + p, -1)                                                      control.py:272
        if (thread == 0) out[p] = -1;
        return;
    }

    // value = tl.load(x + p)                                                         control.py:274
    const int value = x[p];
    // if value < 0:                                                                  control.py:275
    if (value < 0) return;

    // tl.store(out + p, value + tl.sum(i, axis=0))                                   control.py:278
    int i_sum = thread;
    i_sum = __reduce_add_sync(0xffffffffu, i_sum);
    if (thread == 0) out[p] = value + i_sum;
}

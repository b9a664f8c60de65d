// move_rows.cu: emitted by tle2cuda from descriptors.py:69 (move_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, at *i32 align 16, out *fp32 align 16, M i32, N i32, col i32
//   constants ROWS = 16, BN = 32

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
move_rows(const float* __restrict__ x, const int* __restrict__ at, float* out, const int M,
          const int N, const int col)
{
    const int thread = threadIdx.x;

    // source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])              descriptors.py:71
    const long long elements_left = static_cast<long long>(N);

    // value = source.gather(tl.load(at + i), col)                                 descriptors.py:74
    const long long M_wide = static_cast<long long>(M);
    long long value[4];
    long long product[4];

    // tile [16]: element = thread / 32 + 4 * run;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // i = tl.arange(0, ROWS)                                                  descriptors.py:73
        const int i = thread / 32 + 4 * run;

        // value = source.gather(tl.load(at + i), col)                             descriptors.py:74
        const int at_value = at[i];
        value[run] = static_cast<long long>(at_value);
        product[run] = value[run] * elements_left;
    }
    const long long col_wide = static_cast<long long>(col);
    bool value_2[4];
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_2[run] = value[run] < M_wide && value[run] >= 0ll;
    }
    const long long elements_left_2 = elements_left - col_wide;
    float value_3[4];

    // tile [16, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_3[run] = load_nc_if(value_2[run] && (thread % 32 < elements_left_2 && col_wide + thread % 32 >= 0ll), x + col_wide + thread % 32 + product[run], 0.0f);
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // i = tl.arange(0, ROWS)                                                  descriptors.py:73
        const int i = thread / 32 + 4 * run;
        // target.scatter(value, i, 0)                                             descriptors.py:75
        const long long index = static_cast<long long>(i);
        if (index < M_wide && thread % 32 < elements_left) *(out + thread % 32 + index * elements_left) = value_3[run];
    }
}

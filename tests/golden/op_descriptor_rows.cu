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

// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
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
    // i = tl.arange(0, ROWS)                                                      descriptors.py:73
    const int i = thread % 16;

    // value = source.gather(tl.load(at + i), col)                                 descriptors.py:74
    const int at_value = at[i];
    const long long value = static_cast<long long>(at_value);
    const long long product = value * elements_left;
    const long long col_wide = static_cast<long long>(col);
    const bool value_2 = value < M_wide && value >= 0ll;
    const long long elements_left_2 = elements_left - col_wide;
    long long tile_source;
    tile_source = product;
    long long converted[4];
    converted[0] = shuffle_from(tile_source, thread / 16 % 2 * 16 + thread / 32);
    converted[1] = shuffle_from(tile_source, thread / 16 % 2 * 16 + thread / 32 + 4);
    converted[2] = shuffle_from(tile_source, thread / 16 % 2 * 16 + thread / 32 + 8);
    converted[3] = shuffle_from(tile_source, thread / 16 % 2 * 16 + thread / 32 + 12);
    bool tile_source_2;
    tile_source_2 = value_2;
    bool converted_2[4];
    converted_2[0] = shuffle_from(tile_source_2, thread / 16 % 2 * 16 + thread / 32);
    converted_2[1] = shuffle_from(tile_source_2, thread / 16 % 2 * 16 + thread / 32 + 4);
    converted_2[2] = shuffle_from(tile_source_2, thread / 16 % 2 * 16 + thread / 32 + 8);
    converted_2[3] = shuffle_from(tile_source_2, thread / 16 % 2 * 16 + thread / 32 + 12);
    float value_3[4];

    // tile [16, 32]: row = thread / 32 + 4 * run, column = thread % 32;  run < 4
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        value_3[run] = load_nc_if(converted_2[run] && (thread % 32 < elements_left_2 && col_wide + thread % 32 >= 0ll), x + col_wide + thread % 32 + converted[run], 0.0f);
    }
    #pragma unroll
    for (int run = 0; run < 4; ++run) {
        // i = tl.arange(0, ROWS)                                                  descriptors.py:73
        const int i_2 = thread / 32 + 4 * run;
        // target.scatter(value, i, 0)                                             descriptors.py:75
        const long long index = static_cast<long long>(i_2);
        if (index < M_wide && thread % 32 < elements_left) *(out + thread % 32 + index * elements_left) = value_3[run];
    }
}

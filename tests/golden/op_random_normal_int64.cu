// random_kernel.cu: emitted by tle2cuda from device_functions.py:147 (random_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      offsets *i64 align 16, words *u32 align 16, floats *fp32 align 16, seed i64, n i32
//   constants FOUR = randn4x, ONE = randn, BLOCK = 128

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ long long load_nc_if(bool condition, const long long* pointer, long long other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.s64 %0, [%1];\n\t}"
        : "+l"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

// Four random words for a counter of four words and a key of two (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
template <int ROUNDS>
__device__ __forceinline__ uint4 philox_4x32(unsigned x, unsigned y, unsigned z, unsigned w, unsigned key0, unsigned key1)
{
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const unsigned a = x, b = z;
        x = __umulhi(0xCD9E8D57u, b) ^ y ^ key0;
        y = 0xCD9E8D57u * b;
        z = __umulhi(0xD2511F53u, a) ^ w ^ key1;
        w = 0xD2511F53u * a;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return make_uint4(x, y, z, w);
}

// Square root within 1 ulp; denormals are zero (PTX ISA, sqrt.approx.ftz.f32).
__device__ __forceinline__ float sqrt_approx(float x)
{
    float result;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
random_kernel(const long long* __restrict__ offsets, unsigned* words_, float* floats,
              const long long seed, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                    device_functions.py:148
    const int pid_x = blockIdx.x;
    // a, b, c, d = tl.randint4x(seed, offset)                               device_functions.py:151
    const unsigned seed_2 = static_cast<unsigned>(seed);
    const unsigned value = static_cast<unsigned>(static_cast<unsigned long long>(seed) >> 32);
    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                    device_functions.py:148
    const int i = pid_x * 128 + thread;
    // ok = i < n                                                            device_functions.py:149
    const bool ok = i < n;
    // offset = tl.load(offsets + i, mask=ok, other=0)                       device_functions.py:150
    const long long offset = load_nc_if(ok, offsets + i, 0ll);

    // a, b, c, d = tl.randint4x(seed, offset)                               device_functions.py:151
    const unsigned offset_2 = static_cast<unsigned>(offset);
    const unsigned value_2 = static_cast<unsigned>(offset >> 32);
    const unsigned a = philox_4x32<10>(offset_2, value_2, 0u, 0u, seed_2, value).x;
    const unsigned b = philox_4x32<10>(offset_2, value_2, 0u, 0u, seed_2, value).y;
    const unsigned c = philox_4x32<10>(offset_2, value_2, 0u, 0u, seed_2, value).z;
    const unsigned d = philox_4x32<10>(offset_2, value_2, 0u, 0u, seed_2, value).w;

    // tl.store(words + i, a, mask=ok)                                       device_functions.py:152
    if (ok) words_[i] = a;
    // tl.store(words + n + i, b ^ c ^ d, mask=ok)                           device_functions.py:153
    if (ok) *(words_ + n + i) = b ^ c ^ d;

    // x, y, z, w = FOUR(seed, offset)                                       device_functions.py:154
    const int a_2 = static_cast<int>(a);
    const int b_2 = static_cast<int>(b);
    const int c_2 = static_cast<int>(c);
    const int d_2 = static_cast<int>(d);
    const float larger = fmaxf(1e-07f, static_cast<float>(a_2 < 0 ? ~a_2 : a_2) * 4.6566126e-10f);
    const float product = static_cast<float>(b_2 < 0 ? ~b_2 : b_2) * 4.6566126e-10f * 6.2831855f;
    const float value_3 = sqrt_approx(logf(larger) * -2.0f);
    const float x = value_3 * cosf(product);
    const float y = value_3 * sinf(product);
    const float larger_2 = fmaxf(1e-07f, static_cast<float>(c_2 < 0 ? ~c_2 : c_2) * 4.6566126e-10f);
    const float product_2 = static_cast<float>(d_2 < 0 ? ~d_2 : d_2) * 4.6566126e-10f * 6.2831855f;
    const float value_4 = sqrt_approx(logf(larger_2) * -2.0f);
    const float z = value_4 * cosf(product_2);
    const float w = value_4 * sinf(product_2);

    // tl.store(floats + i, x, mask=ok)  # each by itself: a sum would ...   device_functions.py:155
    if (ok) floats[i] = x;
    // tl.store(floats + n + i, y, mask=ok)                                  device_functions.py:156
    if (ok) *(floats + n + i) = y;
    // tl.store(floats + 2 * n + i, z, mask=ok)                              device_functions.py:157
    if (ok) *(floats + 2 * n + i) = z;
    // tl.store(floats + 3 * n + i, w, mask=ok)                              device_functions.py:158
    if (ok) *(floats + 3 * n + i) = w;

    // tl.store(floats + 4 * n + i, ONE(seed, offset, n_rounds=7), mask=ok)  device_functions.py:159
    const int value_5 = static_cast<int>(philox_4x32<7>(offset_2, value_2, 0u, 0u, seed_2, value).x);
    const float product_3 = static_cast<float>(value_5 < 0 ? ~value_5 : value_5) * 4.6566126e-10f;
    const int value_6 = static_cast<int>(philox_4x32<7>(offset_2, value_2, 0u, 0u, seed_2, value).y);
    const float product_4 = static_cast<float>(value_6 < 0 ? ~value_6 : value_6) * 4.6566126e-10f;
    const float floats_value = sqrt_approx(logf(fmaxf(1e-07f, product_3)) * -2.0f) * cosf(product_4 * 6.2831855f);
    if (ok) *(floats + 4 * n + i) = floats_value;
}

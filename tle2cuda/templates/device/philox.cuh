// defines: philox_4x32
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
// defines: philox_4x64 Words64
// The same of 64-bit words.
struct Words64 {
    unsigned long long x, y, z, w;
};
template <int ROUNDS>
__device__ __forceinline__ Words64 philox_4x64(unsigned long long x, unsigned long long y, unsigned long long z,
                                               unsigned long long w, unsigned long long key0, unsigned long long key1)
{
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) {
        const unsigned long long a = x, b = z;
        x = __umul64hi(0xCA5A826395121157ull, b) ^ y ^ key0;
        y = 0xCA5A826395121157ull * b;
        z = __umul64hi(0xD2E7470EE14C6C93ull, a) ^ w ^ key1;
        w = 0xD2E7470EE14C6C93ull * a;
        key0 += 0x9E3779B97F4A7C15ull;
        key1 += 0xBB67AE8584CAA73Bull;
    }
    return {x, y, z, w};
}

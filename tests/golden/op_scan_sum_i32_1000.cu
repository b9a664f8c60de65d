// scan_1d.cu: emitted by tle2cuda from collectives.py:204 (scan_1d). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants FN = cumsum, REVERSE = False, BLOCK = 1024

namespace {

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

// The value that the lane DISTANCE further down (with REVERSE: up) holds, inside groups of WIDTH lanes; the own value
// where there is none. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T shuffle_previous(T value, int distance)
{
    return shuffle_words(value, [distance](unsigned word) {
        return REVERSE ? __shfl_down_sync(0xffffffffu, word, distance, WIDTH)
                       : __shfl_up_sync(0xffffffffu, word, distance, WIDTH);
    });
}

// Inclusive scan over groups of WIDTH neighbouring lanes, from the last lane down with REVERSE. What comes first is the
// first operand of `combine`, which need not be commutative. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T, typename Combine>
__device__ __forceinline__ T lanes_scan(T value, Combine combine)
{
    const int lane = threadIdx.x % WIDTH;
    const int position = REVERSE ? WIDTH - 1 - lane : lane;
    #pragma unroll
    for (int distance = 1; distance < WIDTH; distance *= 2) {
        const T other = shuffle_previous<WIDTH, REVERSE>(value, distance);
        if (position >= distance) value = combine(other, value);
    }
    return value;
}

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint4 load_bits_nc_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise` (read-only data).
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_nc_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_nc_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
}

// Load the first `valid` of N neighbours in global memory, in words of type Bits, `other` for the rest (read-only data): one predicated
// access when all are valid, one by one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_nc_if(const T* pointer, Count valid, Other other)
{
    Vector<T, N> result = load_vector_nc_if<Bits>(valid >= N, pointer, fill_vector<N>(static_cast<T>(other)));
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) result[k] = pointer[k];
    }
    return result;
}

// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Store the first `valid` of N neighbours in global memory, in words of type Bits: one predicated access when all are valid, one by
// one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_edge_if(T* pointer, Count valid, const Vector<T, N>& value)
{
    store_vector_if<Bits>(valid >= N, pointer, value);
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) pointer[k] = value[k];
    }
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int warp_totals[4];           // scratch of collectives.py:341
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
scan_1d(const int* __restrict__ x, int* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                    collectives.py:205
    const int i = 8 * thread;
    // value = tl.load(x + i, mask=i < n, other=0)                                collectives.py:206
    const Vector<int, 8> value = load_edge_nc_if<uint4, 8>(x + i, n - i, 0);

    // return tl.cumsum(x, axis, reverse)                                         collectives.py:341
    Vector<int, 8> value_cumsum;
    int running = 0;
    #pragma unroll
    for (int k = 0; k < 8; ++k) {
        running += value[k];
        value_cumsum[k] = running;
    }
    const int total = lanes_scan<32, false>(running, [](int a, int b) { return a + b; });
    if (thread % 32 == 31) shared.warp_totals[thread / 32] = total;
    __syncthreads();  // the totals of all warps are in their slots
    int prefix = shuffle_previous<32, false>(total, 1);
    bool has_prefix = thread % 32 > 0;
    #pragma unroll
    for (int part = 2; part >= 0; --part) {
        if (part < thread / 32) {
            const int earlier = shared.warp_totals[part];
            prefix = has_prefix ? earlier + prefix : earlier;
            has_prefix = true;
        }
    }
    if (has_prefix) {
        #pragma unroll
        for (int k = 0; k < 8; ++k) value_cumsum[k] = prefix + value_cumsum[k];
    }

    // tl.store(out + i, FN(value, 0, REVERSE), mask=i < n)                       collectives.py:207
    store_edge_if<uint4>(out + i, n - i, value_cumsum);
}

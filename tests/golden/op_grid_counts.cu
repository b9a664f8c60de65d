// grid_counts.cu: emitted by tle2cuda from distributed.py:141 (grid_counts). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 272 bytes of shared memory
//   launch    cooperative: all CTAs of the grid resident at once
//   args      x *i32 align 16, counts *i32 align 16, out *i32 align 16, n i32 divisible by 16
//   constants mesh = DeviceMesh(shape=(8,), names=('block_x',)), BINS = 64, N = 256

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

// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}

// Exclusive prefix sums over groups of WIDTH neighbouring lanes (with REVERSE from the last lane down), and the sum of the
// group in `total`. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T warp_exclusive_sum(T value, T& total)
{
    const int lane = threadIdx.x % WIDTH;
    const T inclusive = lanes_scan<WIDTH, REVERSE>(value, [](T a, T b) { return static_cast<T>(a + b); });
    const T before = shuffle_previous<WIDTH, REVERSE>(inclusive, 1);
    total = shuffle_from(inclusive, threadIdx.x % 32 - lane + (REVERSE ? 0 : WIDTH - 1));
    return lane == (REVERSE ? WIDTH - 1 : 0) ? T(0) : before;
}

// Exclusive prefix sums of one value per thread over the first WARPS warps, which the others repeat, in the order of
// threads (with REVERSE from the last down), and the sum of all in `total`. Called by all threads. Contains one CTA
// barrier, between writing and reading the slots, one for each warp; another one has to follow before they are written
// again. After it every warp sums the totals of the warps for itself, which saves a second barrier.
template <int WARPS, bool REVERSE, typename T>
__device__ __forceinline__ T cta_exclusive_sum(T value, T& total, T* slots)
{
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    T of_warp;
    const T before = warp_exclusive_sum<32, REVERSE>(value, of_warp);
    if (lane == 0 && warp < WARPS) slots[warp] = of_warp;
    __syncthreads();
    const T earlier = warp_exclusive_sum<WARPS, REVERSE>(slots[lane % WARPS], total);
    return static_cast<T>(shuffle_from(earlier, warp % WARPS) + before);
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

// Barrier of all CTAs of a cooperative launch; orders global memory. Called by every thread. `words[0]` is zeroed once,
// before the first launch: CTA 0 adds what is missing to 2^31, so that a full round flips the top bit and leaves the
// rest as it was (PTX ISA, memory consistency model: release and acquire at GPU scope).
__device__ __forceinline__ void grid_sync(unsigned* words)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned ctas = gridDim.x * gridDim.y * gridDim.z;
        const bool first = blockIdx.x == 0 && blockIdx.y == 0 && blockIdx.z == 0;
        const unsigned amount = first ? 0x80000000u - (ctas - 1) : 1u;
        unsigned before;
        unsigned seen;
        asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(words), "r"(amount)
                     : "memory");
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(words) : "memory");
        } while (((before ^ seen) & 0x80000000u) == 0);
    }
    __syncthreads();
}

// The 8 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint2 load_bits_nc_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t@p ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return otherwise;
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) int starts[64];               // distributed.py:149
    alignas(16) int start_scan[4];            // scratch of distributed.py:148
};
static_assert(sizeof(Shared) <= 272, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
grid_counts(const int* __restrict__ x, int* counts, int* out, const int n,
            unsigned* grid_barrier_words)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * N + tl.arange(0, N)                                 distributed.py:143
    const int pid_x = blockIdx.x;
    const int i = pid_x * 256 + 2 * thread;

    // key = tl.load(x + i, mask=i < n, other=0)                                  distributed.py:145
    const bool inside = i < n;
    const Vector<int, 2> key = load_vector_nc_if<uint2>(inside, x + i, fill_vector<2>(0));
    Vector<int, 2> mine;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // mine = tl.atomic_add(counts + key, 1, mask=i < n, sem="relaxed")       distributed.py:146
        mine[k] = 0;
        if (inside) mine[k] = atomicAdd(counts + key[k], 1);
    }

    // tle.distributed_barrier(mesh)                                              distributed.py:147
    grid_sync(grid_barrier_words);

    // b = tl.arange(0, BINS)                                                     distributed.py:144
    const int b = thread % 64;

    // start, _ = tle.cumsum(tl.load(counts + b), axis=0)                         distributed.py:148
    const int counts_value = counts[b];
    int value;
    int start = cta_exclusive_sum<2, false>(counts_value, value, shared.start_scan);

    // starts.store(start)                                                        distributed.py:150
    if (thread < 64) shared.starts[thread % 64] = start;
    __syncthreads();  // orders the stores to `starts` before the loads of it
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        // tl.store(out + tl.load(tle.gpu.local_ptr(starts, (key,))) + mine, ...  distributed.py:151
        const int starts_value = shared.starts[key[k]];
        if (inside) *(out + starts_value + mine[k]) = key[k];
    }
}

// last_one_sums.cu: emitted by tle2cuda from atomics.py:137 (last_one_sums). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 32 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, partial *i32 align 16, ticket *i32 align 16, out *i32 align 16
//   constants N = 256

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// The machine word that moves BYTES bytes at once: Word<16>::Type is uint4.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };

// How a vector splits into words: COUNT words of up to 16 bytes.
template <typename T, int N>
struct Words {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int COUNT = BYTES < 16 ? 1 : BYTES / 16;
    using Type = typename Word<BYTES / COUNT>::Type;
};

// Load N neighbours, cached in L2 only (ld.cg); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cg(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = __ldcg(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cg(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cg<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}

// Load one element, cached in L2 only (ld.cg).
template <typename T>
__device__ __forceinline__ T load_cg(const T* pointer)
{
    return load_vector_cg<1>(pointer)[0];
}

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Reduce what the WARPS warps of a CTA have each reduced, by a commutative function, through one shared slot per warp;
// every thread receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the
// slots; another one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T warps_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int sum_slots[4];             // scratch of atomics.py:141
    alignas(16) int arrived_broadcast[1];     // scratch of atomics.py:142
};
static_assert(sizeof(Shared) <= 32, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
last_one_sums(const int* __restrict__ x, int* partial, int* ticket, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // p = tl.program_id(0)                                                           atomics.py:139
    const int p = blockIdx.x;
    // i = tl.arange(0, N)                                                            atomics.py:140
    const int i = 2 * thread;

    // tl.store(partial + p, tl.sum(tl.load(x + p * N + i), axis=0))                  atomics.py:141
    const Vector<int, 2> x_value = load_vector<2>(x + p * 256 + i);
    int x_sum = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) x_sum += x_value[k];
    x_sum = warps_all_reduce(__reduce_add_sync(0xffffffffu, x_sum), shared.sum_slots, [](int a, int b) { return a + b; });
    if (thread == 0) partial[p] = x_sum;

    // arrived = tl.atomic_add(ticket, 1, sem="acq_rel")                              atomics.py:142
    __syncthreads();  // the whole CTA's writes come before the release
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        shared.arrived_broadcast[0] = atomicAdd(ticket, 1);
        fence_gpu();  // acquire: what follows sees what the atomics saw
    }
    __syncthreads();  // every thread reads the value that one thread obtained
    const int arrived = shared.arrived_broadcast[0];

    // if arrived == tl.num_programs(0) - 1:                                          atomics.py:143
    const int num_programs_x = gridDim.x;
    if (arrived == num_programs_x - 1) {
        // for k in range(tl.num_programs(0)):                                        atomics.py:145
        int total = 0;
        for (int k_ = 0; k_ < num_programs_x; ++k_) {
            // total += tl.load(partial + k, cache_modifier=".cg")                    atomics.py:146
            const int partial_value = load_cg(partial + k_);
            total += partial_value;
        }

        // tl.store(out, total)                                                       atomics.py:147
        if (thread == 0) *out = total;
    }
}

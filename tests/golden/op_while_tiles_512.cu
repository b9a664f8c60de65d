// while_tiles.cu: emitted by tle2cuda from control.py:188 (while_tiles). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, limit i32
//   constants N = 512

namespace {

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
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
    alignas(16) int max_slots[4];             // scratch of control.py:193
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
while_tiles(const int* __restrict__ x, int* out, const int limit)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, N)                                                            control.py:190
    const int i = 4 * thread;
    // value = tl.load(x + i)                                                         control.py:191
    const Vector<int, 4> value = load_vector<4>(x + i);

    // while tl.max(value, axis=0) > limit:                                           control.py:193
    Vector<int, 4> value_2;
    #pragma unroll
    for (int k = 0; k < 4; ++k)
        value_2[k] = value[k];
    int rounds = 0;
    while (true) {
        __syncthreads();  // orders the loads of the scratch `max_slots` before the stores to it
        int value_max = value_2[0];
        #pragma unroll
        for (int k = 1; k < 4; ++k) value_max = max(value_max, value_2[k]);
        value_max = warps_all_reduce(__reduce_max_sync(0xffffffffu, value_max), shared.max_slots, [](int a, int b) { return max(a, b); });
        if (value_max <= limit) break;

        // rounds += 1                                                                control.py:195
        rounds += 1;
        // value = tl.where(value > limit, value // 2, value)                         control.py:194
        #pragma unroll
        for (int k = 0; k < 4; ++k) value_2[k] = value_2[k] > limit ? value_2[k] / 2 : value_2[k];
    }

    // tl.store(out + i, value + rounds * 1000)                                       control.py:196
    Vector<int, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) out_value[k] = value_2[k] + rounds * 1000;
    store_vector(out + i, out_value);
}

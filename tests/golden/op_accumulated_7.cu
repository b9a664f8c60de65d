// accumulated.cu: emitted by tle2cuda from inner_partitions.py:138 (accumulated). Do not edit.
//
//   target    sm_90a, 192 threads per CTA, 1088 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     sum_of on warps 0 to 3, add_to on warps 4 to 5
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants B = 128

namespace {

// `a + b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T add_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}

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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (0 to 15), each partition in a place of its
// own. Called by all lanes of a warp (PTX ISA, barrier.sync; not .aligned).
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Reduce across the 32 lanes of a warp by a commutative function; every lane receives the result. Called by whole warps.
template <typename T, typename Combine>
__device__ __forceinline__ T warp_all_reduce(T value, Combine combine)
{
    #pragma unroll
    for (int lane_mask = 16; lane_mask > 0; lane_mask >>= 1)
        value = combine(value, static_cast<T>(__shfl_xor_sync(0xffffffffu, value, lane_mask)));
    return value;
}

// Reduce across the WARPS warps of a partition by a commutative function, through one shared slot per warp; every thread
// receives the result. Called by all threads of the partition, each with its number in it; they meet at `barrier` between
// writing and reading the slots, and have to meet again before the slots are written again.
template <int WARPS, typename T, typename Slot, typename Combine, typename Barrier>
__device__ __forceinline__ T partition_all_reduce(T value, Slot (&slots)[WARPS], Combine combine, int thread, Barrier barrier)
{
    value = warp_all_reduce(value, combine);
    if (thread % 32 == 0) slots[thread / 32] = value;
    barrier();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Barrier of the 192 threads of the CTA, wherever they come to it: hardware barrier 0.
__device__ __forceinline__ void all_warps_barrier() { meeting_barrier_sync(0, 192); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int buffer[128];              // inner_partitions.py:140
    alignas(16) int handed[1];                // inner_partitions.py:146
    alignas(16) int handed_factor[1];         // inner_partitions.py:147
    alignas(16) int handed_row[128];          // inner_partitions.py:147
    alignas(16) int sum_slots[4];             // scratch of inner_partitions.py:146
    alignas(16) int max_slots[4];             // scratch of inner_partitions.py:148
};
static_assert(sizeof(Shared) <= 1088, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(192)
accumulated(const int* __restrict__ x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (warp >= 4) {  // add_to: warps 4 to 5
        const int thread = threadIdx.x - 128;

        // while k < n:                                                      inner_partitions.py:144
        int k_ = 0;
        while (k_ < n) {
            all_warps_barrier();  // the workers know how they went on
            all_warps_barrier();  // the workers are told how to go on

            // if tl.sum(row, axis=0) > 0:                                   inner_partitions.py:146
            const int handed_value = shared.handed[0];
            if (handed_value > 0) {
                all_warps_barrier();  // what came before `sum_of` and `add_to` is done

                // total += tle.gpu.warp_specialize([(sum_of, (row,)), ...   inner_partitions.py:147
                const int factor = shared.handed_factor[0];
                const Vector<int, 2> row = load_vector<2>(&shared.handed_row[2 * thread]);

                // buffer.store(buffer.load() + row * factor)                inner_partitions.py:134
                const Vector<int, 2> buffer_value = load_vector<2>(&shared.buffer[2 * thread]);
                Vector<int, 2> buffer_value_2;
                #pragma unroll
                for (int k = 0; k < 2; ++k) {
                    buffer_value_2[k] = add_wrapping(buffer_value[k], mul_wrapping(row[k], factor));
                }
                store_vector(&shared.buffer[2 * thread], buffer_value_2);
            }

            // k += 1                                                        inner_partitions.py:149
            k_ += 1;
        }
        all_warps_barrier();  // all partitions are done
        return;
    }

    const int thread = threadIdx.x;

    // buffer.store(i)                                                       inner_partitions.py:142
    shared.buffer[thread] = thread;

    // sum_of: warps 0 to 3
    // while k < n:                                                          inner_partitions.py:144
    int total = 0;
    int factor = 1;
    int k_ = 0;
    while (k_ < n) {
        // row = tl.load(x + k * B + i)                                      inner_partitions.py:145
        const int row = *(x + k_ * 128 + thread);

        // if tl.sum(row, axis=0) > 0:                                       inner_partitions.py:146
        int row_sum = row;
        row_sum = partition_all_reduce(row_sum, shared.sum_slots, [](int a, int b) { return a + b; }, thread, default_warps_barrier);
        all_warps_barrier();  // the workers know how they went on
        if (thread == 0) shared.handed[0] = row_sum;
        all_warps_barrier();  // the workers are told how to go on
        int total_2;
        int factor_2;
        if (row_sum > 0) {
            // total += tle.gpu.warp_specialize([(sum_of, (row,)), (add ...  inner_partitions.py:147
            if (thread == 0) shared.handed_factor[0] = factor;
            shared.handed_row[thread] = row;
            all_warps_barrier();  // what came before `sum_of` and `add_to` is done

            // factor += tl.max(row, axis=0)                                 inner_partitions.py:148
            int row_max = row;
            row_max = partition_all_reduce(row_max, shared.max_slots, [](int a, int b) { return max(a, b); }, thread, default_warps_barrier);
            // total += tle.gpu.warp_specialize([(sum_of, (row,)), (add ...  inner_partitions.py:147
            total_2 = total + row_sum;
            // factor += tl.max(row, axis=0)                                 inner_partitions.py:148
            factor_2 = factor + row_max;
        } else {
            total_2 = total;
            factor_2 = factor;
        }

        // k += 1                                                            inner_partitions.py:149
        k_ += 1;
        total = total_2;
        factor = factor_2;
    }
    all_warps_barrier();  // all partitions are done

    // tl.store(out + i, buffer.load() + total)                              inner_partitions.py:150
    const int buffer_value = shared.buffer[thread];
    out[thread] = buffer_value + total;
}

// returns_early.cu: emitted by tle2cuda from inner_partitions.py:183 (returns_early). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 768 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     sum_of on warps 0 to 3, add_to on warp 4
//   args      x *i32 align 16, limits *i64 align 16, out *i32 align 16, n i32
//   constants B = 64

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Barrier of the 160 threads of the CTA, wherever they come to it: hardware barrier 0.
__device__ __forceinline__ void all_warps_barrier() { meeting_barrier_sync(0, 160); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int buffer[64];               // inner_partitions.py:193
    alignas(16) int handed_row[64];           // inner_partitions.py:196
    union {  // never alive at the same time
        alignas(16) int row_exchange[64];         // scratch of inner_partitions.py:196
        alignas(16) int sum_slots[2];             // scratch of inner_partitions.py:128
    };
};
static_assert(sizeof(Shared) <= 768, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
returns_early(const int* x, const long long* limits, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (warp >= 4) {  // add_to: warp 4
        const int thread = threadIdx.x - 128;
        const int row_2 = blockIdx.x;

        // if row >= n:                                                      inner_partitions.py:187
        if (row_2 >= n) return;

        // limit = tl.load(limits + row).to(tl.int32)                        inner_partitions.py:189
        const long long limits_value = limits[row_2];
        const int limit = static_cast<int>(limits_value);

        // if limit == 0:                                                    inner_partitions.py:190
        if (limit == 0) return;

        all_warps_barrier();  // what came before `sum_of` and `add_to` is done

        // total = tle.gpu.warp_specialize([(sum_of, (values,)), (add_t ...  inner_partitions.py:196
        const Vector<int, 2> row_3 = load_vector<2>(&shared.handed_row[2 * thread]);

        // buffer.store(buffer.load() + row * factor)                        inner_partitions.py:134
        const Vector<int, 2> buffer_value = load_vector<2>(&shared.buffer[2 * thread]);
        Vector<int, 2> buffer_value_2;
        #pragma unroll
        for (int k = 0; k < 2; ++k) {
            buffer_value_2[k] = add_wrapping(buffer_value[k], mul_wrapping(row_3[k], limit));
        }
        store_vector(&shared.buffer[2 * thread], buffer_value_2);
        all_warps_barrier();  // `sum_of` and `add_to` are done
        return;
    }

    const int thread = threadIdx.x;

    // row = tl.program_id(0)                                                inner_partitions.py:186
    const int row = blockIdx.x;

    // sum_of: warps 0 to 3
    // if row >= n:                                                          inner_partitions.py:187
    if (row >= n) return;

    // limit = tl.load(limits + row).to(tl.int32)                            inner_partitions.py:189
    const long long limits_value = limits[row];
    const int limit = static_cast<int>(limits_value);
    // if limit == 0:                                                        inner_partitions.py:190
    if (limit == 0) {
        // i = tl.arange(0, B)                                               inner_partitions.py:185
        const int i = thread % 64;
        // tl.store(out + row * B + i, i)                                    inner_partitions.py:191
        if (thread < 64) *(out + row * 64 + i) = i;
        return;
    }

    // i = tl.arange(0, B)                                                   inner_partitions.py:185
    const int i = thread % 64;
    // values = tl.load(x + row * B + i)                                     inner_partitions.py:194
    const int values = *(x + row * 64 + i);
    // buffer.store(values)                                                  inner_partitions.py:195
    if (thread < 64) shared.buffer[thread % 64] = values;

    // total = tle.gpu.warp_specialize([(sum_of, (values,)), (add_to, ( ...  inner_partitions.py:196
    if (thread < 64) shared.row_exchange[thread % 64] = values;
    default_warps_barrier();  // the whole tile is in shared memory
    int row_2 = shared.row_exchange[(thread % 64) ^ 63];
    if (thread < 64) shared.handed_row[thread % 64] = row_2;
    all_warps_barrier();  // what came before `sum_of` and `add_to` is done

    // return tl.sum(row, axis=0)                                            inner_partitions.py:128
    int values_sum = values;
    values_sum = __reduce_add_sync(0xffffffffu, values_sum);
    if ((thread & 95) == 0) shared.sum_slots[thread / 32 % 2] = values_sum;
    default_warps_barrier();  // the partial results of all warps are in their slots
    values_sum = shared.sum_slots[0];
    #pragma unroll
    for (int part = 1; part < 2; ++part)
        values_sum += shared.sum_slots[part];
    all_warps_barrier();  // `sum_of` and `add_to` are done

    // tl.store(out + row * B + i, buffer.load() + total)                    inner_partitions.py:197
    const int buffer_value = shared.buffer[thread % 64];
    if (thread < 64) *(out + row * 64 + i) = buffer_value + values_sum;
}

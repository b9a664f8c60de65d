// one_after_the_other.cu: emitted by tle2cuda from async_partitions.py:121 (one_after_the_other). Do not edit.
//
//   target    sm_90a, 256 threads per CTA, 2048 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     add_into on warps 0 to 3, add_into on warps 4 to 5
//             add_into on warps 0 to 3, add_into on warps 4 to 7
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants B = 256

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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (0 to 15), each partition in a place of its
// own. Called by all lanes of a warp (PTX ISA, barrier.sync; not .aligned).
__device__ __forceinline__ void meeting_barrier_sync(int barrier, int threads)
{
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Barrier of the 256 threads of the CTA, wherever they come to it: hardware barrier 0.
__device__ __forceinline__ void all_warps_barrier() { meeting_barrier_sync(0, 256); }

// Shared memory of one CTA.
struct Shared {
    alignas(16) int buffer[2][256];           // async_partitions.py:124
};
static_assert(sizeof(Shared) <= 2048, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
one_after_the_other(const int* __restrict__ x, int* out, const int n)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (warp >= 4) {
        all_warps_barrier();  // what the default warps did in front
        if (warp < 6) {  // add_into: warps 4 to 5
            const int thread = threadIdx.x - 128;

            // i = tl.arange(0, B)                                           async_partitions.py:123
            const int i_3 = 4 * thread;

            // tl.store(p, tl.load(p) + tl.load(x + row * B + i))            async_partitions.py:117
            const Vector<int, 4> buffer_value = load_vector<4>(&shared.buffer[1][i_3]);
            const Vector<int, 4> x_value = load_vector<4>(x + 256 + i_3);
            Vector<int, 4> buffer_value_2;
            #pragma unroll
            for (int k = 0; k < 4; ++k) buffer_value_2[k] = buffer_value[k] + x_value[k];
            store_vector(&shared.buffer[1][i_3], buffer_value_2);
        }
        all_warps_barrier();  // all partitions are done
        all_warps_barrier();  // what the default warps did in front
        {  // add_into: warps 4 to 7
            const int thread = threadIdx.x - 128;

            // i = tl.arange(0, B)                                           async_partitions.py:123
            const int i_3 = 2 * thread;

            // tl.store(p, tl.load(p) + tl.load(x + row * B + i))            async_partitions.py:117
            const Vector<int, 2> buffer_value_4 = load_vector<2>(&shared.buffer[0][i_3]);
            const Vector<int, 2> x_value_2 = load_vector<2>(x + i_3);
            Vector<int, 2> buffer_value_5;
            #pragma unroll
            for (int k = 0; k < 2; ++k) buffer_value_5[k] = buffer_value_4[k] + x_value_2[k];
            store_vector(&shared.buffer[0][i_3], buffer_value_5);
        }
        all_warps_barrier();  // all partitions are done
        return;
    }

    const int thread = threadIdx.x;

    // i = tl.arange(0, B)                                                   async_partitions.py:123
    const int i = 2 * thread;
    Vector<int, 2> i_2;
    #pragma unroll
    for (int k = 0; k < 2; ++k) i_2[k] = i + k;

    // tl.store(tle.gpu.local_ptr(buffer.slot(0), (i,)), i)                  async_partitions.py:125
    store_vector(&shared.buffer[0][i], i_2);
    Vector<int, 2> packed;
    #pragma unroll
    for (int k = 0; k < 2; ++k) packed[k] = (i + k) * n;

    // tl.store(tle.gpu.local_ptr(buffer.slot(1), (i,)), i * n)              async_partitions.py:126
    store_vector(&shared.buffer[1][i], packed);
    all_warps_barrier();  // the workers see what was done so far

    // add_into: warps 0 to 3
    // tl.store(p, tl.load(p) + tl.load(x + row * B + i))                    async_partitions.py:117
    const Vector<int, 2> buffer_value = load_vector<2>(&shared.buffer[0][i]);
    const Vector<int, 2> x_value = load_vector<2>(x + i);
    Vector<int, 2> buffer_value_2;
    #pragma unroll
    for (int k = 0; k < 2; ++k) buffer_value_2[k] = buffer_value[k] + x_value[k];
    store_vector(&shared.buffer[0][i], buffer_value_2);
    all_warps_barrier();  // all partitions are done

    // turned = tl.load(tle.gpu.local_ptr(buffer.slot(1), (B - 1 - i,)))     async_partitions.py:128
    const int index = 255 - i;
    Vector<int, 2> turned;
    #pragma unroll
    for (int k = 0; k < 2; ++k) turned[k] = shared.buffer[1][index - k];

    // tl.store(tle.gpu.local_ptr(buffer.slot(0), (i,)), turned + tl.lo ...  async_partitions.py:129
    const Vector<int, 2> buffer_value_3 = load_vector<2>(&shared.buffer[0][i]);
    Vector<int, 2> sum;
    #pragma unroll
    for (int k = 0; k < 2; ++k) sum[k] = turned[k] + buffer_value_3[k];
    store_vector(&shared.buffer[0][i], sum);
    all_warps_barrier();  // the workers see what was done so far

    // add_into: warps 0 to 3
    // tl.store(p, tl.load(p) + tl.load(x + row * B + i))                    async_partitions.py:117
    const Vector<int, 2> buffer_value_4 = load_vector<2>(&shared.buffer[1][i]);
    const Vector<int, 2> x_value_2 = load_vector<2>(x + 256 + i);
    Vector<int, 2> buffer_value_5;
    #pragma unroll
    for (int k = 0; k < 2; ++k) buffer_value_5[k] = buffer_value_4[k] + x_value_2[k];
    store_vector(&shared.buffer[1][i], buffer_value_5);
    all_warps_barrier();  // all partitions are done

    // tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer.slot(0), (B - ...  async_partitions.py:131
    Vector<int, 2> buffer_value_6;
    #pragma unroll
    for (int k = 0; k < 2; ++k) buffer_value_6[k] = shared.buffer[0][index - k];
    store_vector(out + i, buffer_value_6);

    // tl.store(out + B + i, tl.load(tle.gpu.local_ptr(buffer.slot(1), ...   async_partitions.py:132
    Vector<int, 2> buffer_value_7;
    #pragma unroll
    for (int k = 0; k < 2; ++k) buffer_value_7[k] = shared.buffer[1][index - k];
    store_vector(out + 256 + i, buffer_value_7);
}

// on_one_path.cu: emitted by tle2cuda from async_loads.py:61 (on_one_path). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 3072 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, n i32
//   constants BLOCK = 256

namespace {

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Copies 4, 8 or 16 bytes from global to shared memory, both aligned to as much, as part of this thread's open group. Called by
// each thread for itself (PTX ISA, cp.async; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async(void* destination, const void* source)
{
    if constexpr (BYTES == 16)  // past L1, which the data would only pass through
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(destination)), "l"(source) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES) : "memory");
}

// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float value_staged[256];      // async_loads.py:64
    alignas(16) float other_staged[256];      // async_loads.py:65
    alignas(16) float extra_staged[256];      // async_loads.py:70
};
static_assert(sizeof(Shared) <= 3072, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
on_one_path(const float* __restrict__ x, float* out, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // value = tle.load(x + i, is_async=True)                                      async_loads.py:64
    // i = tl.arange(0, BLOCK)                                                     async_loads.py:63
    const int i = thread % 64 * 4;
    if (thread < 64) cp_async<16>(&shared.value_staged[thread % 64 * 4], x + i);

    // value = tle.load(x + i, is_async=True)                                      async_loads.py:64
    cp_async_commit();
    // other = tle.load(x + BLOCK + i, is_async=True)                              async_loads.py:65
    if (thread < 64) cp_async<16>(&shared.other_staged[thread % 64 * 4], x + 256 + i);
    cp_async_commit();
    // if n > 3:                                                                   async_loads.py:67
    cp_async_wait<1>();
    __syncthreads();  // orders the stores to `value_staged` before the loads of it

    // value = tle.load(x + i, is_async=True)                                      async_loads.py:64
    const Vector<float, 2> value = load_vector<2>(&shared.value_staged[2 * thread]);
    // if n > 3:                                                                   async_loads.py:67
    Vector<float, 2> result;
    if (n > 3) {
        // result = value + 1                                                      async_loads.py:68
        #pragma unroll
        for (int k = 0; k < 2; ++k) result[k] = value[k] + 1.0f;
    } else {
        // extra = tle.load(x + 2 * BLOCK + i, is_async=True)                      async_loads.py:70
        if (thread < 64) cp_async<16>(&shared.extra_staged[thread % 64 * 4], x + 512 + i);
        cp_async_commit();
        // result = extra * 2                                                      async_loads.py:71
        cp_async_wait<0>();
        __syncthreads();  // orders the stores to `extra_staged` before the loads of it

        // extra = tle.load(x + 2 * BLOCK + i, is_async=True)                      async_loads.py:70
        const Vector<float, 2> extra = load_vector<2>(&shared.extra_staged[2 * thread]);
        // result = extra * 2                                                      async_loads.py:71
        #pragma unroll
        for (int k = 0; k < 2; ++k) result[k] = extra[k] * 2.0f;
    }

    // tl.store(out + i, result + other)                                           async_loads.py:72
    cp_async_wait<0>();
    __syncthreads();  // orders the stores to `other_staged` before the loads of it

    // other = tle.load(x + BLOCK + i, is_async=True)                              async_loads.py:65
    const Vector<float, 2> other = load_vector<2>(&shared.other_staged[2 * thread]);

    // tl.store(out + i, result + other)                                           async_loads.py:72
    Vector<float, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value[k] = result[k] + other[k];

    // i = tl.arange(0, BLOCK)                                                     async_loads.py:63
    const int i_2 = 2 * thread;
    // tl.store(out + i, result + other)                                           async_loads.py:72
    store_vector(out + i_2, out_value);
}

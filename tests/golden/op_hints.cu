// hinted.cu: emitted by tle2cuda from memory.py:197 (hinted). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i32 align 16, n i32
//   constants BLOCK = 256

namespace {

// Whether `a + b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool add_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}

// Say which tl.device_assert failed, where, and end the launch with an error. Called by one thread for itself.
__device__ __noinline__ void assertion_failed(const char* message, const char* file, int line)
{
    printf(
        "%s:%d: tl.device_assert failed: %s (CTA %d, %d, %d, thread %d)\n",
        file, line, message, (int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z, (int)threadIdx.x
    );
    __trap();
}

// The 8 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global.nc).
__device__ __forceinline__ uint2 load_bits_nc_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t@p ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y)
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

// Whether `a * b` fits in T, an integer of at most 32 bits: computed in 64, it survives the conversion to T.
template <typename T>
__device__ __forceinline__ bool mul_fits(T a, T b)
{
    const auto exact = static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b);
    return static_cast<unsigned long long>(static_cast<T>(exact)) == exact;
}

// Store 8 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint2* pointer, uint2 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v2.u32 [%0], {%2, %3};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y) : "memory");
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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
hinted(const int* __restrict__ x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)                         memory.py:199
    const int pid_x = blockIdx.x;
    if (!mul_fits(pid_x, 256)) assertion_failed("int32 overflow detected for operation mul", "memory.py", 199);
    const int start = pid_x * 256;

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOC ...  memory.py:200
        const int index = thread + 128 * run;
        if (!add_fits(start, index)) assertion_failed("int32 overflow detected for operation add", "memory.py", 200);
    }

    // tl.device_assert(n >= 0, "no negative length")                                  memory.py:201
    if (n < 0) assertion_failed("no negative length", "memory.py", 201);
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOC ...  memory.py:200
        const int index = thread + 128 * run;
        // tl.device_assert(i >= 0)                                                    memory.py:202
        if (start + index < 0) assertion_failed("", "memory.py", 202);
    }

    // tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)                   memory.py:204
    const Vector<int, 2> x_value = load_edge_nc_if<uint2, 2>(x + start + 2 * thread, n - (start + 2 * thread), 0);
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (!add_fits(x_value[k], 1)) assertion_failed("int32 overflow detected for operation add", "memory.py", 204);
        out_value[k] = x_value[k] + 1;
    }
    store_edge_if<uint2>(out + start + 2 * thread, n - (start + 2 * thread), out_value);
}

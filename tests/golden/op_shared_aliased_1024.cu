// aliased.cu: emitted by tle2cuda from shared.py:101 (aliased). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 4096 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i32 align 16, out *i16 align 16
//   constants N = 1024

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

// Store 16 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(pointer), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}

// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int words[1024];              // shared.py:104
};
static_assert(sizeof(Shared) <= 4096, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
aliased(const int* __restrict__ x, short* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // high = tle.gpu.alloc(                                                           shared.py:105
    short* const high = reinterpret_cast<short*>(shared.words) + 1024;
    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         shared.py:103
        const int i = 4 * thread + 512 * run;
        // words.store(tl.load(x + i))                                                 shared.py:108
        const Vector<int, 4> x_value = load_vector<4>(x + i);
        store_vector(&shared.words[4 * thread + 512 * run], x_value);
    }
    __syncthreads();  // orders the stores to `words` before the loads of it

    // tl.store(out + i, high.load())                                                  shared.py:109
    const Vector<short, 8> words_value = load_vector<8>(&high[8 * thread]);
    // i = tl.arange(0, N)                                                             shared.py:103
    const int i = 8 * thread;
    // tl.store(out + i, high.load())                                                  shared.py:109
    store_narrow<uint4>(out + i, words_value);
}

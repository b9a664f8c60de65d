// split_quads.cu: emitted by tle2cuda from shapes.py:35 (split_quads). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i16 align 16, out *i16 align 16
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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
split_quads(const short* __restrict__ x, short* out)
{
    const int thread = threadIdx.x;

    Vector<short, 8> x_value[2];
    // tile [2048]: element = 8 * thread + 1024 * run + k;  run < 2, k < 8
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // quads = tl.reshape(tl.load(x + tl.arange(0, 4 * N)), (N, 2, 2))              shapes.py:37
        const int index = 8 * thread + 1024 * run;
        x_value[run] = load_vector<8>(x + index);
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        Vector<short, 8> packed;
        #pragma unroll
        for (int k = 0; k < 8; ++k) packed[k] = k % 2 == 0 ? (k / 2 % 2 == 0 ? x_value[run][k / 4 * 4 + 3] : x_value[run][k / 4 * 4 + 2]) : k / 2 % 2 == 0 ? x_value[run][k / 4 * 4 + 1] : x_value[run][k / 4 * 4];

        // quads = tl.reshape(tl.load(x + tl.arange(0, 4 * N)), (N, 2, 2))              shapes.py:37
        const int index = 8 * thread + 1024 * run;
        // tl.store(out + tl.arange(0, 4 * N), tl.ravel(tl.join(tl.join(d, c), tl. ...  shapes.py:41
        store_narrow<uint4>(out + index, packed);
    }
}

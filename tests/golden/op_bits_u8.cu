// binary_kernel.cu: emitted by tle2cuda from elementwise.py:26 (binary_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *u8 align 16, y *u8 align 16, out *u8 align 16, n i32
//   constants FN = bits, BLOCK = 512

namespace {

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

// An empty asm: to the compiler the register changes here, so that what is packed in it is taken apart only behind.
__device__ __forceinline__ void keep_packed(unsigned& word) { asm("" : "+r"(word)); }

// The 32-bit registers that N elements narrower than a register fill. Choosing between two vectors takes one move per
// register here, where the compiler would take the elements apart first and move each.
template <typename T, int N>
struct alignas(alignof(Vector<T, N>)) Registers {
    unsigned word[sizeof(T) * N / 4];

    __device__ __forceinline__ void keep_whole()
    {
        #pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(word) / 4); ++i) keep_packed(word[i]);
    }
};

// Load N neighbours if a condition holds, else take `otherwise`; for elements narrower than a register.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_packed_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    Registers<T, N> registers;
    memcpy(&registers, &otherwise, sizeof(registers));
    if (condition) registers = *reinterpret_cast<const Registers<T, N>*>(pointer);
    registers.keep_whole();
    memcpy(&otherwise, &registers, sizeof(registers));
    return otherwise;
}

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one; for elements narrower than a register.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_narrow_edge(const T* pointer, Count valid, Other other)
{
    Vector<T, N> edge = fill_vector<N>(static_cast<T>(other));
    if (valid < N) {
        #pragma unroll
        for (int k = 0; k < N; ++k)
            if (k < valid) edge[k] = pointer[k];
    }
    return load_packed_if(valid >= N, pointer, edge);
}

// Store 4 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(unsigned* pointer, unsigned bits)
{
    asm volatile("st.global.u32 [%0], %1;" :: "l"(pointer), "r"(bits) : "memory");
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

// Store the first `valid` of N neighbours of less than 4 bytes: words of type Bits when all are valid, else one by one.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_narrow_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_narrow<Bits>(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
binary_kernel(const unsigned char* __restrict__ x, const unsigned char* __restrict__ y,
              unsigned char* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                          elementwise.py:27
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;
    // a = tl.load(x + i, mask=i < n, other=1)                                     elementwise.py:28
    const Vector<unsigned char, 4> a = load_narrow_edge<4>(x + i, n - i, 1);
    // b = tl.load(y + i, mask=i < n, other=1)                                     elementwise.py:29
    const Vector<unsigned char, 4> b = load_narrow_edge<4>(y + i, n - i, 1);

    // return ((a & b) | (a ^ 5)) ^ ~b                                            elementwise.py:123
    Vector<unsigned char, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // return ((a & b) | (a ^ 5)) ^ ~b                                        elementwise.py:123
        const unsigned char value = static_cast<unsigned char>(static_cast<unsigned char>(a[k] & b[k]) | static_cast<unsigned char>(a[k] ^ 5));
        out_value[k] = static_cast<unsigned char>(value ^ static_cast<unsigned char>(b[k] ^ 255));
    }

    // tl.store(out + i, FN(a, b), mask=i < n)                                     elementwise.py:30
    store_narrow_edge<unsigned>(out + i, n - i, out_value);
}

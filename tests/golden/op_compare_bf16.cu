// binary_kernel.cu: emitted by tle2cuda from elementwise.py:26 (binary_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *bf16 align 16, y *bf16 align 16, out *i32 align 16, n i32
//   constants FN = compare_all, BLOCK = 512

#include <cuda_bf16.h>

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
binary_kernel(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ y, int* out,
              const int n)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                          elementwise.py:27
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;
    // a = tl.load(x + i, mask=i < n, other=1)                                     elementwise.py:28
    const Vector<__nv_bfloat16, 4> a = load_narrow_edge<4>(x + i, n - i, __float2bfloat16(1.0f));
    // b = tl.load(y + i, mask=i < n, other=1)                                     elementwise.py:29
    const Vector<__nv_bfloat16, 4> b = load_narrow_edge<4>(y + i, n - i, __float2bfloat16(1.0f));

    // return lower + 8 * (a <= b).to(tl.int32) + 16 * (a > b).to(tl.int32) ...   elementwise.py:150
    Vector<int, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        // lower = (a == b).to(tl.int32) + 2 * (a != b).to(tl.int32) + 4 * ( ...  elementwise.py:149
        const int sum = static_cast<int>(a[k] == b[k]) + static_cast<int>(a[k] != b[k]) * 2;
        const int lower = sum + static_cast<int>(a[k] < b[k]) * 4;
        // return lower + 8 * (a <= b).to(tl.int32) + 16 * (a > b).to(tl.int ...  elementwise.py:150
        const int sum_2 = lower + static_cast<int>(a[k] <= b[k]) * 8 + static_cast<int>(a[k] > b[k]) * 16;
        out_value[k] = sum_2 + static_cast<int>(a[k] >= b[k]) * 32;
    }

    // tl.store(out + i, FN(a, b), mask=i < n)                                     elementwise.py:30
    store_edge(out + i, n - i, out_value);
}

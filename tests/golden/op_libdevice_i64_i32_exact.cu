// one_argument_kernel.cu: emitted by tle2cuda from device_functions.py:44 (one_argument_kernel). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *i64 align 16, out *i32 align 16, n i32
//   constants FNS = (<function clz>, <function ffs>, <function popc>), BLOCK = 256

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

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ long long load_if(bool condition, const long long* pointer, long long other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s64 %0, [%1];\n\t}"
        : "+l"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
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
one_argument_kernel(const long long* x, int* out, const int n)
{
    const int thread = threadIdx.x;

    // i = tl.arange(0, BLOCK)                                                device_functions.py:46
    const int i = 2 * thread;

    // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other=1)) ...  device_functions.py:49
    const Vector<long long, 2> x_value = load_edge<2>(x + i, n - i, 1ll);
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value[k] = __clzll(x_value[k]);
    store_edge(out + i, n - i, out_value);

    // tile [256]: element = thread + 128 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, BLOCK)                                            device_functions.py:46
        const int i_2 = thread + 128 * run;
        // row = k * n + i                                                    device_functions.py:48
        const int row = n + i_2;

        // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other ...  device_functions.py:49
        const bool inside = i_2 < n;
        const long long x_value_2 = load_if(inside, x + row, 1ll);
        if (inside) out[row] = __ffsll(x_value_2);
    }

    // row = k * n + i                                                        device_functions.py:48
    const int row = 2 * n + i;

    // tl.store(out + row, FNS[k](tl.load(x + row, mask=i < n, other=1)) ...  device_functions.py:49
    const Vector<long long, 2> x_value_2 = load_edge<2>(x + row, n - i, 1ll);
    Vector<int, 2> out_value_2;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value_2[k] = __popcll(x_value_2[k]);
    store_edge(out + row, n - i, out_value_2);
}

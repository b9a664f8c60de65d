// softmax_rows.cu: emitted by tle2cuda from collectives.py:197 (softmax_rows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16
//   constants M = 4, N = 128

namespace {

// Quotient within 2 ulp over the full range, as Triton divides (PTX ISA, div.full.f32).
__device__ __forceinline__ float divide_approx(float a, float b)
{
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
softmax_rows(const float* __restrict__ x, float* out)
{
    const int thread = threadIdx.x;

    // rows, cols = tl.arange(0, M), tl.arange(0, N)                              collectives.py:198
    const int rows = thread / 32;
    const int cols = thread % 32 * 4;
    // at = rows[:, None] * N + cols[None, :]                                     collectives.py:199
    const int at = rows * 128 + cols;

    // tl.store(out + at, tl.softmax(tl.load(x + at), dim=1, keep_dims=True))     collectives.py:200
    const Vector<float, 4> x_value = load_vector<4>(x + at);
    float x_max = x_value[0];
    #pragma unroll
    for (int k = 1; k < 4; ++k) x_max = fmaxf(x_max, x_value[k]);
    x_max = warp_all_reduce(x_max, [](float a, float b) { return fmaxf(a, b); });
    Vector<float, 4> value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) value[k] = __expf(x_value[k] - x_max);
    float sum = 0.0f;
    #pragma unroll
    for (int k = 0; k < 4; ++k) sum += value[k];
    sum = warp_all_reduce(sum, [](float a, float b) { return a + b; });
    Vector<float, 4> out_value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) out_value[k] = divide_approx(value[k], sum);
    store_vector(out + at, out_value);
}

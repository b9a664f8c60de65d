// merged_pointers.cu: emitted by tle2cuda from control.py:245 (merged_pointers). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, y *fp32 align 16, out *fp32 align 16, kind i32
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

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
merged_pointers(const float* __restrict__ x, const float* __restrict__ y, float* out,
                const int kind)
{
    const int thread = threadIdx.x;

    // if kind > 0:                                                                   control.py:247
    const float* source;
    Vector<float*, 4> place[2];
    if (kind > 0) {
        source = x;
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                // i = tl.arange(0, N)                                                control.py:246
                const int i = 4 * thread + 512 * run;
                place[run][k] = out + (i + k);
            }
    } else {
        source = y;
        #pragma unroll
        for (int run = 0; run < 2; ++run)
            #pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i = 4 * thread + 512 * run;
                place[run][k] = out + (1023 - i - k);
            }
    }
    Vector<float, 4> source_value[2];

    // tile [1024]: element = 4 * thread + 512 * run + k;  run < 2, k < 4
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        const int i = 4 * thread + 512 * run;

        // tl.store(place, tl.load(source + i))                                       control.py:253
        source_value[run] = load_vector<4>(source + i);
    }
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        #pragma unroll
        for (int k = 0; k < 4; ++k) *place[run][k] = source_value[run][k];
    }
}

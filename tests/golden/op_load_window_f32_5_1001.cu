// copy_window.cu: emitted by tle2cuda from memory.py:32 (copy_window). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, low i32, high i32
//   constants OTHER = 1, BLOCK = 512

namespace {

// Load one element of global memory if a condition holds, else take `other` (read-only data): one predicated load (PTX ISA,
// ld.global.nc). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_nc_if(bool condition, const float* pointer, float other)
{
    asm("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.nc.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)));
    return other;
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_window(const float* __restrict__ x, float* out, const int low, const int high)
{
    const int thread = threadIdx.x;

    // i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)                               memory.py:34
    const int pid_x = blockIdx.x;
    const int i = pid_x * 512 + 4 * thread;

    // value = tl.load(x + i, mask=(i >= low) & (i < high), other=OTHER)                memory.py:35
    Vector<float, 4> value;
    #pragma unroll
    for (int k = 0; k < 4; ++k) {
        value[k] = load_nc_if(i + k >= low && i + k < high, x + i + k, 1.0f);
    }

    // tl.store(out + i, value)                                                         memory.py:36
    store_vector(out + i, value);
}

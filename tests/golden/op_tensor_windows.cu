// windows.cu: emitted by tle2cuda from tensor_copies.py:113 (windows). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 1024 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, starts *i32 align 16, out *fp32 align 16, N i32
//   constants ROWS = 8, BN = 16

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

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
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

// Shared memory of one CTA.
struct Shared {
    alignas(16) float wide[8][32];            // tensor_copies.py:117
};
static_assert(sizeof(Shared) <= 1024, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
windows(const float* __restrict__ x, const int* __restrict__ starts, float* out, const int N)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // start = tl.load(starts + tl.program_id(0))                               tensor_copies.py:115
    const int pid_x = blockIdx.x;
    const int start = starts[pid_x];
    // source = tl.make_tensor_descriptor(x + start * N, [ROWS - 1, N], [N ...  tensor_copies.py:116
    const long long cols_left = static_cast<long long>(N);
    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:119
    const long long cols_left_2 = cols_left - 4ll;

    // tle.gpu.copy(source, wide.subslice(0, BN, 1), [ROWS, BN], [0, 0])        tensor_copies.py:118
    const long long index = thread / 16 * cols_left;
    const float x_value = load_nc_if(thread / 16 < 7ll && thread % 16 < cols_left, x + start * N + index + thread % 16, 0.0f);
    shared.wide[thread / 16][thread % 16] = x_value;

    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:119
    const float x_value_2 = load_nc_if(thread / 16 < 6ll && thread % 16 < cols_left_2, x + start * N + cols_left + 4 + index + thread % 16, 0.0f);
    // target = tl.make_tensor_descriptor(out, [tl.num_programs(0) * ROWS, ...  tensor_copies.py:120
    const int num_programs_x = gridDim.x;

    // tle.gpu.copy(wide, target, [ROWS, 2 * BN], [tl.program_id(0) * ROWS ...  tensor_copies.py:121
    const long long value = static_cast<long long>(pid_x * 8);
    const long long rows_left = static_cast<long long>(num_programs_x * 8) - value;
    __syncthreads();  // orders the stores to `wide` before later ones

    // tle.gpu.copy(source, wide.subslice(BN, BN, 1), [ROWS, BN], [1, 4])       tensor_copies.py:119
    shared.wide[thread / 16][thread % 16 + 16] = x_value_2;
    __syncthreads();  // orders the stores to `wide` before the loads of it

    // tle.gpu.copy(wide, target, [ROWS, 2 * BN], [tl.program_id(0) * ROWS ...  tensor_copies.py:121
    const Vector<float, 2> wide_value = load_vector<2>(&shared.wide[thread / 16][thread % 16 * 2]);
    store_vector_if<uint2>(thread / 16 < rows_left && value + thread / 16 >= 0ll, out + value * 32ll + thread / 16 * 32ll + thread % 16 * 2, wide_value);
}

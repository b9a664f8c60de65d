// copy_tiles.cu: emitted by tle2cuda from descriptors.py:18 (copy_tiles). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 0 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, out *fp32 align 16, M i32, N i32 divisible by 16,
//             stride i32 divisible by 16, row i32, col i32 divisible by 16
//   constants BM = 16, BN = 32, PADDING = 'zero'

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

// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}

// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise`.
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_tiles(const float* x, float* out, const int M, const int N, const int stride, const int row,
           const int col)
{
    const int thread = threadIdx.x;

    // source = tl.make_tensor_descriptor(x, [M, N], [stride, 1], [BM, BN], p ...  descriptors.py:20
    const long long value = static_cast<long long>(stride);

    // target.store([0, 0], source.load([row, col]))                               descriptors.py:22
    const long long M_wide = static_cast<long long>(M);
    const long long row_wide = static_cast<long long>(row);
    const long long col_wide = static_cast<long long>(col);
    const long long rows_left = M_wide - row_wide;
    const long long cols_left = static_cast<long long>(N) - col_wide;

    // tl.store_tensor_descriptor(target, [0, BN], tl.load_tensor_descriptor( ...  descriptors.py:23
    const long long value_2 = static_cast<long long>(row + 1);
    const long long rows_left_2 = M_wide - value_2;

    // target.store([0, 0], source.load([row, col]))                               descriptors.py:22
    const long long index = thread / 8 * value;
    const bool inside = thread % 8 * 4 < cols_left;
    const bool inside_2 = col_wide + thread % 8 * 4 >= 0ll;
    const Vector<float, 4> x_value = load_vector_if<uint4>(thread / 8 < rows_left && row_wide + thread / 8 >= 0ll && inside && inside_2, x + row_wide * value + col_wide + index + thread % 8 * 4, fill_vector<4>(0.0f));
    const long long index_2 = thread / 8 * 64ll;
    store_vector(out + index_2 + thread % 8 * 4, x_value);

    // tl.store_tensor_descriptor(target, [0, BN], tl.load_tensor_descriptor( ...  descriptors.py:23
    const Vector<float, 4> x_value_2 = load_vector_if<uint4>(thread / 8 < rows_left_2 && value_2 + thread / 8 >= 0ll && inside && inside_2, x + value_2 * value + col_wide + index + thread % 8 * 4, fill_vector<4>(0.0f));
    store_vector(out + 32 + index_2 + thread % 8 * 4, x_value_2);
}

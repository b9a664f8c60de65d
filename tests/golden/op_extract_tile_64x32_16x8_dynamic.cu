// tile_dynamic.cu: emitted by tle2cuda from shapes.py:104 (tile_dynamic). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 256 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *u8 align 16, out *u8 align 16, row i32
//   constants M = 64, N = 32, P = 16, Q = 8

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

// Shared memory of one CTA.
struct Shared {
    alignas(16) unsigned char part[128];      // scratch of shapes.py:109
    alignas(16) unsigned char part_2[128];    // scratch of shapes.py:110
};
static_assert(sizeof(Shared) <= 256, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
tile_dynamic(const unsigned char* __restrict__ x, unsigned char* out, const int row)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])    shapes.py:106
    const Vector<unsigned char, 16> value = load_vector<16>(x + thread / 2 * 32 + thread % 2 * 16);
    // for column in range(N // Q):                                                    shapes.py:108
    for (int column = 0; column < 4; ++column) {
        __syncthreads();  // orders the loads of the scratch `part` before the stores to it

        // tl.store(out + column * P * Q + at, value.extract_tile(index=[row, col ...  shapes.py:109
        #pragma unroll
        for (int k = 0; k < 16; ++k) {
            if (thread / 32 * 4 + thread % 2 * 2 + k / 8 == row * 4 + column)
                shared.part[thread / 2 % 16 * 8 + k % 8] = value[k];
        }
        __syncthreads();  // the whole part is in shared memory
        unsigned char value_part = shared.part[thread];
        *(out + column * 16 * 8 + thread) = value_part;
    }

    // tl.store(out + N * P + at, tle.extract_tile(value, row.to(tl.int64) * (N / ...  shapes.py:110
    #pragma unroll
    for (int k = 0; k < 16; ++k) {
        if (thread / 32 * 4 + thread % 2 * 2 + k / 8 == static_cast<int>(static_cast<long long>(row) * 4ll))
            shared.part_2[thread / 2 % 16 * 8 + k % 8] = value[k];
    }
    __syncthreads();  // the whole part is in shared memory
    unsigned char value_part = shared.part_2[thread];
    *(out + 512 + thread) = value_part;
}

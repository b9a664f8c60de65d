// copy_blocks.cu: emitted by tle2cuda from tensor_copies.py:86 (copy_blocks). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 640 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      out *i16 align 16, A i32, B i32, C i32, D i32, E i32
//   maps      x_map of x: i16, shape (A, B, C, D, E),
//             strides (B * C * D * E, C * D * E, D * E, E, 1), box (2, 1, 2, 4, 16)
//             out_map of out: i16, shape (A * B * C, D, E), strides (D * E, E, 1), box (4, 4, 16)
//   constants COL = 8

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
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

// Address in the window of shared memory, as PTX instructions take it.
__device__ __forceinline__ unsigned shared_address(const void* pointer)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Arrives, and the phase then also waits for `bytes` that copies bring. Called by one thread (PTX ISA, mbarrier.arrive.expect_tx;
// sm_90).
__device__ __forceinline__ void mbarrier_expect_bytes(Barrier* barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
}

// A fresh mbarrier whose phases take `arrivals` arrivals. Called by one thread; fence_mbarrier_init and a barrier follow before
// anyone uses it (PTX ISA, mbarrier.init; sm_80).
__device__ __forceinline__ void mbarrier_init(Barrier* barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Waits until the phase of this parity has ended. What its arrivals and copies did comes before what the calling thread does
// next (PTX ISA, mbarrier.try_wait; sm_90).
__device__ __forceinline__ void mbarrier_wait(Barrier* barrier, unsigned parity)
{
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra DONE;\n"
        "bra WAIT;\n"
        "DONE:\n"
        "}" ::"r"(shared_address(barrier)), "r"(parity) : "memory");
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

// One box of the tensor map into shared memory, from element (c0, c1, c2, c3, c4) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_5d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1, int c2, int c3, int c4)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_3d(const TensorMap* map, const void* source, int c0, int c1, int c2)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1), "r"(c2) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) short tile[2][2][4][16];     // tensor_copies.py:90
    alignas(8) Barrier tile_landed;           // scratch of tensor_copies.py:91
};
static_assert(sizeof(Shared) <= 640, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_blocks(short* out, const int A, const int B, const int C, const int D, const int E,
            const __grid_constant__ TensorMap x_map, const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.tile_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // five = tl.make_tensor_descriptor(x, [A, B, C, D, E], [B * C * D * E, ...  tensor_copies.py:88
    const long long axis2_left = static_cast<long long>(E);
    const long long value = static_cast<long long>(D * E);

    // tle.gpu.copy(five, tile, [2, 1, 2, 4, 16], [1, 2, 0, 1, COL])             tensor_copies.py:91
    if (thread == 0) {
        mbarrier_expect_bytes(&shared.tile_landed, 512);
        tma_load_5d(shared.tile, &x_map, &shared.tile_landed, 8, 1, 0, 2, 1);
    }
    mbarrier_wait(&shared.tile_landed, 0);

    // tle.gpu.copy(tile.reshape([4, 4, 16]), three, [4, 4, 16], [3, 0, 0])      tensor_copies.py:92
    short* const view = shared.tile[0][0][0];
    const bool fits_engine = (E & 7) == 0 || E >= 16;
    if (fits_engine) {
        if (thread == 0) {
            tma_store_3d(&out_map, view, 0, 0, 3);
            tma_store_commit();
        }
    } else {
        const long long axis1_left = static_cast<long long>(D);
        const long long axis0_left = static_cast<long long>(A * B * C) - 3ll;
        const Vector<short, 2> tile_value = load_vector<2>(&view[thread / 32 * 64 + thread / 8 % 4 * 16 + thread % 8 * 2]);
        if (thread / 32 < axis0_left && thread / 8 % 4 < axis1_left) store_narrow_edge<unsigned>(out + 3ll * value + thread / 32 * value + thread / 8 % 4 * axis2_left + thread % 8 * 2, axis2_left - thread % 8 * 2, tile_value);
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `tile`
}

// copy_lines.cu: emitted by tle2cuda from tensor_copies.py:73 (copy_lines). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 2176 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      n i32
//   maps      x_map of x: fp32, shape (n), strides (1), box (256)
//             out_map of out: fp32, shape (n), strides (1), box (256)
//   constants BLOCK = 256

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

constexpr unsigned long long EVICT_FIRST = 0x12F0000000000000;  // policy of the L2 cache for what is used once (PTX ISA, createpolicy)

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

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

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// tma_load_1d under a policy of the L2 cache. Called by one thread (PTX ISA, cp.async.bulk.tensor with .L2::cache_hint; sm_90).
__device__ __forceinline__ void tma_load_hinted_1d(void* destination, const TensorMap* map, Barrier* barrier, int c0, unsigned long long policy)
{
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, {%4}], [%2], %3;"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "l"(policy), "r"(c0) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_1d(const TensorMap* map, const void* source, int c0)
{
    asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float line[256];             // tensor_copies.py:78
    alignas(16) float exchange[256];          // scratch of tensor_copies.py:82
    alignas(8) Barrier line_landed;           // scratch of tensor_copies.py:80
};
static_assert(sizeof(Shared) <= 2176, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
copy_lines(const int n, const __grid_constant__ TensorMap x_map,
           const __grid_constant__ TensorMap out_map)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    if (thread == 0) {
        mbarrier_init(&shared.line_landed, 1);
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    // for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * ...  tensor_copies.py:79
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;
    unsigned line_landed_phase = 0;
    for (int start = pid_x * 256; start < n; start += num_programs_x * 256) {
        if (thread == 0) tma_store_wait_read();  // the copy engine has read `line`

        // tle.gpu.copy(source, line, [BLOCK], [start], eviction_policy="ev ...  tensor_copies.py:80
        if (thread == 0) {
            mbarrier_expect_bytes(&shared.line_landed, 1024);
            tma_load_hinted_1d(shared.line, &x_map, &shared.line_landed, start, EVICT_FIRST);
        }
        mbarrier_wait(&shared.line_landed, line_landed_phase);
        line_landed_phase ^= 1;

        // value = tl.load(tle.gpu.local_ptr(line))                              tensor_copies.py:81
        const Vector<float, 2> value = load_vector<2>(&shared.line[2 * thread]);

        // tl.store(tle.gpu.local_ptr(line), value * 2 + tl.flip(value))         tensor_copies.py:82
        Vector<float, 2> product;
        #pragma unroll
        for (int k = 0; k < 2; ++k) product[k] = value[k] * 2.0f;
        Vector<float, 2> packed;
        #pragma unroll
        for (int k = 0; k < 2; ++k) packed[k] = value[k];
        store_vector(&shared.exchange[2 * thread], packed);
        __syncthreads();  // the whole tile is in shared memory
        Vector<float, 2> value_converted;
        const Vector<float, 2> unpacked = load_vector<2>(&shared.exchange[(2 * thread) ^ 254]);
        #pragma unroll
        for (int k = 0; k < 2; ++k) value_converted[k] = unpacked[k ^ 1];
        Vector<float, 2> line_value;
        #pragma unroll
        for (int k = 0; k < 2; ++k) line_value[k] = product[k] + value_converted[k];
        store_vector(&shared.line[2 * thread], line_value);
        fence_async_proxy();  // shows what was written to `line` to the copy engine
        __syncthreads();  // orders the accesses to `line` and the scratch `exchange` before it and after it

        // tle.gpu.copy(line, target, [BLOCK], [start])                          tensor_copies.py:83
        if (thread == 0) {
            tma_store_1d(&out_map, shared.line, start);
            tma_store_commit();
        }
    }
    if (thread == 0) tma_store_wait_read();  // no CTA may exit while the copy engine reads `line`
}

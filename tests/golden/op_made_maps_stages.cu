// pipe_groups.cu: emitted by tle2cuda from made_maps.py:82 (pipe_groups). Do not edit.
//
//   target    sm_90a, 160 threads per CTA, 2176 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   warps     write_groups on warps 0 to 3, read_steps on warp 4
//   args      x *fp32 align 16, out *fp32 align 16, firsts *i32 align 16, rows *i32 align 16,
//             groups i32, N i32
//   maps      out_form of out: fp32, shape (1, 1), strides (4, 1), box (8, 32)
//             x_form of x: fp32, shape (1, 1), strides (4, 1), box (8, 32)
//   constants BM = 8, BN = 32, CAPACITY = 2, READ = read_steps

namespace {

using Barrier = unsigned long long;                      // one mbarrier object

// What the host encodes with cuTensorMapEncodeTiled; laid out as CUtensorMap, whose header NVRTC cannot read.
struct alignas(64) TensorMap { unsigned long long opaque[16]; };

// Lets a tensor map in global memory begin somewhere else. Called by one thread; fence_tensor_map follows the last change (PTX
// ISA, tensormap.replace; sm_90a).
__device__ __forceinline__ void change_tensor_map_base(TensorMap* map, const void* base)
{
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(map), "l"(base) : "memory");
}

// The same for the extent of dimension AXIS in elements, 0 being the contiguous one (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_extent(TensorMap* map, unsigned extent)
{
    asm volatile("tensormap.replace.tile.global_dim.global.b1024.b32 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "r"(extent) : "memory");
}

// The same for the bytes from one index of dimension AXIS + 1 to the next (PTX ISA, tensormap.replace; sm_90a).
template <int AXIS>
__device__ __forceinline__ void change_tensor_map_stride(TensorMap* map, unsigned long long bytes)
{
    asm volatile("tensormap.replace.tile.global_stride.global.b1024.b64 [%0], %1, %2;" ::"l"(map), "n"(AXIS), "l"(bytes) : "memory");
}

// Orders this thread's ordinary accesses to shared memory before later ones by the copy engine: writes before it reads them, reads
// before it refills what was read (PTX ISA, fence.proxy.async; sm_90).
__device__ __forceinline__ void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Makes this thread's mbarrier_init known to the cluster and to the copy engine (PTX ISA, fence.mbarrier_init; sm_90).
__device__ __forceinline__ void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Makes this thread's changes of a tensor map in global memory known to its later copies. Called by the thread that changed it
// (PTX ISA, fence.proxy.tensormap; sm_90).
__device__ __forceinline__ void fence_tensor_map(const TensorMap* map)
{
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
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

// One arrival of the calling thread; what it did before is in front of what waits for the phase (PTX ISA, mbarrier.arrive; sm_80).
__device__ __forceinline__ void mbarrier_arrive(Barrier* barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
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

// Waits until `threads` threads, whole warps, have come to hardware barrier `barrier` (1 to 15; 0 is that of __syncthreads).
// Called by all lanes of a warp (PTX ISA, barrier.sync).
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

// One box of the tensor map into shared memory, from element (c0, c1) on, c0 innermost; its bytes complete on `barrier`. Elements
// outside of the array are filled. `destination` is aligned to 128 bytes. Called by one thread (PTX ISA,
// cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_load_2d(void* destination, const TensorMap* map, Barrier* barrier, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(shared_address(destination)), "l"(map), "r"(shared_address(barrier)), "r"(c0), "r"(c1) : "memory");
}

// One box from shared memory into the array, clipped at its edges, as part of this thread's open bulk group. What wrote
// `source` is followed by fence_async_proxy. Called by one thread (PTX ISA, cp.async.bulk.tensor; sm_90).
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, const void* source, int c0, int c1)
{
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(shared_address(source)), "r"(c0), "r"(c1) : "memory");
}

// Closes this thread's bulk group (PTX ISA, cp.async.bulk.commit_group; sm_90).
__device__ __forceinline__ void tma_store_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until all bulk groups of this thread but the last PENDING are complete (PTX ISA, cp.async.bulk.wait_group; sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory"); }

// Waits until all but the last PENDING have read shared memory, which may then be written (PTX ISA, cp.async.bulk.wait_group.read;
// sm_90).
template <int PENDING = 0>
__device__ __forceinline__ void tma_store_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory"); }

// Barrier of the 128 threads of the default warps: hardware barrier 1.
__device__ __forceinline__ void default_warps_barrier() { named_barrier_sync(1, 128); }

// Shared memory of one CTA.
struct Shared {
    alignas(128) float ring[2][8][32];        // made_maps.py:86
    alignas(8) Barrier tiles_full[2];         // made_maps.py:87
    alignas(8) Barrier tiles_empty[2];        // made_maps.py:87
};
static_assert(sizeof(Shared) <= 2176, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
pipe_groups(const float* x, float* out, const int* firsts, const int* rows, const int groups,
            const int N, TensorMap* device_maps, const __grid_constant__ TensorMap out_form,
            const __grid_constant__ TensorMap x_form)
{
    __shared__ Shared shared;
    const int warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);  // known to be the same in all lanes

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < 2; ++stage) {
            mbarrier_init(&shared.tiles_full[stage], 1);
            mbarrier_init(&shared.tiles_empty[stage], 128);
        }
        fence_mbarrier_init();
    }
    __syncthreads();  // all threads see the barriers set up

    if (warp >= 4) {  // read_steps: warp 4
        if (threadIdx.x == 128) {  // the others have nothing to do
            // for group in range(tl.program_id(0), groups, tl.num_programs(0)):     made_maps.py:57
            const int pid_x = blockIdx.x;
            const int num_programs_x = gridDim.x;
            // source = tl.make_tensor_descriptor(x + first + row * N, [end, N] ...  made_maps.py:62
            const long long x_stride0_bytes = static_cast<long long>(N) * 4ll;
            // for group in range(tl.program_id(0), groups, tl.num_programs(0)):     made_maps.py:57
            int turn = 0;
            for (int group = pid_x; group < groups; group += num_programs_x) {
                // for row in range(0, tl.load(rows + group), BM):                   made_maps.py:58
                const int rows_value = rows[group];
                int turn_2 = turn;
                #pragma unroll 1
                for (int row = 0; row < rows_value; row += 8) {
                    // slot = writer.acquire(turn).tile                              made_maps.py:59
                    const int stage = turn_2 & 1;
                    const int lap = turn_2 >> 1;
                    mbarrier_wait(&shared.tiles_empty[stage], (lap + 1) & 1);

                    // first = tl.multiple_of(tl.load(firsts + group), 16)           made_maps.py:60
                    const int firsts_value = firsts[group];
                    // end = tl.load(rows + group) - row                             made_maps.py:61
                    const int rows_value_2 = rows[group];
                    const int end = rows_value_2 - row;

                    // source = tl.make_tensor_descriptor(x + first + row * N, ...   made_maps.py:62
                    const bool x_exists = end > 0 && N > 0;
                    TensorMap* const x_map = device_maps + (gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x) * 3 + 1 + stage;
                    *x_map = x_form;
                    change_tensor_map_base(x_map, x + firsts_value + row * N);
                    change_tensor_map_extent<0>(x_map, max(N, 1));
                    change_tensor_map_extent<1>(x_map, max(end, 1));
                    change_tensor_map_stride<0>(x_map, x_stride0_bytes);
                    fence_tensor_map(x_map);

                    // tle.gpu.copy(source, slot, [BM, BN], [0, 0])                  made_maps.py:63
                    mbarrier_expect_bytes(&shared.tiles_full[stage], 1024);
                    tma_load_2d(shared.ring[stage], x_map, &shared.tiles_full[stage], 0, x_exists ? 0 : 2147418112);
                    // turn += 1                                                     made_maps.py:65
                    turn_2 += 1;
                }
                turn = turn_2;
            }
        }
        return;
    }

    const int thread = threadIdx.x;

    // write_groups: warps 0 to 3
    // for group in range(tl.program_id(0), groups, tl.num_programs(0)):             made_maps.py:71
    const int pid_x = blockIdx.x;
    const int num_programs_x = gridDim.x;

    // return tl.make_tensor_descriptor(x + first, [tl.load(rows + number), N], ...  made_maps.py:23
    const long long out_stride0_bytes = static_cast<long long>(N) * 4ll;

    // for group in range(tl.program_id(0), groups, tl.num_programs(0)):             made_maps.py:71
    int turn = 0;
    #pragma unroll 1
    for (int group = pid_x; group < groups; group += num_programs_x) {
        // first = tl.multiple_of(tl.load(firsts + number), 16)                      made_maps.py:22
        const int firsts_value = firsts[group];
        // return tl.make_tensor_descriptor(x + first, [tl.load(rows + number), ...  made_maps.py:23
        const int rows_value = rows[group];
        // for row in range(0, tl.load(rows + group), BM):                           made_maps.py:73
        const int rows_value_2 = rows[group];

        // return tl.make_tensor_descriptor(x + first, [tl.load(rows + number), ...  made_maps.py:23
        const bool out_exists = rows_value > 0 && N > 0;
        TensorMap* const out_map = device_maps + (gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x) * 3;
        if (thread == 0) {
            tma_store_wait_read();  // nothing is stored by the map before this one any more
            *out_map = out_form;
            change_tensor_map_base(out_map, out + firsts_value);
            change_tensor_map_extent<0>(out_map, max(N, 1));
            change_tensor_map_extent<1>(out_map, max(rows_value, 1));
            change_tensor_map_stride<0>(out_map, out_stride0_bytes);
            fence_tensor_map(out_map);
        }

        // for row in range(0, tl.load(rows + group), BM):                           made_maps.py:73
        int turn_2 = turn;
        for (int row = 0; row < rows_value_2; row += 8) {
            // slot = reader.wait(turn).slot.tile                                    made_maps.py:74
            const int stage = turn_2 & 1;
            const int lap = turn_2 >> 1;
            mbarrier_wait(&shared.tiles_full[stage], lap & 1);

            // tl.store(tle.gpu.local_ptr(slot), tl.load(tle.gpu.local_ptr(slot ...  made_maps.py:75
            const Vector<float, 2> ring_value = load_vector<2>(&shared.ring[stage][thread / 16][thread % 16 * 2]);
            Vector<float, 2> ring_value_2;
            #pragma unroll
            for (int k = 0; k < 2; ++k) ring_value_2[k] = ring_value[k] + static_cast<float>(group);
            store_vector(&shared.ring[stage][thread / 16][thread % 16 * 2], ring_value_2);
            fence_async_proxy();  // shows what was written to `ring` to the copy engine
            default_warps_barrier();  // orders the stores to `ring` before the loads of it

            // tle.gpu.copy(slot, target, [BM, BN], [row, 0])                        made_maps.py:76
            if (thread == 0) {
                tma_store_2d(out_map, shared.ring[stage], 0, out_exists ? row : 2147418112);
                tma_store_commit();
            }
            if (thread == 0) tma_store_wait();  // the copy engine has written `out`

            // reader.release(turn)                                                  made_maps.py:77
            mbarrier_arrive(&shared.tiles_empty[stage]);
            // turn += 1                                                             made_maps.py:78
            turn_2 += 1;
        }
        turn = turn_2;
    }
}

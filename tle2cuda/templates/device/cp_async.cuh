// defines: cp_async
// needs: shared_address
// Copies 4, 8 or 16 bytes from global to shared memory, both aligned to as much, as part of this thread's open group. Called by
// each thread for itself (PTX ISA, cp.async; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async(void* destination, const void* source)
{
    if constexpr (BYTES == 16)  // past L1, which the data would only pass through
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(destination)), "l"(source) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES) : "memory");
}
// twin:
template <int BYTES>
__device__ __forceinline__ void cp_async(void* destination, const void* source)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    tle2cuda_emulator::tle2cuda_cp_async(destination, source, BYTES, BYTES, __LINE__);
}
// defines: cp_async_zero_fill
// needs: shared_address
// Copies the first `valid_bytes` of 4, 8 or 16 bytes from global to shared memory, both aligned to as much, and zeros for the
// rest, as part of this thread's open group. Called by each thread for itself (PTX ISA, cp.async with src-size; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill(void* destination, const void* source, unsigned valid_bytes)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(destination)), "l"(source), "r"(valid_bytes) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "r"(valid_bytes) : "memory");
}
// twin:
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill(void* destination, const void* source, unsigned valid_bytes)
{
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    tle2cuda_emulator::tle2cuda_cp_async(destination, source, BYTES, valid_bytes, __LINE__);
}
// defines: cp_async_edge
// needs: cp_async_zero_fill
// Copies the first `valid` elements, which may be none or more than there are, and zeros for the rest.
template <int BYTES, typename T, typename Count>
__device__ __forceinline__ void cp_async_edge(T* destination, const T* source, Count valid)
{
    constexpr int COUNT = BYTES / sizeof(T);
    const int count = valid >= COUNT ? COUNT : valid <= 0 ? 0 : static_cast<int>(valid);
    cp_async_zero_fill<BYTES>(destination, source, count * sizeof(T));
}
// defines: cp_async_commit
// Closes this thread's group of copies, which may be empty (PTX ISA, cp.async.commit_group; sm_80).
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// twin:
__device__ __forceinline__ void cp_async_commit() { tle2cuda_emulator::tle2cuda_cp_async_commit(); }
// defines: cp_async_wait
// Waits until at most the last PENDING groups of this thread are in flight; other threads see the data behind a barrier (PTX ISA,
// cp.async.wait_group; sm_80).
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory"); }
// twin:
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() { tle2cuda_emulator::tle2cuda_cp_async_wait(PENDING); }
// defines: cp_async_wait_all
// Waits for all copies of this thread, in groups or not (PTX ISA, cp.async.wait_all; sm_80).
__device__ __forceinline__ void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
// twin:
__device__ __forceinline__ void cp_async_wait_all() { tle2cuda_emulator::tle2cuda_cp_async_wait_all(); }
// defines: cp_async_mbarrier_arrive
// needs: Barrier shared_address
// An arrival once all copies of this thread so far are complete; the phase takes it beyond its count (PTX ISA,
// cp.async.mbarrier.arrive; sm_80).
__device__ __forceinline__ void cp_async_mbarrier_arrive(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void cp_async_mbarrier_arrive(Barrier* barrier)
{
    tle2cuda_emulator::tle2cuda_cp_async_arrive(barrier, false, __LINE__);
}
// defines: cp_async_mbarrier_arrive_noinc
// needs: Barrier shared_address
// The same as one of the arrivals that the phase's count includes (PTX ISA, cp.async.mbarrier.arrive.noinc; sm_80).
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(Barrier* barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// twin:
__device__ __forceinline__ void cp_async_mbarrier_arrive_noinc(Barrier* barrier)
{
    tle2cuda_emulator::tle2cuda_cp_async_arrive(barrier, true, __LINE__);
}
// defines: evict_first_policy
// Policy of the L2 cache for what is used once (PTX ISA, createpolicy; sm_80).
__device__ __forceinline__ unsigned long long evict_first_policy()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// twin:
__device__ __forceinline__ unsigned long long evict_first_policy() { return 1; }
// defines: evict_last_policy
// Policy of the L2 cache for what is used again (PTX ISA, createpolicy; sm_80).
__device__ __forceinline__ unsigned long long evict_last_policy()
{
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// twin:
__device__ __forceinline__ unsigned long long evict_last_policy() { return 2; }
// defines: cp_async_hinted
// needs: shared_address
// cp_async under a policy of the L2 cache (PTX ISA, cp.async with .L2::cache_hint; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_hinted(void* destination, const void* source, unsigned long long policy)
{
    if constexpr (BYTES == 16)  // past L1, which the data would only pass through
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;"
                     ::"r"(shared_address(destination)), "l"(source), "l"(policy) : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3;"
                     ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "l"(policy) : "memory");
}
// twin:
template <int BYTES>
__device__ __forceinline__ void cp_async_hinted(void* destination, const void* source, unsigned long long policy)
{
    static_cast<void>(policy);
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    tle2cuda_emulator::tle2cuda_cp_async(destination, source, BYTES, BYTES, __LINE__);
}
// defines: cp_async_zero_fill_hinted
// needs: shared_address
// cp_async_zero_fill under a policy of the L2 cache (PTX ISA, cp.async with .L2::cache_hint; sm_80).
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill_hinted(void* destination, const void* source, unsigned valid_bytes, unsigned long long policy)
{
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
                     ::"r"(shared_address(destination)), "l"(source), "r"(valid_bytes), "l"(policy) : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3, %4;"
                     ::"r"(shared_address(destination)), "l"(source), "n"(BYTES), "r"(valid_bytes), "l"(policy) : "memory");
}
// twin:
template <int BYTES>
__device__ __forceinline__ void cp_async_zero_fill_hinted(void* destination, const void* source, unsigned valid_bytes, unsigned long long policy)
{
    static_cast<void>(policy);
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    tle2cuda_emulator::tle2cuda_cp_async(destination, source, BYTES, valid_bytes, __LINE__);
}
// defines: cp_async_edge_hinted
// needs: cp_async_zero_fill_hinted
// cp_async_edge under a policy of the L2 cache.
template <int BYTES, typename T, typename Count>
__device__ __forceinline__ void cp_async_edge_hinted(T* destination, const T* source, Count valid, unsigned long long policy)
{
    constexpr int COUNT = BYTES / sizeof(T);
    const int count = valid >= COUNT ? COUNT : valid <= 0 ? 0 : static_cast<int>(valid);
    cp_async_zero_fill_hinted<BYTES>(destination, source, count * sizeof(T), policy);
}

// spin_lock.cu: emitted by tle2cuda from atomics.py:126 (spin_lock). Do not edit.
//
//   target    sm_90a, 128 threads per CTA, 16 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      lock *i32 align 16, out *i32 align 16
//   constants N = 128

namespace {

// Orders this thread's accesses before it against those after it, as the whole GPU sees them (PTX ISA,
// fence.acq_rel.gpu). __threadfence() is the dearer fence.sc.
__device__ __forceinline__ void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// Volatile read of a machine word in any state space; wide ones go 8 bytes at a time, as C++ has no wider volatile access.
template <typename T>
__device__ __forceinline__ T load_word_volatile(const T* pointer)
{
    T word;
    if constexpr (sizeof(T) <= 4) {
        word = *reinterpret_cast<const volatile T*>(pointer);
    } else {
        #pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(T) / 8); ++i) {
            const unsigned long long bits = reinterpret_cast<const volatile unsigned long long*>(pointer)[i];
            memcpy(reinterpret_cast<unsigned char*>(&word) + 8 * i, &bits, 8);
        }
    }
    return word;
}

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// The machine word that moves BYTES bytes at once: Word<16>::Type is uint4.
template <int BYTES>
struct Word;
template <>
struct Word<1> { using Type = unsigned char; };
template <>
struct Word<2> { using Type = unsigned short; };
template <>
struct Word<4> { using Type = unsigned; };
template <>
struct Word<8> { using Type = uint2; };
template <>
struct Word<16> { using Type = uint4; };

// How a vector splits into words: COUNT words of up to 16 bytes.
template <typename T, int N>
struct Words {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int COUNT = BYTES < 16 ? 1 : BYTES / 16;
    using Type = typename Word<BYTES / COUNT>::Type;
};

// Load N neighbours anew from memory, whatever caches hold; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cv(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = load_word_volatile(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cv(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cv<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}

// Load one element anew from memory, whatever caches hold.
template <typename T>
__device__ __forceinline__ T load_cv(const T* pointer)
{
    return load_vector_cv<1>(pointer)[0];
}

// Shared memory of one CTA.
struct Shared {
    alignas(16) int broadcast[1];             // scratch of atomics.py:129
};
static_assert(sizeof(Shared) <= 16, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
spin_lock(int* lock, int* out)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // while tl.atomic_cas(lock, 0, 1) == 1:                                          atomics.py:129
    while (true) {
        __syncthreads();  // orders the loads of the scratch `broadcast` before the stores to it; all writes come before the release
        if (thread == 0) {
            fence_gpu();  // release: what this thread wrote comes before the atomics
            shared.broadcast[0] = atomicCAS(lock, 0, 1);
            fence_gpu();  // acquire: what follows sees what the atomics saw
        }
        __syncthreads();  // every thread reads the value that one thread obtained
        const int lock_before = shared.broadcast[0];
        if (lock_before != 1) break;
    }

    // tl.store(out + i, tl.load(out + i, volatile=True) + i)                         atomics.py:131
    const int out_value = load_cv(out + thread);
    out[thread] = out_value + thread;
    // tl.debug_barrier()                                                             atomics.py:132
    __syncthreads();  // all writes come before the release

    // tl.atomic_xchg(lock, 0, sem="release")                                         atomics.py:133
    if (thread == 0) {
        fence_gpu();  // release: what this thread wrote comes before the atomics
        atomicExch(lock, 0);
    }
}

// defines: store_vector_evict_last
// needs: vector words store_word_evict_last
// Store N neighbours, last to be evicted from L1; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_vector_evict_last(T* pointer, const Vector<U, N>& value)
{
    using Split = Words<T, N>;
    Vector<T, N> stored;
    #pragma unroll
    for (int k = 0; k < N; ++k) stored[k] = static_cast<T>(value[k]);
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        typename Split::Type word;
        memcpy(&word, reinterpret_cast<const unsigned char*>(&stored) + i * sizeof(word), sizeof(word));
        store_word_evict_last(reinterpret_cast<typename Split::Type*>(pointer) + i, word);
    }
}
// defines: store_evict_last
// needs: store_vector_evict_last
// Store one element, last to be evicted from L1.
template <typename T, typename Value>
__device__ __forceinline__ void store_evict_last(T* pointer, Value value)
{
    store_vector_evict_last(pointer, Vector<T, 1>{{static_cast<T>(value)}});
}
// defines: store_edge_evict_last
// needs: store_vector_evict_last
// Store the first `valid` of N neighbours, last to be evicted from L1: one access when all are valid, else one by one.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_edge_evict_last(T* pointer, long long valid, const Vector<U, N>& value)
{
    if (valid >= N) {
        store_vector_evict_last(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) store_vector_evict_last(pointer + k, Vector<U, 1>{{value[k]}});
}
// defines: store_word_evict_last
// Store of a machine word to global memory, with an L1 eviction priority (PTX ISA, st).
template <typename T>
__device__ __forceinline__ void store_word_evict_last(T* pointer, T word)
{
    if constexpr (sizeof(T) == 1) {
        const unsigned short wide = word;
        asm volatile("st.global.L1::evict_last.u8 [%0], %1;" ::"l"(pointer), "h"(wide) : "memory");
    } else if constexpr (sizeof(T) == 2) {
        asm volatile("st.global.L1::evict_last.u16 [%0], %1;" ::"l"(pointer), "h"(word) : "memory");
    } else if constexpr (sizeof(T) == 4) {
        asm volatile("st.global.L1::evict_last.u32 [%0], %1;" ::"l"(pointer), "r"(word) : "memory");
    } else if constexpr (sizeof(T) == 8) {
        asm volatile("st.global.L1::evict_last.v2.u32 [%0], {%1, %2};" ::"l"(pointer), "r"(word.x), "r"(word.y) : "memory");
    } else {
        asm volatile("st.global.L1::evict_last.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(pointer), "r"(word.x), "r"(word.y),
                     "r"(word.z), "r"(word.w)
                     : "memory");
    }
}
// twin:
template <typename T>
__device__ __forceinline__ void store_word_evict_last(T* pointer, T word) { *pointer = word; }

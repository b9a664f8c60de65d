// defines: load_vector_evict_first
// needs: vector words load_word_evict_first
// Load N neighbours, first to be evicted from L1; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_evict_first(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = load_word_evict_first(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_evict_first(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_evict_first<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}
// defines: load_evict_first
// needs: load_vector_evict_first
// Load one element, first to be evicted from L1.
template <typename T>
__device__ __forceinline__ T load_evict_first(const T* pointer)
{
    return load_vector_evict_first<1>(pointer)[0];
}
// defines: load_packed_if_evict_first
// needs: registers load_vector_evict_first
// Load N neighbours, first to be evicted from L1, if a condition holds, else take `otherwise`; for elements narrower than a register.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_packed_if_evict_first(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    Registers<T, N> registers;
    memcpy(&registers, &otherwise, sizeof(registers));
    if (condition) {
        const Vector<T, N> loaded = load_vector_evict_first<N>(pointer);
        memcpy(&registers, &loaded, sizeof(registers));
    }
    registers.keep_whole();
    memcpy(&otherwise, &registers, sizeof(registers));
    return otherwise;
}
// defines: load_edge_evict_first
// needs: load_vector_evict_first
// Load the first `valid` of N neighbours, first to be evicted from L1, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_evict_first(const T* pointer, long long valid, Other other)
{
    if (valid >= N) return load_vector_evict_first<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k < valid)
            result[k] = load_vector_evict_first<1>(pointer + k)[0];
        else
            result[k] = static_cast<T>(other);
    }
    return result;
}
// defines: load_narrow_edge_evict_first
// needs: load_packed_if_evict_first fill_vector load_vector_evict_first
// Load the first `valid` of N neighbours, first to be evicted from L1, `other` for the rest: one access when all are valid, else one by one; for elements narrower than a register.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_narrow_edge_evict_first(const T* pointer, long long valid, Other other)
{
    Vector<T, N> edge = fill_vector<N>(static_cast<T>(other));
    if (valid < N) {
        #pragma unroll
        for (int k = 0; k < N; ++k)
            if (k < valid) edge[k] = load_vector_evict_first<1>(pointer + k)[0];
    }
    return load_packed_if_evict_first(valid >= N, pointer, edge);
}
// defines: load_word_evict_first
// Load of a machine word from global memory, with an L1 eviction priority (PTX ISA, ld).
template <typename T>
__device__ __forceinline__ T load_word_evict_first(const T* pointer)
{
    if constexpr (sizeof(T) == 1) {
        unsigned short word;
        asm volatile("ld.global.L1::evict_first.u8 %0, [%1];" : "=h"(word) : "l"(pointer));
        return static_cast<T>(word);
    } else if constexpr (sizeof(T) == 2) {
        T word;
        asm volatile("ld.global.L1::evict_first.u16 %0, [%1];" : "=h"(word) : "l"(pointer));
        return word;
    } else if constexpr (sizeof(T) == 4) {
        T word;
        asm volatile("ld.global.L1::evict_first.u32 %0, [%1];" : "=r"(word) : "l"(pointer));
        return word;
    } else if constexpr (sizeof(T) == 8) {
        T word;
        asm volatile("ld.global.L1::evict_first.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(pointer));
        return word;
    } else {
        T word;
        asm volatile("ld.global.L1::evict_first.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                     : "l"(pointer));
        return word;
    }
}
// twin:
template <typename T>
__device__ __forceinline__ T load_word_evict_first(const T* pointer) { return *pointer; }

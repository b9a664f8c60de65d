// defines: load_vector_cv
// needs: vector words load_word_volatile
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
// defines: load_cv
// needs: load_vector_cv
// Load one element anew from memory, whatever caches hold.
template <typename T>
__device__ __forceinline__ T load_cv(const T* pointer)
{
    return load_vector_cv<1>(pointer)[0];
}
// defines: load_packed_if_cv
// needs: registers load_vector_cv
// Load N neighbours anew from memory, whatever caches hold if a condition holds, else take `otherwise`. Words are chosen, not elements.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_packed_if_cv(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    Registers<T, N> registers;
    memcpy(&registers, &otherwise, sizeof(registers));
    if (condition) {
        const Vector<T, N> loaded = load_vector_cv<N>(pointer);
        memcpy(&registers, &loaded, sizeof(registers));
    }
    registers.keep_whole();
    memcpy(&otherwise, &registers, sizeof(registers));
    return otherwise;
}
// defines: load_edge_cv
// needs: load_vector_cv
// Load the first `valid` of N neighbours anew from memory, whatever caches hold, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_cv(const T* pointer, long long valid, Other other)
{
    if (valid >= N) return load_vector_cv<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k < valid)
            result[k] = load_vector_cv<1>(pointer + k)[0];
        else
            result[k] = static_cast<T>(other);
    }
    return result;
}
// defines: load_narrow_edge_cv
// needs: load_packed_if_cv fill_vector load_vector_cv
// Load the first `valid` of N neighbours anew from memory, whatever caches hold, `other` for the rest: one access when all are valid, else one by one; for elements narrower than a register.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_narrow_edge_cv(const T* pointer, long long valid, Other other)
{
    Vector<T, N> edge = fill_vector<N>(static_cast<T>(other));
    if (valid < N) {
        #pragma unroll
        for (int k = 0; k < N; ++k)
            if (k < valid) edge[k] = load_vector_cv<1>(pointer + k)[0];
    }
    return load_packed_if_cv(valid >= N, pointer, edge);
}
// defines: load_word_volatile
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

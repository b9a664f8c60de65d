// defines: load_vector_cg
// needs: vector words
// Load N neighbours, cached in L2 only (ld.cg); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_cg(const T* pointer)
{
    using Split = Words<T, N>;
    Vector<T, N> result;
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        const typename Split::Type word = __ldcg(reinterpret_cast<const typename Split::Type*>(pointer) + i);
        memcpy(reinterpret_cast<unsigned char*>(&result) + i * sizeof(word), &word, sizeof(word));
    }
    return result;
}
template <int N>  // bool: a byte other than 0 is true
__device__ __forceinline__ Vector<bool, N> load_vector_cg(const bool* pointer)
{
    const Vector<unsigned char, N> bytes = load_vector_cg<N>(reinterpret_cast<const unsigned char*>(pointer));
    Vector<bool, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = bytes[k] != 0;
    return result;
}
// defines: load_cg
// needs: load_vector_cg
// Load one element, cached in L2 only (ld.cg).
template <typename T>
__device__ __forceinline__ T load_cg(const T* pointer)
{
    return load_vector_cg<1>(pointer)[0];
}
// defines: load_packed_if_cg
// needs: registers load_vector_cg
// Load N neighbours, cached in L2 only (ld.cg), if a condition holds, else take `otherwise`; for elements narrower than a register.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_packed_if_cg(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    Registers<T, N> registers;
    memcpy(&registers, &otherwise, sizeof(registers));
    if (condition) {
        const Vector<T, N> loaded = load_vector_cg<N>(pointer);
        memcpy(&registers, &loaded, sizeof(registers));
    }
    registers.keep_whole();
    memcpy(&otherwise, &registers, sizeof(registers));
    return otherwise;
}
// defines: load_edge_cg
// needs: load_vector_cg
// Load the first `valid` of N neighbours, cached in L2 only (ld.cg), `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_cg(const T* pointer, long long valid, Other other)
{
    if (valid >= N) return load_vector_cg<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k < valid)
            result[k] = load_vector_cg<1>(pointer + k)[0];
        else
            result[k] = static_cast<T>(other);
    }
    return result;
}
// defines: load_narrow_edge_cg
// needs: load_packed_if_cg fill_vector load_vector_cg
// Load the first `valid` of N neighbours, cached in L2 only (ld.cg), `other` for the rest: one access when all are valid, else one by one; for elements narrower than a register.
template <int N, typename T, typename Other>
__device__ __forceinline__ Vector<T, N> load_narrow_edge_cg(const T* pointer, long long valid, Other other)
{
    Vector<T, N> edge = fill_vector<N>(static_cast<T>(other));
    if (valid < N) {
        #pragma unroll
        for (int k = 0; k < N; ++k)
            if (k < valid) edge[k] = load_vector_cg<1>(pointer + k)[0];
    }
    return load_packed_if_cg(valid >= N, pointer, edge);
}

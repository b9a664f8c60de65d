// defines: store_vector_cg
// needs: vector words
// Store N neighbours, cached in L2 only (st.cg); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_vector_cg(T* pointer, const Vector<U, N>& value)
{
    using Split = Words<T, N>;
    Vector<T, N> stored;
    #pragma unroll
    for (int k = 0; k < N; ++k) stored[k] = static_cast<T>(value[k]);
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        typename Split::Type word;
        memcpy(&word, reinterpret_cast<const unsigned char*>(&stored) + i * sizeof(word), sizeof(word));
        __stcg(reinterpret_cast<typename Split::Type*>(pointer) + i, word);
    }
}
// defines: store_cg
// needs: store_vector_cg
// Store one element, cached in L2 only (st.cg).
template <typename T, typename Value>
__device__ __forceinline__ void store_cg(T* pointer, Value value)
{
    store_vector_cg(pointer, Vector<T, 1>{{static_cast<T>(value)}});
}
// defines: store_edge_cg
// needs: store_vector_cg
// Store the first `valid` of N neighbours, cached in L2 only (st.cg): one access when all are valid, else one by one.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_edge_cg(T* pointer, long long valid, const Vector<U, N>& value)
{
    if (valid >= N) {
        store_vector_cg(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) store_vector_cg(pointer + k, Vector<U, 1>{{value[k]}});
}

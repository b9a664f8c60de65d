// defines: store_vector_cs
// needs: vector words
// Store N neighbours, likely used once (st.cs); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_vector_cs(T* pointer, const Vector<U, N>& value)
{
    using Split = Words<T, N>;
    Vector<T, N> stored;
    #pragma unroll
    for (int k = 0; k < N; ++k) stored[k] = static_cast<T>(value[k]);
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        typename Split::Type word;
        memcpy(&word, reinterpret_cast<const unsigned char*>(&stored) + i * sizeof(word), sizeof(word));
        __stcs(reinterpret_cast<typename Split::Type*>(pointer) + i, word);
    }
}
// defines: store_cs
// needs: store_vector_cs
// Store one element, likely used once (st.cs).
template <typename T, typename Value>
__device__ __forceinline__ void store_cs(T* pointer, Value value)
{
    store_vector_cs(pointer, Vector<T, 1>{{static_cast<T>(value)}});
}
// defines: store_edge_cs
// needs: store_vector_cs
// Store the first `valid` of N neighbours, likely used once (st.cs): one access when all are valid, else one by one.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_edge_cs(T* pointer, long long valid, const Vector<U, N>& value)
{
    if (valid >= N) {
        store_vector_cs(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) store_vector_cs(pointer + k, Vector<U, 1>{{value[k]}});
}

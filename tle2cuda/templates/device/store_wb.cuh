// defines: store_vector_wb
// needs: vector words
// Store N neighbours, written back from all levels (st.wb); the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_vector_wb(T* pointer, const Vector<U, N>& value)
{
    using Split = Words<T, N>;
    Vector<T, N> stored;
    #pragma unroll
    for (int k = 0; k < N; ++k) stored[k] = static_cast<T>(value[k]);
    #pragma unroll
    for (int i = 0; i < Split::COUNT; ++i) {
        typename Split::Type word;
        memcpy(&word, reinterpret_cast<const unsigned char*>(&stored) + i * sizeof(word), sizeof(word));
        __stwb(reinterpret_cast<typename Split::Type*>(pointer) + i, word);
    }
}
// defines: store_wb
// needs: store_vector_wb
// Store one element, written back from all levels (st.wb).
template <typename T, typename Value>
__device__ __forceinline__ void store_wb(T* pointer, Value value)
{
    store_vector_wb(pointer, Vector<T, 1>{{static_cast<T>(value)}});
}
// defines: store_edge_wb
// needs: store_vector_wb
// Store the first `valid` of N neighbours, written back from all levels (st.wb): one access when all are valid, else one by one.
template <typename T, typename U, int N>
__device__ __forceinline__ void store_edge_wb(T* pointer, long long valid, const Vector<U, N>& value)
{
    if (valid >= N) {
        store_vector_wb(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) store_vector_wb(pointer + k, Vector<U, 1>{{value[k]}});
}

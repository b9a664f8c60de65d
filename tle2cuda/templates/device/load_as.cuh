// defines: load_vector_as
// needs: load_vector
// Load N neighbours as values of another type; the pointer is aligned to min(16, N * sizeof(Stored)) bytes. Called by
// each thread for itself.
template <typename T, int N, typename Stored>
__device__ __forceinline__ Vector<T, N> load_vector_as(const Stored* pointer)
{
    const Vector<Stored, N> stored = load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = static_cast<T>(stored[k]);
    return result;
}

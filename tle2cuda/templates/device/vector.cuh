// defines: vector
// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};
// defines: fill_vector
// needs: vector
// A vector whose elements are all equal.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> fill_vector(T value)
{
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = value;
    return result;
}
// defines: registers
// needs: vector keep_packed
// The 32-bit registers that N elements narrower than a register fill. Choosing between two vectors takes one move per
// register here, where the compiler would take the elements apart first and move each.
template <typename T, int N>
struct alignas(alignof(Vector<T, N>)) Registers {
    unsigned word[sizeof(T) * N / 4];

    __device__ __forceinline__ void keep_whole()
    {
        #pragma unroll
        for (int i = 0; i < static_cast<int>(sizeof(word) / 4); ++i) keep_packed(word[i]);
    }
};
// defines: keep_packed
// An empty asm: to the compiler the register changes here, so that what is packed in it is taken apart only behind.
__device__ __forceinline__ void keep_packed(unsigned& word) { asm("" : "+r"(word)); }
// twin:
__device__ __forceinline__ void keep_packed(unsigned& word) { static_cast<void>(word); }

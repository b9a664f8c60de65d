// defines: red_add_vector_f32
// needs: vector
// Add N neighbours to global memory, each of them atomically (PTX ISA, red with .v2.f32 and .v4.f32, sm_90); the pointer
// is aligned to N * 4 bytes. One instruction adds at most four.
template <int N>
__device__ __forceinline__ void red_add_vector(float* pointer, const Vector<float, N>& value)
{
    if constexpr (N == 2) {
        asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};"
                     :
                     : "l"(pointer), "f"(value[0]), "f"(value[1])
                     : "memory");
    } else {
        #pragma unroll
        for (int k = 0; k < N; k += 4)
            asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};"
                         :
                         : "l"(pointer + k), "f"(value[k]), "f"(value[k + 1]), "f"(value[k + 2]), "f"(value[k + 3])
                         : "memory");
    }
}
// twin:
template <int N>
__device__ __forceinline__ void red_add_vector(float* pointer, const Vector<float, N>& value)
{
    for (int k = 0; k < N; ++k) atomicAdd(pointer + k, value[k]);
}
// defines: red_add_vector_f16
// needs: vector
// Add N neighbours to global memory, each of them atomically (PTX ISA, red with .f16x2 and its vectors, sm_90); the
// pointer is aligned to N * 2 bytes. One instruction adds at most eight.
template <int N>
__device__ __forceinline__ void red_add_vector(__half* pointer, const Vector<__half, N>& value)
{
    unsigned pair[N / 2];
    memcpy(pair, &value, sizeof(pair));
    if constexpr (N == 2)
        asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" : : "l"(pointer), "r"(pair[0]) : "memory");
    else if constexpr (N == 4)
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.f16x2 [%0], {%1, %2};"
                     :
                     : "l"(pointer), "r"(pair[0]), "r"(pair[1])
                     : "memory");
    else {
        #pragma unroll
        for (int p = 0; p < N / 2; p += 4)
            asm volatile("red.relaxed.gpu.global.add.noftz.v4.f16x2 [%0], {%1, %2, %3, %4};"
                         :
                         : "l"(pointer + 2 * p), "r"(pair[p]), "r"(pair[p + 1]), "r"(pair[p + 2]), "r"(pair[p + 3])
                         : "memory");
    }
}
// twin:
template <int N>
__device__ __forceinline__ void red_add_vector(__half* pointer, const Vector<__half, N>& value)
{
    for (int k = 0; k < N; ++k) atomicAdd(pointer + k, value[k]);
}
// defines: red_add_vector_bf16
// needs: vector
// Add N neighbours to global memory, each of them atomically (PTX ISA, red with .bf16x2 and its vectors, sm_90); the
// pointer is aligned to N * 2 bytes. One instruction adds at most eight.
template <int N>
__device__ __forceinline__ void red_add_vector(__nv_bfloat16* pointer, const Vector<__nv_bfloat16, N>& value)
{
    unsigned pair[N / 2];
    memcpy(pair, &value, sizeof(pair));
    if constexpr (N == 2)
        asm volatile("red.relaxed.gpu.global.add.noftz.bf16x2 [%0], %1;" : : "l"(pointer), "r"(pair[0]) : "memory");
    else if constexpr (N == 4)
        asm volatile("red.relaxed.gpu.global.add.noftz.v2.bf16x2 [%0], {%1, %2};"
                     :
                     : "l"(pointer), "r"(pair[0]), "r"(pair[1])
                     : "memory");
    else {
        #pragma unroll
        for (int p = 0; p < N / 2; p += 4)
            asm volatile("red.relaxed.gpu.global.add.noftz.v4.bf16x2 [%0], {%1, %2, %3, %4};"
                         :
                         : "l"(pointer + 2 * p), "r"(pair[p]), "r"(pair[p + 1]), "r"(pair[p + 2]), "r"(pair[p + 3])
                         : "memory");
    }
}
// twin:
template <int N>
__device__ __forceinline__ void red_add_vector(__nv_bfloat16* pointer, const Vector<__nv_bfloat16, N>& value)
{
    for (int k = 0; k < N; ++k) atomicAdd(pointer + k, value[k]);
}
// defines: red_add_edge
// needs: vector
// Add the first `valid` of N neighbours to global memory, each of them atomically: by one instruction when all are valid.
template <int N, typename T, typename Count>
__device__ __forceinline__ void red_add_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        red_add_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) atomicAdd(pointer + k, value[k]);
}

// defines: store_vector
// needs: vector
// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}
// defines: store_edge
// needs: store_vector
// Store the first `valid` of N neighbours: one access when all are valid, else one by one.
template <int N, typename T, typename Count>
__device__ __forceinline__ void store_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_vector(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}
// defines: store_bits16
// Store 16 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" :: "l"(pointer), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits(uint4* pointer, uint4 bits)
{
    *pointer = bits;
}
// defines: store_bits8
// Store 8 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(uint2* pointer, uint2 bits)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(pointer), "r"(bits.x), "r"(bits.y) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits(uint2* pointer, uint2 bits)
{
    *pointer = bits;
}
// defines: store_bits4
// Store 4 bytes of global memory as one access (PTX ISA, st.global).
__device__ __forceinline__ void store_bits(unsigned* pointer, unsigned bits)
{
    asm volatile("st.global.u32 [%0], %1;" :: "l"(pointer), "r"(bits) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits(unsigned* pointer, unsigned bits)
{
    *pointer = bits;
}
// defines: store_narrow
// needs: vector
// Store N neighbours of less than 4 bytes in global memory, in words of type Bits: elements, the compiler may write apart.
// Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_narrow(T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits(reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}
// defines: store_bits16_if
// Store 16 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v4.u32 [%0], {%2, %3, %4, %5};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y), "r"(bits.z), "r"(bits.w) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits_if(bool condition, uint4* pointer, uint4 bits)
{
    if (condition) *pointer = bits;
}
// defines: store_bits8_if
// Store 8 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, uint2* pointer, uint2 bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.v2.u32 [%0], {%2, %3};\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits.x), "r"(bits.y) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits_if(bool condition, uint2* pointer, uint2 bits)
{
    if (condition) *pointer = bits;
}
// defines: store_bits4_if
// Store 4 bytes of global memory if a condition holds: one predicated access (PTX ISA, st.global), around which nothing
// branches.
__device__ __forceinline__ void store_bits_if(bool condition, unsigned* pointer, unsigned bits)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0;\n\t@p st.global.u32 [%0], %2;\n\t}"
        :: "l"(pointer), "r"(static_cast<int>(condition)), "r"(bits) : "memory");
}
// twin:
__device__ __forceinline__ void store_bits_if(bool condition, unsigned* pointer, unsigned bits)
{
    if (condition) *pointer = bits;
}
// defines: store_vector_if
// needs: vector
// Store N neighbours in global memory, in words of type Bits, if a condition holds. Called by each thread for itself.
template <typename Bits, int N, typename T>
__device__ __forceinline__ void store_vector_if(bool condition, T* pointer, const Vector<T, N>& value)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(value) / sizeof(Bits)); ++i) {
        Bits bits;
        memcpy(&bits, reinterpret_cast<const unsigned char*>(&value) + i * sizeof(Bits), sizeof(Bits));
        store_bits_if(condition, reinterpret_cast<Bits*>(pointer) + i, bits);
    }
}
// defines: store_narrow_edge
// needs: store_narrow
// Store the first `valid` of N neighbours of less than 4 bytes: words of type Bits when all are valid, else one by one.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_narrow_edge(T* pointer, Count valid, const Vector<T, N>& value)
{
    if (valid >= N) {
        store_narrow<Bits>(pointer, value);
        return;
    }
    #pragma unroll
    for (int k = 0; k < N; ++k)
        if (k < valid) pointer[k] = value[k];
}
// defines: store_edge_if
// needs: store_vector_if
// Store the first `valid` of N neighbours in global memory, in words of type Bits: one predicated access when all are valid, one by
// one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count>
__device__ __forceinline__ void store_edge_if(T* pointer, Count valid, const Vector<T, N>& value)
{
    store_vector_if<Bits>(valid >= N, pointer, value);
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) pointer[k] = value[k];
    }
}

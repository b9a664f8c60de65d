// defines: load_bits16_if
// The 16 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %5, 0;\n\t@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y), "+r"(otherwise.z), "+r"(otherwise.w)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}
// twin:
__device__ __forceinline__ uint4 load_bits_if(bool condition, const uint4* pointer, uint4 otherwise)
{
    return condition ? *pointer : otherwise;
}
// defines: load_bits8_if
// The 8 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ uint2 load_bits_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %3, 0;\n\t@p ld.global.v2.u32 {%0, %1}, [%2];\n\t}"
        : "+r"(otherwise.x), "+r"(otherwise.y)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}
// twin:
__device__ __forceinline__ uint2 load_bits_if(bool condition, const uint2* pointer, uint2 otherwise)
{
    return condition ? *pointer : otherwise;
}
// defines: load_bits4_if
// The 4 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ unsigned load_bits_if(bool condition, const unsigned* pointer, unsigned otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u32 %0, [%1];\n\t}"
        : "+r"(otherwise)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}
// twin:
__device__ __forceinline__ unsigned load_bits_if(bool condition, const unsigned* pointer, unsigned otherwise)
{
    return condition ? *pointer : otherwise;
}
// defines: load_bits2_if
// The 2 bytes at `pointer` if a condition holds, else `otherwise`: one predicated load (PTX ISA, ld.global).
__device__ __forceinline__ unsigned short load_bits_if(bool condition, const unsigned short* pointer, unsigned short otherwise)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u16 %0, [%1];\n\t}"
        : "+h"(otherwise)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return otherwise;
}
// twin:
__device__ __forceinline__ unsigned short load_bits_if(bool condition, const unsigned short* pointer, unsigned short otherwise)
{
    return condition ? *pointer : otherwise;
}
// defines: load_if_f32
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ float load_if(bool condition, const float* pointer, float other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.f32 %0, [%1];\n\t}"
        : "+f"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ float load_if(bool condition, const float* pointer, float other)
{
    return condition ? *pointer : other;
}
// defines: load_if_f64
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ double load_if(bool condition, const double* pointer, double other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.f64 %0, [%1];\n\t}"
        : "+d"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ double load_if(bool condition, const double* pointer, double other)
{
    return condition ? *pointer : other;
}
// defines: load_if_i32
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ int load_if(bool condition, const int* pointer, int other)
{
    return condition ? *pointer : other;
}
// defines: load_if_u32
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ unsigned load_if(bool condition, const unsigned* pointer, unsigned other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u32 %0, [%1];\n\t}"
        : "+r"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ unsigned load_if(bool condition, const unsigned* pointer, unsigned other)
{
    return condition ? *pointer : other;
}
// defines: load_if_i64
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ long long load_if(bool condition, const long long* pointer, long long other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.s64 %0, [%1];\n\t}"
        : "+l"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ long long load_if(bool condition, const long long* pointer, long long other)
{
    return condition ? *pointer : other;
}
// defines: load_if_u64
// Load one element of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
__device__ __forceinline__ unsigned long long load_if(bool condition, const unsigned long long* pointer, unsigned long long other)
{
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u64 %0, [%1];\n\t}"
        : "+l"(other)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    return other;
}
// twin:
__device__ __forceinline__ unsigned long long load_if(bool condition, const unsigned long long* pointer, unsigned long long other)
{
    return condition ? *pointer : other;
}
// defines: load_if_16
// Load one element of 16 bits in global memory if a condition holds, else take `other`: one predicated load
// (PTX ISA, ld.global). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned short bits;
    memcpy(&bits, &value, sizeof(bits));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u16 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    memcpy(&value, &bits, sizeof(bits));
    return value;
}
// twin:
template <typename T, typename Other>
__device__ __forceinline__ T load_if(bool condition, const T* pointer, Other other)
{
    return condition ? *pointer : static_cast<T>(other);
}
// defines: load_byte_if
// Load one byte of global memory if a condition holds, else take `other`: one predicated load (PTX ISA,
// ld.global). Its address is computed either way, so that neighbouring loads can share it.
template <typename T, typename Other>
__device__ __forceinline__ T load_byte_if(bool condition, const T* pointer, Other other)
{
    T value = static_cast<T>(other);
    unsigned char byte;
    memcpy(&byte, &value, 1);
    unsigned short bits = byte;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %2, 0;\n\t@p ld.global.u8 %0, [%1];\n\t}"
        : "+h"(bits)
        : "l"(pointer), "r"(static_cast<int>(condition)) : "memory");
    byte = static_cast<unsigned char>(bits);
    memcpy(&value, &byte, 1);
    return value;
}
// twin:
template <typename T, typename Other>
__device__ __forceinline__ T load_byte_if(bool condition, const T* pointer, Other other)
{
    return condition ? *pointer : static_cast<T>(other);
}
// defines: load_vector_if
// needs: vector
// Load N neighbours in global memory, in words of type Bits, if a condition holds, else take `otherwise`.
// The address is computed either way, so that neighbouring loads can share it.
template <typename Bits, int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector_if(bool condition, const T* pointer, Vector<T, N> otherwise)
{
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(otherwise) / sizeof(Bits)); ++i) {
        unsigned char* const word = reinterpret_cast<unsigned char*>(&otherwise) + i * sizeof(Bits);
        Bits bits;
        memcpy(&bits, word, sizeof(Bits));
        bits = load_bits_if(condition, reinterpret_cast<const Bits*>(pointer) + i, bits);
        memcpy(word, &bits, sizeof(Bits));
    }
    return otherwise;
}
// defines: load_edge_if
// needs: load_vector_if fill_vector
// Load the first `valid` of N neighbours in global memory, in words of type Bits, `other` for the rest: one predicated
// access when all are valid, one by one where the edge lies between them.
template <typename Bits, int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge_if(const T* pointer, Count valid, Other other)
{
    Vector<T, N> result = load_vector_if<Bits>(valid >= N, pointer, fill_vector<N>(static_cast<T>(other)));
    if (0 < valid && valid < N) {
        #pragma unroll
        for (int k = 0; k < N - 1; ++k)
            if (k < valid) result[k] = pointer[k];
    }
    return result;
}

// Atomic functions of every kind and scope, cache-hinted accesses, and the memory operations that twins of PTX use.
#pragma once

#include "abi.h"
#include "keywords.h"
#include "vector_types.h"
#include "warp.h"

namespace tle2cuda_emulator {

template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<int> { static constexpr ElementType VALUE = TYPE_I32; };
template <>
struct ElementTypeOf<unsigned> { static constexpr ElementType VALUE = TYPE_U32; };
template <>
struct ElementTypeOf<long long> { static constexpr ElementType VALUE = TYPE_I64; };
template <>
struct ElementTypeOf<unsigned long long> { static constexpr ElementType VALUE = TYPE_U64; };
template <>
struct ElementTypeOf<long> { static constexpr ElementType VALUE = TYPE_I64; };
template <>
struct ElementTypeOf<unsigned long> { static constexpr ElementType VALUE = TYPE_U64; };
template <>
struct ElementTypeOf<float> { static constexpr ElementType VALUE = TYPE_F32; };
template <>
struct ElementTypeOf<double> { static constexpr ElementType VALUE = TYPE_F64; };
template <>
struct ElementTypeOf<unsigned short> { static constexpr ElementType VALUE = TYPE_U16; };

template <class T>
TLE2CUDA_INLINE T atomic(AtomicKind kind, T* address, T operand, T compare, Order order, Scope scope)
{
    return from_bits<T>(tle2cuda_atomic(
        kind, ElementTypeOf<T>::VALUE, address, to_bits(operand), to_bits(compare), order, scope));
}

// `ld` and `st` with an order and a scope, and `red`/`atom`, as twins spell them.
template <class T>
TLE2CUDA_INLINE T load(const T* address, Order order, Scope scope)
{
    return from_bits<T>(tle2cuda_load(address, sizeof(T), order, scope));
}
template <class T>
TLE2CUDA_INLINE void store(T* address, T value, Order order, Scope scope)
{
    tle2cuda_store(address, sizeof(T), to_bits(value), order, scope);
}

}  // namespace tle2cuda_emulator

#define TLE2CUDA_ATOMIC_SCOPED(function, kind, type, scope)                                                        \
    TLE2CUDA_INLINE type function(type* address, type value)                                                       \
    {                                                                                                              \
        return tle2cuda_emulator::atomic<type>(tle2cuda_emulator::kind, address, value, value,                    \
                                               tle2cuda_emulator::ORDER_RELAXED, tle2cuda_emulator::scope);        \
    }
#define TLE2CUDA_ATOMIC(function, kind, type)                                                                      \
    TLE2CUDA_ATOMIC_SCOPED(function, kind, type, SCOPE_GPU)                                                        \
    TLE2CUDA_ATOMIC_SCOPED(function##_block, kind, type, SCOPE_CTA)                                                \
    TLE2CUDA_ATOMIC_SCOPED(function##_system, kind, type, SCOPE_SYSTEM)
#define TLE2CUDA_COMPARE_SCOPED(function, type, scope)                                                             \
    TLE2CUDA_INLINE type function(type* address, type compare, type value)                                         \
    {                                                                                                              \
        return tle2cuda_emulator::atomic<type>(tle2cuda_emulator::ATOMIC_COMPARE, address, value, compare,         \
                                               tle2cuda_emulator::ORDER_RELAXED, tle2cuda_emulator::scope);        \
    }
#define TLE2CUDA_COMPARE(type)                                                                                     \
    TLE2CUDA_COMPARE_SCOPED(atomicCAS, type, SCOPE_GPU)                                                            \
    TLE2CUDA_COMPARE_SCOPED(atomicCAS_block, type, SCOPE_CTA)                                                      \
    TLE2CUDA_COMPARE_SCOPED(atomicCAS_system, type, SCOPE_SYSTEM)

TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, int)
TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, unsigned)
TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, unsigned long long)
TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, float)
TLE2CUDA_ATOMIC(atomicAdd, ATOMIC_ADD, double)
TLE2CUDA_ATOMIC(atomicSub, ATOMIC_SUB, int)
TLE2CUDA_ATOMIC(atomicSub, ATOMIC_SUB, unsigned)
TLE2CUDA_ATOMIC(atomicAnd, ATOMIC_AND, int)
TLE2CUDA_ATOMIC(atomicAnd, ATOMIC_AND, unsigned)
TLE2CUDA_ATOMIC(atomicAnd, ATOMIC_AND, unsigned long long)
TLE2CUDA_ATOMIC(atomicOr, ATOMIC_OR, int)
TLE2CUDA_ATOMIC(atomicOr, ATOMIC_OR, unsigned)
TLE2CUDA_ATOMIC(atomicOr, ATOMIC_OR, unsigned long long)
TLE2CUDA_ATOMIC(atomicXor, ATOMIC_XOR, int)
TLE2CUDA_ATOMIC(atomicXor, ATOMIC_XOR, unsigned)
TLE2CUDA_ATOMIC(atomicXor, ATOMIC_XOR, unsigned long long)
TLE2CUDA_ATOMIC(atomicMin, ATOMIC_MIN, int)
TLE2CUDA_ATOMIC(atomicMin, ATOMIC_MIN, unsigned)
TLE2CUDA_ATOMIC(atomicMin, ATOMIC_MIN, long long)
TLE2CUDA_ATOMIC(atomicMin, ATOMIC_MIN, unsigned long long)
TLE2CUDA_ATOMIC(atomicMax, ATOMIC_MAX, int)
TLE2CUDA_ATOMIC(atomicMax, ATOMIC_MAX, unsigned)
TLE2CUDA_ATOMIC(atomicMax, ATOMIC_MAX, long long)
TLE2CUDA_ATOMIC(atomicMax, ATOMIC_MAX, unsigned long long)
TLE2CUDA_ATOMIC(atomicExch, ATOMIC_EXCHANGE, int)
TLE2CUDA_ATOMIC(atomicExch, ATOMIC_EXCHANGE, unsigned)
TLE2CUDA_ATOMIC(atomicExch, ATOMIC_EXCHANGE, unsigned long long)
TLE2CUDA_ATOMIC(atomicExch, ATOMIC_EXCHANGE, float)
TLE2CUDA_ATOMIC(atomicInc, ATOMIC_INCREMENT, unsigned)
TLE2CUDA_ATOMIC(atomicDec, ATOMIC_DECREMENT, unsigned)
TLE2CUDA_COMPARE(int)
TLE2CUDA_COMPARE(unsigned)
TLE2CUDA_COMPARE(unsigned long long)
TLE2CUDA_COMPARE(unsigned short)

#undef TLE2CUDA_COMPARE
#undef TLE2CUDA_COMPARE_SCOPED

// Cache hints do not change what a load or store does.
template <class T>
TLE2CUDA_INLINE T __ldg(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE T __ldca(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE T __ldcg(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE T __ldcs(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE T __ldlu(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE T __ldcv(const T* pointer) { return *pointer; }
template <class T>
TLE2CUDA_INLINE void __stwb(T* pointer, T value) { *pointer = value; }
template <class T>
TLE2CUDA_INLINE void __stcg(T* pointer, T value) { *pointer = value; }
template <class T>
TLE2CUDA_INLINE void __stcs(T* pointer, T value) { *pointer = value; }
template <class T>
TLE2CUDA_INLINE void __stwt(T* pointer, T value) { *pointer = value; }

// defines: atomic_cas_short_system
// Comparison and swap of 16 bits for the whole system, which CUDA has for the GPU only (PTX ISA, atom with .cas.b16).
__device__ __forceinline__ unsigned short atomic_cas_short_system(unsigned short* address, unsigned short expected,
                                                                  unsigned short value)
{
    unsigned short seen;
    asm volatile("atom.sys.cas.b16 %0, [%1], %2, %3;"
                 : "=h"(seen)
                 : "l"(address), "h"(expected), "h"(value)
                 : "memory");
    return seen;
}
// twin:
__device__ __forceinline__ unsigned short atomic_cas_short_system(unsigned short* address, unsigned short expected,
                                                                  unsigned short value)
{
    return atomicCAS_system(address, expected, value);
}
// defines: atomic_exchange_short
// Exchange of 16 bits, which the hardware compares and swaps only: again until nobody came between. Any scope up to the
// GPU's.
__device__ __forceinline__ unsigned short atomic_exchange_short(unsigned short* address, unsigned short value)
{
    unsigned short seen = *static_cast<volatile unsigned short*>(address), expected;
    do {
        expected = seen;
        seen = atomicCAS(address, expected, value);
    } while (seen != expected);
    return seen;
}
// defines: atomic_exchange_short_system
// needs: atomic_cas_short_system
// Exchange of 16 bits for the whole system, as for the GPU.
__device__ __forceinline__ unsigned short atomic_exchange_short_system(unsigned short* address, unsigned short value)
{
    unsigned short seen = *static_cast<volatile unsigned short*>(address), expected;
    do {
        expected = seen;
        seen = atomic_cas_short_system(address, expected, value);
    } while (seen != expected);
    return seen;
}

// defines: keep_pointers
// An empty asm: to the compiler these pointers change here. Else it may keep one of them and compute the others from it at each
// use, which holds up copies and the product behind them.
template <typename T, int COUNT>
__device__ __forceinline__ void keep_pointers(T* (&pointers)[COUNT])
{
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+l"(pointers[i]));
}
// twin:
template <typename T, int COUNT>
__device__ __forceinline__ void keep_pointers(T* (&pointers)[COUNT])
{
    (void)pointers;
}

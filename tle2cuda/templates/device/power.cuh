// defines: power_of_integer
// x to an integer power, by squaring; each multiplication rounds.
template <class T>
__device__ __forceinline__ T power_of_integer(T x, int exponent)
{
    T result = 1;
    for (unsigned rest = abs(exponent); rest != 0; rest >>= 1) {
        if (rest & 1) result *= x;
        x *= x;
    }
    return exponent < 0 ? 1 / result : result;
}

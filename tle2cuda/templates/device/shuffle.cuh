// defines: shuffle_words
// An object of any type from another lane, 4 bytes at a time: `exchange` shuffles one word.
template <typename T, typename Exchange>
__device__ __forceinline__ T shuffle_words(const T& value, Exchange exchange)
{
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
    #pragma unroll
    for (int i = 0; i < COUNT; ++i) words[i] = exchange(words[i]);
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}
// defines: choose
// One of two registers. By value: of nested `? :` on elements of an array, nvcc chooses the address, and the array then lies
// in local memory.
template <typename T>
__device__ __forceinline__ T choose(bool is_first, T first, T second)
{
    return is_first ? first : second;
}
// defines: shuffle_xor
// needs: shuffle_words
// The value that lane `lane ^ MASK` of the warp holds. Called by whole warps.
template <int MASK, typename T>
__device__ __forceinline__ T shuffle_xor(T value)
{
    return shuffle_words(value, [](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, MASK); });
}
// defines: shuffle_from
// needs: shuffle_words
// The value that lane `source` of the warp holds. Called by whole warps.
template <typename T>
__device__ __forceinline__ T shuffle_from(T value, int source)
{
    return shuffle_words(value, [source](unsigned word) { return __shfl_sync(0xffffffffu, word, source); });
}
// defines: shuffle_previous
// needs: shuffle_words
// The value that the lane DISTANCE further down (with REVERSE: up) holds, inside groups of WIDTH lanes; the own value
// where there is none. Called by whole warps.
template <int WIDTH, bool REVERSE, typename T>
__device__ __forceinline__ T shuffle_previous(T value, int distance)
{
    return shuffle_words(value, [distance](unsigned word) {
        return REVERSE ? __shfl_down_sync(0xffffffffu, word, distance, WIDTH)
                       : __shfl_up_sync(0xffffffffu, word, distance, WIDTH);
    });
}
// defines: exchange_words
// needs: vector
// Trades words of a vector with lane `lane ^ LANE`: the lower of the two lanes gives its words i + STEP for the upper one's words
// i, where i has no STEP in it. Called by whole warps.
template <int LANE, int STEP, typename T, int N>
__device__ __forceinline__ void exchange_words(Vector<T, N>& vector)
{
    unsigned words[sizeof(vector) / 4];
    memcpy(words, &vector, sizeof(vector));
    const bool is_upper = threadIdx.x & LANE;
    #pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(vector) / 4); ++i) {
        if (i & STEP) continue;
        const unsigned given = is_upper ? words[i] : words[i + STEP];
        const unsigned received = __shfl_xor_sync(0xffffffffu, given, LANE);
        words[i] = is_upper ? received : words[i];
        words[i + STEP] = is_upper ? words[i + STEP] : received;
    }
    memcpy(&vector, words, sizeof(vector));
}

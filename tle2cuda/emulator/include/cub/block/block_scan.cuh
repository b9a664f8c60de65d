// Stands in for CUB's block scan. The algorithm is that of BLOCK_SCAN_WARP_SCANS: shuffles inside warps, one slot for each
// warp's total, one barrier. So, as with CUB, a barrier of the caller's must come before `temp_storage` is used again.
#pragma once

#include "../../tle2cuda_emulator/barriers.h"
#include "../../tle2cuda_emulator/vector_types.h"
#include "../../tle2cuda_emulator/warp.h"

namespace cub {

namespace emulated {
// The line of a call, as a type of its own: an `int` could be taken for the caller's total.
struct Line {
    int number;
    static TLE2CUDA_INLINE constexpr Line of_call(int number = __builtin_LINE()) { return {number}; }
};
}  // namespace emulated

enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

struct Sum {
    template <class T>
    TLE2CUDA_INLINE T operator()(const T& a, const T& b) const { return static_cast<T>(a + b); }
};
struct Max {
    template <class T>
    TLE2CUDA_INLINE T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Min {
    template <class T>
    TLE2CUDA_INLINE T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};

template <class T, int THREADS_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int THREADS_Y = 1, int THREADS_Z = 1>
class BlockScan {
    static constexpr int THREADS = THREADS_X * THREADS_Y * THREADS_Z;
    static constexpr int WARPS = (THREADS + 31) / 32;

public:
    struct TempStorage {
        T warp_totals[WARPS];
    };

    TLE2CUDA_INLINE explicit BlockScan(TempStorage& storage) : storage_(storage) {}

    // ---- Sums ----

    TLE2CUDA_INLINE void ExclusiveSum(T input, T& output, emulated::Line line = emulated::Line::of_call())
    {
        T total;
        ExclusiveSum(input, output, total, line);
    }
    TLE2CUDA_INLINE void ExclusiveSum(T input, T& output, T& total, emulated::Line line = emulated::Line::of_call())
    {
        ExclusiveScan(input, output, T(), Sum(), total, line);
    }
    template <int ITEMS>
    TLE2CUDA_INLINE void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], emulated::Line line = emulated::Line::of_call())
    {
        T total;
        ExclusiveSum(input, output, total, line);
    }
    template <int ITEMS>
    TLE2CUDA_INLINE void ExclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T& total, emulated::Line line = emulated::Line::of_call())
    {
        ExclusiveScan(input, output, T(), Sum(), total, line);
    }
    TLE2CUDA_INLINE void InclusiveSum(T input, T& output, emulated::Line line = emulated::Line::of_call())
    {
        T total;
        InclusiveSum(input, output, total, line);
    }
    TLE2CUDA_INLINE void InclusiveSum(T input, T& output, T& total, emulated::Line line = emulated::Line::of_call())
    {
        InclusiveScan(input, output, Sum(), total, line);
    }
    template <int ITEMS>
    TLE2CUDA_INLINE void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], emulated::Line line = emulated::Line::of_call())
    {
        T total;
        InclusiveSum(input, output, total, line);
    }
    template <int ITEMS>
    TLE2CUDA_INLINE void InclusiveSum(T (&input)[ITEMS], T (&output)[ITEMS], T& total, emulated::Line line = emulated::Line::of_call())
    {
        InclusiveScan(input, output, Sum(), total, line);
    }

    // ---- Any operator ----

    template <class Combine>
    TLE2CUDA_INLINE void InclusiveScan(T input, T& output, Combine combine, emulated::Line line = emulated::Line::of_call())
    {
        T total;
        InclusiveScan(input, output, combine, total, line);
    }
    template <class Combine>
    TLE2CUDA_INLINE void InclusiveScan(T input, T& output, Combine combine, T& total, emulated::Line line = emulated::Line::of_call())
    {
        T before;
        const bool has_before = scan(input, before, total, combine, line);
        output = has_before ? combine(before, input) : input;
    }
    template <int ITEMS, class Combine>
    TLE2CUDA_INLINE void InclusiveScan(
        T (&input)[ITEMS], T (&output)[ITEMS], Combine combine, T& total, emulated::Line line = emulated::Line::of_call())
    {
        T own = input[0];
        for (int i = 1; i < ITEMS; ++i) own = combine(own, input[i]);
        T running;
        bool has_running = scan(own, running, total, combine, line);
        for (int i = 0; i < ITEMS; ++i) {
            running = has_running ? combine(running, input[i]) : input[i];
            has_running = true;
            output[i] = running;
        }
    }
    template <class Combine>
    TLE2CUDA_INLINE void ExclusiveScan(T input, T& output, T initial, Combine combine, emulated::Line line = emulated::Line::of_call())
    {
        T total;
        ExclusiveScan(input, output, initial, combine, total, line);
    }
    template <class Combine>
    TLE2CUDA_INLINE void ExclusiveScan(T input, T& output, T initial, Combine combine, T& total, emulated::Line line = emulated::Line::of_call())
    {
        T before;
        const bool has_before = scan(input, before, total, combine, line);
        output = has_before ? combine(initial, before) : initial;
    }
    template <int ITEMS, class Combine>
    TLE2CUDA_INLINE void ExclusiveScan(
        T (&input)[ITEMS], T (&output)[ITEMS], T initial, Combine combine, T& total, emulated::Line line = emulated::Line::of_call())
    {
        T own = input[0];
        for (int i = 1; i < ITEMS; ++i) own = combine(own, input[i]);
        T before;
        const bool has_before = scan(own, before, total, combine, line);
        T running = has_before ? combine(initial, before) : initial;
        for (int i = 0; i < ITEMS; ++i) {
            const T item = input[i];  // input and output may be one array
            output[i] = running;
            running = combine(running, item);
        }
    }

private:
    // What comes before this thread's value, and the total; false for the first thread, which nothing comes before.
    template <class Combine>
    TLE2CUDA_INLINE bool scan(T value, T& before, T& total, Combine combine, emulated::Line line)
    {
        const unsigned thread =
            (threadIdx.z * static_cast<unsigned>(THREADS_Y) + threadIdx.y) * static_cast<unsigned>(THREADS_X) + threadIdx.x;
        const unsigned lane = thread % 32, warp = thread / 32;
        const unsigned lanes = THREADS - warp * 32 < 32 ? THREADS - warp * 32 : 32;
        const unsigned mask = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
        T inclusive = value;
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const T other = __shfl_up_sync(mask, inclusive, distance, 32, line.number);
            if (lane >= distance) inclusive = combine(other, inclusive);
        }
        const T exclusive = __shfl_up_sync(mask, inclusive, 1, 32, line.number);
        if (lane == lanes - 1) storage_.warp_totals[warp] = inclusive;
        __syncthreads(line.number);
        T prefix{};
        total = storage_.warp_totals[0];
        for (unsigned other = 1; other < WARPS; ++other) {
            if (other == warp) prefix = total;
            total = combine(total, storage_.warp_totals[other]);
        }
        if (lane == 0) {
            before = prefix;
            return warp != 0;
        }
        before = warp == 0 ? exclusive : combine(prefix, exclusive);
        return true;
    }

    TempStorage& storage_;
};

}  // namespace cub

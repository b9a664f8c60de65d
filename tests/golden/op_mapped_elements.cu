// mapped.cu: emitted by tle2cuda from mapping.py:71 (mapped). Do not edit.
//
//   target    sm_90a, 64 threads per CTA, 768 bytes of shared memory
//   launch    grid of CTAs, one for each program
//   args      x *fp32 align 16, a *i32 align 16, b *i32 align 16, out *i32 align 16,
//             halves *fp32 align 16, total *i32 align 16, n i32
//   constants N = 128, LOW = 0.25

namespace {

// N elements of one thread that lie side by side, aligned so that up to 16 bytes move as one access.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vector {
    T element[N];

    __device__ __forceinline__ T& operator[](int k) { return element[k]; }
    __device__ __forceinline__ const T& operator[](int k) const { return element[k]; }
};

// Load N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ Vector<T, N> load_vector(const T* pointer)
{
    return *reinterpret_cast<const Vector<T, N>*>(pointer);
}

// Load the first `valid` of N neighbours, `other` for the rest: one access when all are valid, else one by one.
template <int N, typename T, typename Count, typename Other>
__device__ __forceinline__ Vector<T, N> load_edge(const T* pointer, Count valid, Other other)
{
    if (valid >= N) return load_vector<N>(pointer);
    Vector<T, N> result;
    #pragma unroll
    for (int k = 0; k < N; ++k) result[k] = k < valid ? pointer[k] : static_cast<T>(other);
    return result;
}

// `a * b` modulo 2^32 or 2^64, as the kernel means it; C++ leaves the overflow of signed integers undefined.
template <typename T>
__device__ __forceinline__ T mul_wrapping(T a, T b)
{
    return static_cast<T>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}

// Store N neighbours; the pointer is aligned to min(16, N * sizeof(T)) bytes. Called by each thread for itself.
template <int N, typename T>
__device__ __forceinline__ void store_vector(T* pointer, const Vector<T, N>& value)
{
    *reinterpret_cast<Vector<T, N>*>(pointer) = value;
}

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

// Reduce what the WARPS warps of a CTA have each reduced, by a commutative function, through one shared slot per warp;
// every thread receives the result. Called by all threads. Contains one CTA barrier, between writing and reading the
// slots; another one has to follow before they are written again.
template <int WARPS, typename T, typename Slot, typename Combine>
__device__ __forceinline__ T warps_all_reduce(T value, Slot (&slots)[WARPS], Combine combine)
{
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    value = slots[0];
    #pragma unroll
    for (int warp = 1; warp < WARPS; ++warp) value = combine(value, static_cast<T>(slots[warp]));
    return value;
}

// `halved` for one element, mapped at mapping.py:75.
__device__ __forceinline__ float halved(float x, float low)
{
    // if x < low:                                                                     mapping.py:17
    if (x < low) return low;
    // if x > 3.0:                                                                     mapping.py:19
    if (x > 3.0f) {
        // while x > 1.0:                                                              mapping.py:21
        float x_2 = x;
        int n = 0;
        while (x_2 > 1.0f) {
            // x *= 0.5                                                                mapping.py:22
            x_2 = x_2 * 0.5f;
            // n += 1                                                                  mapping.py:23
            n += 1;
        }
        // return x + n                                                                mapping.py:24
        return x_2 + static_cast<float>(n);
    }
    // for step in range(3):                                                           mapping.py:26
    float total = 0.0f;
    for (int step = 0; step < 3; ++step) {
        // total += x * step                                                           mapping.py:27
        total += x * static_cast<float>(step);
    }
    // return total if total > 1.0 else -total                                         mapping.py:28
    if (total > 1.0f) return total;
    return 0.0f - total;
}

// `common_divisor` for one element, mapped at mapping.py:77.
__device__ __forceinline__ void common_divisor(int& result_0, int& result_1, int a, int b)
{
    // while b != 0:                                                                   mapping.py:34
    int a_2 = a;
    int b_2 = b;
    int steps = 0;
    while (b_2 != 0) {
        // steps += 1                                                                  mapping.py:36
        steps += 1;

        // a, b = b, a % b                                                             mapping.py:35
        const int b_2_next = a_2 % b_2;
        a_2 = b_2;
        b_2 = b_2_next;
    }
    result_0 = a_2;
    result_1 = steps;
}

// `in_order` for one element, mapped at mapping.py:80.
__device__ __forceinline__ void in_order(int& result_0, int& result_1, int& result_2, int& result_3, int a0, int a1, int b0, int b1)
{
    // if a0 <= a1:                                                                    mapping.py:43
    if (a0 <= a1) {
        result_0 = a0;
        result_1 = a1;
        result_2 = b0;
        result_3 = b1;
        return;
    }
    result_0 = a1;
    result_1 = a0;
    result_2 = b1;
    result_3 = b0;
}

// `steps_down` for one element, mapped at mapping.py:83.
__device__ __forceinline__ int steps_down(int n, int limit)
{
    // for start in range(n % 16, n % 3, -2):                                          mapping.py:59
    int count = 0;
    for (int start = n % 16; start > n % 3; start -= 2) {
        // while k > 1 and count < limit:                                              mapping.py:61
        int k_ = start;
        int count_2 = count;
        while (k_ > 1 && count_2 < limit) {
            // if k % 2 == 0:                                                          mapping.py:62
            int k_3;
            if (k_ % 2 == 0) {
                // k //= 2                                                             mapping.py:63
                k_3 = k_ / 2;
            } else {
                // k = 3 * k + 1                                                       mapping.py:65
                k_3 = 3 * k_ + 1;
            }
            // count += 1                                                              mapping.py:66
            count_2 += 1;
            k_ = k_3;
        }
        count = count_2;
    }
    return count;
}

// `hashed` for one element, mapped at mapping.py:84.
__device__ __forceinline__ int hashed(int x)
{
    // if x > 0:                                                                       mapping.py:50
    int x_2;
    if (x > 0) {
        // x = (x ^ (x >> 15)) * 739982445                                             mapping.py:51
        x_2 = mul_wrapping(x ^ (x >> 15), 739982445);
    } else {
        x_2 = x;
    }

    // return x * x                                                                    mapping.py:52
    return mul_wrapping(x_2, x_2);
}

// Shared memory of one CTA.
struct Shared {
    union {  // never alive at the same time
        alignas(16) int steps_exchange[128];      // scratch of mapping.py:77
        alignas(16) int exchange_2[64];           // scratch of mapping.py:80
    };
    union {  // never alive at the same time
        alignas(16) int exchange[64];             // scratch of mapping.py:80
        alignas(16) int sum_slots[2];             // scratch of mapping.py:84
    };
};
static_assert(sizeof(Shared) <= 768, "the launch contract gives the CTA this much shared memory");

}  // namespace

extern "C" __global__ void __launch_bounds__(64)
mapped(const float* __restrict__ x, const int* a, const int* b, int* out, float* halves,
       int* total, const int n)
{
    __shared__ Shared shared;
    const int thread = threadIdx.x;

    // i = tl.arange(0, N)                                                             mapping.py:72
    const int i = 2 * thread;
    // value = tl.load(x + i, mask=ok, other=0.0)                                      mapping.py:74
    const Vector<float, 2> value = load_edge<2>(x + i, n - i, 0.0f);

    // tl.store(halves + i, tl.map_elementwise(halved, value, LOW), mask=ok)           mapping.py:75
    Vector<float, 2> halves_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) halves_value[k] = halved(value[k], 0.25f);
    store_edge(halves + i, n - i, halves_value);

    // first, second = tl.load(a + i, mask=ok, other=0), tl.load(b + i, mask=ok, ...   mapping.py:76
    const Vector<int, 2> first = load_edge<2>(a + i, n - i, 0);
    const Vector<int, 2> second = load_edge<2>(b + i, n - i, 0);

    // divisor, steps = tl.map_elementwise(common_divisor, first, second)              mapping.py:77
    Vector<int, 2> divisor;
    Vector<int, 2> steps;
    #pragma unroll
    for (int k = 0; k < 2; ++k) {
        common_divisor(divisor[k], steps[k], first[k], second[k]);
    }

    // tl.store(out + i, divisor, mask=ok)                                             mapping.py:78
    store_edge(out + i, n - i, divisor);

    // divisor, steps = tl.map_elementwise(common_divisor, first, second)              mapping.py:77
    Vector<int, 2> packed;
    #pragma unroll
    for (int k = 0; k < 2; ++k) packed[k] = steps[k];
    store_vector(&shared.steps_exchange[2 * thread], packed);
    __syncthreads();  // the whole tile is in shared memory
    int steps_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) steps_2[run] = shared.steps_exchange[thread + 64 * run];

    // tile [128]: element = thread + 64 * run;  run < 2
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         mapping.py:72
        const int i_2 = thread + 64 * run;
        // ok = i < n                                                                  mapping.py:73
        const bool ok = i_2 < n;
        // tl.store(out + n + i, steps, mask=ok)                                       mapping.py:79
        if (ok) *(out + n + i_2) = steps_2[run];
    }

    // lesser, partner = tl.map_elementwise(in_order, first, second, pack=2)           mapping.py:80
    int value_2;
    int value_3;
    int value_4;
    int value_5;
    in_order(value_2, value_3, value_4, value_5, first[0], first[1], second[0], second[1]);
    Vector<int, 2> lesser;
    #pragma unroll
    for (int k = 0; k < 2; ++k) lesser[k] = k == 0 ? value_2 : value_3;

    // tl.store(out + 2 * n + i, lesser, mask=ok)                                      mapping.py:81
    store_edge(out + 2 * n + i, n - i, lesser);

    // lesser, partner = tl.map_elementwise(in_order, first, second, pack=2)           mapping.py:80
    shared.exchange[thread] = value_4;
    __syncthreads();  // the whole tile is in shared memory
    int converted[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run) converted[run] = shared.exchange[thread / 2 + 32 * run];
    shared.exchange_2[thread] = value_5;
    __syncthreads();  // the whole tile is in shared memory
    int converted_2[2];
    #pragma unroll
    for (int run = 0; run < 2; ++run)
        converted_2[run] = shared.exchange_2[thread / 2 + 32 * run];
    #pragma unroll
    for (int run = 0; run < 2; ++run) {
        // i = tl.arange(0, N)                                                         mapping.py:72
        const int i_2 = thread + 64 * run;
        // ok = i < n                                                                  mapping.py:73
        const bool ok = i_2 < n;
        // tl.store(out + 3 * n + i, partner, mask=ok)                                 mapping.py:82
        if (ok) *(out + 3 * n + i_2) = thread % 2 == 0 ? converted[run] : converted_2[run];
    }

    // tl.store(out + 4 * n + i, tl.map_elementwise(steps_down, first, 100), mask=ok)  mapping.py:83
    Vector<int, 2> out_value;
    #pragma unroll
    for (int k = 0; k < 2; ++k) out_value[k] = steps_down(first[k], 100);
    store_edge(out + 4 * n + i, n - i, out_value);

    // tl.store(total, tl.sum(tl.map_elementwise(hashed, first), 0))                   mapping.py:84
    Vector<int, 2> value_6;
    #pragma unroll
    for (int k = 0; k < 2; ++k) value_6[k] = hashed(first[k]);
    int sum = 0;
    #pragma unroll
    for (int k = 0; k < 2; ++k) sum += value_6[k];
    sum = warps_all_reduce(__reduce_add_sync(0xffffffffu, sum), shared.sum_slots, [](int a, int b) { return a + b; });
    if (thread == 0) *total = sum;
}

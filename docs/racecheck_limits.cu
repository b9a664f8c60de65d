// What racecheck of CUDA 13.0 reports although nothing is wrong: a small kernel that shows it, and its like that it takes.
//
//   nvcc -arch=sm_90a -o racecheck_limits docs/racecheck_limits.cu && compute-sanitizer --tool racecheck ./racecheck_limits
#include <cstdio>

__device__ __forceinline__ void barrier_sync(int barrier, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ __forceinline__ void barrier_arrive(int barrier, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Two halves take turns at `data`. The PTX ISA (barrier) gives this as the way of a producer and a consumer: who arrives does not
// wait, and what it did is in front of what the others do behind their barrier.sync.
__global__ void reported_turns(int* out)
{
    __shared__ int data[128];
    const int thread = threadIdx.x % 128;
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x < 128) {
            data[thread] = thread + k;
            barrier_arrive(1, 256);
            barrier_sync(2, 256);
        } else {
            barrier_sync(1, 256);
            out[thread] = data[127 - thread];
            barrier_arrive(2, 256);
        }
    }
}

// The same, but all wait: silent.
__global__ void silent_turns(int* out)
{
    __shared__ int data[128];
    const int thread = threadIdx.x % 128;
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x < 128) data[thread] = thread + k;
        barrier_sync(1, 256);
        if (threadIdx.x >= 128) out[thread] = data[127 - thread];
        barrier_sync(2, 256);
    }
}

// Two warps of four meet at a barrier of their own in each round; all meet by __syncthreads() between each two accesses. What is
// reported are the writes of the other two warps behind the reads of these two in the round before. Where the other two
// sleep 20 us before they write, it is hardly ever.
__global__ void reported_rounds(int* out)
{
    __shared__ int data[4];
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x < 64) barrier_sync(1, 64);
        if (threadIdx.x % 32 == 0) data[threadIdx.x / 32] = threadIdx.x + k;
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x % 4];
        __syncthreads();
    }
}

// The same, but the two warps meet once, in front of the rounds: silent.
__global__ void silent_rounds(int* out)
{
    __shared__ int data[4];
    if (threadIdx.x < 64) barrier_sync(1, 64);
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x % 32 == 0) data[threadIdx.x / 32] = threadIdx.x + k;
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x % 4];
        __syncthreads();
    }
}

// The first again, but all meet twice where they met once: silent.
__global__ void silent_twice(int* out)
{
    __shared__ int data[4];
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x < 64) barrier_sync(1, 64);
        if (threadIdx.x % 32 == 0) data[threadIdx.x / 32] = threadIdx.x + k;
        __syncthreads();
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x % 4];
        __syncthreads();
        __syncthreads();
    }
}

int main()
{
    int* out;
    cudaMalloc(&out, 256 * sizeof(int));
    reported_turns<<<1, 256>>>(out);
    silent_turns<<<1, 256>>>(out);
    reported_rounds<<<1, 128>>>(out);
    silent_rounds<<<1, 128>>>(out);
    silent_twice<<<1, 128>>>(out);
    std::puts(cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}

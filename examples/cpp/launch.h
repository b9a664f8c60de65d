// Launching a kernel as its contract says, from C++ that no CUDA compiler sees.

#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "emitted/contracts.h"

// Why this machine cannot run any kernel, if that is what `status` means; otherwise null.
inline const char* why_no_gpu(cudaError_t status)
{
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
        return "libcuda.so.1 is not installed (no NVIDIA driver)";
    return status == cudaErrorNoDevice ? "the driver lists no device" : nullptr;
}

// Ends the program with a message when a CUDA call failed; with code 77 when there is no GPU to call.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    if (const char* why = why_no_gpu(status)) {
        std::fprintf(stderr, "no GPU: %s\n", why);
        std::exit(77);
    }
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(3);
}

// An array in device memory.
template <typename T>
class DeviceArray {
public:
    explicit DeviceArray(std::size_t count) : count_(count)
    {
        check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc");
    }

    explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size())
    {
        check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "copy to the device");
    }

    ~DeviceArray() { cudaFree(data_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;

    T* data() const { return data_; }

    std::vector<T> to_host() const
    {
        std::vector<T> host(count_);
        check(cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from the device");
        return host;
    }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

// T, but never deduced from an argument.
template <typename T>
struct Exactly {
    using type = T;
};

// Launches `kernel` on `grid_ctas` CTAs. The arguments are converted to the kernel's own parameter types first,
// because the CUDA runtime takes their addresses.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchContract& contract, unsigned grid_ctas, cudaStream_t stream,
            typename Exactly<Parameters>::type... arguments)
{
    const void* symbol = reinterpret_cast<const void*>(kernel);

    if (contract.dynamic_shared_bytes > 48 * 1024)
        check(cudaFuncSetAttribute(symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(contract.dynamic_shared_bytes)), "dynamic shared memory");

    // A kernel compiled with __cluster_dims__ has its cluster already: the grid only has to be a multiple of it.
    if (grid_ctas % contract.cluster_ctas != 0) {
        std::fprintf(stderr, "a grid of %u CTAs does not divide into clusters of %u\n", grid_ctas, contract.cluster_ctas);
        std::exit(2);
    }

    cudaLaunchAttribute attributes[1] = {};
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = contract.cooperative ? 1 : 0;

    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid_ctas, 1, 1);
    config.blockDim = dim3(contract.cta_threads, 1, 1);
    config.dynamicSmemBytes = contract.dynamic_shared_bytes;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 1;

    void* addresses[] = {static_cast<void*>(&arguments)...};
    check(cudaLaunchKernelExC(&config, symbol, addresses), "launch");
}

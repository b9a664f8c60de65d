// Adds two arrays whose length is no multiple of anything, and compares every element.

#include "launch.h"

int main()
{
    constexpr int n = (1 << 20) - 3;
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; ++i) {
        x[i] = static_cast<float>(i);
        y[i] = static_cast<float>(i % 1000) * 0.5f;
    }

    const DeviceArray<float> x_device(x), y_device(y), out_device(n);
    const unsigned grid_ctas = (n + vector_add_constants::BLOCK - 1) / vector_add_constants::BLOCK;
    launch(vector_add, vector_add_contract, grid_ctas, nullptr, x_device.data(), y_device.data(),
           out_device.data(), n);
    check(cudaDeviceSynchronize(), "vector_add");

    const std::vector<float> out = out_device.to_host();
    for (int i = 0; i < n; ++i)
        if (out[i] != x[i] + y[i]) {
            std::printf("vector_add: element %d is %g, expected %g\n", i, out[i], x[i] + y[i]);
            return 1;
        }
    std::printf("vector_add: %d elements, all as expected\n", n);
}

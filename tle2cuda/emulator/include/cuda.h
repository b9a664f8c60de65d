// Stands in for CUDA's cuda.h, of which kernels need the tensor map.
#pragma once

struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};

"""A vector addition as lectures write it: one launch over a grid that the sizes give."""

import sys

import triton
import triton.language as tl

try:
    import torch

    def make(n):
        return torch.arange(n, dtype=torch.float32), torch.full((n,), 0.5), torch.empty(n)

except ImportError:
    import numpy

    def make(n):
        return numpy.arange(n, dtype=numpy.float32), numpy.full(n, 0.5, numpy.float32), numpy.empty(n, numpy.float32)


@triton.jit
def add_kernel(
    x_ptr,  # *Pointer* to first input vector.
    y_ptr,  # *Pointer* to second input vector.
    output_ptr,  # *Pointer* to output vector.
    n_elements,  # Size of the vector.
    BLOCK_SIZE: tl.constexpr,  # Number of elements each program should process.
):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


def add(x, y, output):
    n_elements = len(output)
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)  # noqa: E731
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    x, y, output = make(size)
    assert (add(x, y, output) == x + y).all()
    print(f"triton {triton.__version__}: {size} sums are right")

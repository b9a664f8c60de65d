"""What the emulator says of `tcgen05` instructions that the hardware would not take: descriptors, columns."""

from __future__ import annotations

import pytest

from tests.emulator.subjects import subject
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate
from tle2cuda.emulator.translate import with_twins

_KERNEL = "op_dot_wgmma_f16_64x8x16@sm_100a"
_SHAPE = "8u / 8 << 17 | 64u / 16 << 24"


_SCALED = "op_dot_scaled_square_mxfp4@sm_100a"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "tcgen05_copy_scales(tensor_memory + 64, shared.xs_tile);",
            ";",
            "a product reads scales from lane 0 and column 64 of tensor memory, which nothing has written",
        ),
        (
            "tcgen05_copy_scales(tensor_memory + 64, ",
            "tcgen05_copy_scales(tensor_memory + 126, ",
            "tcgen05.cp writes columns 126 to 129 of tensor memory, which are not allocated",
        ),
        (
            "tcgen05_commit(&shared",
            "tcgen05_copy_scales(tensor_memory + 64, shared.xs_tile); tcgen05_commit(&shared",
            "a copy writes columns 64 to 67 of tensor memory while a product that uses them is in flight",
        ),
        (
            "first << 4 | first << 29",
            "first << 4 | 1u << 29",
            "tcgen05.mma: scales of a begin with number 1, those of b with number 0, in units of 2",
        ),
        ("1u << 23", "0u << 23", "tcgen05.mma: scales of the type e4m3 are not those of its kind here"),
        ("128u / 16 << 24", "64u / 16 << 24", "tcgen05.mma with scales: there is none of M = 64 and N = 64"),
        (
            "= 1u << 7 |",
            "= 5u << 7 |",
            "tcgen05.mma: its kind has no operands of type 5, or the emulator does not know them",
        ),
    ],
)
def test_what_products_with_scales_do_not_take(before: str, after: str, message: str) -> None:
    check(_SCALED, before, after, message)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("version = 1;", "version = 0;", "tcgen05.mma: bits 46 to 48 of a matrix descriptor must say 1"),
        (
            "SWIZZLE_BYTES == 64 ? 4 : 6",
            "SWIZZLE_BYTES == 64 ? 4 : 3",
            "tcgen05.mma: no swizzle that the emulator knows: 3",
        ),
        (_SHAPE, "8u / 8 << 17 | 32u / 16 << 24", "tcgen05.mma: there is none of M = 32 and N = 8"),
        (_SHAPE, "8u / 8 << 17 | 128u / 16 << 24", "tcgen05.mma: there is none of M = 128 and N = 8"),
        ("1u << 4 |", "0u << 4 |", "tcgen05.mma: sums of type 0 are not those of its kind, or no 32-bit ones"),
        ("tcgen05_alloc<32>", "tcgen05_alloc<48>", "tcgen05.alloc of 48 columns; it takes a power of two from 32 to 512"),
        (
            "tcgen05_dealloc<32>(tensor_memory)",
            "tcgen05_dealloc<64>(tensor_memory)",
            "tcgen05.dealloc of what is not allocated: columns 0 to 63 of tensor memory",
        ),
        (
            "tcgen05_dealloc<32>(tensor_memory);",
            ";",
            "CTA (0, 0, 0) exits and has not given back columns 0 to 31 of tensor memory",
        ),
        (
            "(thread / 32 % 4 << 21)",
            "(thread / 32 % 2 << 21)",
            "tcgen05.ld: warp 2 loads from lane 0 on, and reaches lanes 64 to 95 alone",
        ),
    ],
)
def test_what_the_hardware_does_not_take(before: str, after: str, message: str) -> None:
    check(_KERNEL, before, after, message)


def check(name: str, before: str, after: str, message: str) -> None:
    """The first finding about tensor memory when a kernel has one fault."""
    launch = subject(name)
    source = with_twins(launch.emitted.source)
    assert source.count(before) == 1, source
    faulty = EmittedKernel(source.replace(before, after), launch.emitted.contract, launch.emitted.line_map)
    (run,) = emulate(faulty, launch.ctas, launch.args).runs
    found = [finding.message for finding in run.findings if finding.kind == "tensor_memory"]
    assert found[:1] == [message]

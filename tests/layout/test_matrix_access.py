"""ldmatrix simulated as the PTX ISA describes it, against what the layout says each register holds."""

from __future__ import annotations

import pytest

from tle2cuda.layout import (
    Layout,
    SharedLayout,
    blocked,
    f2,
    matrix_access,
    mma_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
)


def simulate_ldmatrix(layout: Layout, offset_map: SharedLayout) -> list[list[int | None]]:
    """Return what each thread's registers hold afterwards, as element offsets in shared memory."""
    plan = matrix_access(layout, offset_map)
    assert plan is not None
    element_bytes = offset_map.element_bytes
    word, row = 4 // element_bytes, 16 // element_bytes
    after: list[list[int | None]] = [[None] * layout.num_registers for _ in range(layout.num_threads)]
    for base, matrices in zip(plan.offsets_elems, plan.instructions, strict=True):
        assert len(matrices) == plan.matrices
        for warp in range(layout.num_warps):
            addresses = [f2.apply(plan.address_images, 32 * warp + lane) ^ base for lane in range(8 * plan.matrices)]
            assert all(address % row == 0 for address in addresses)
            for matrix, packed in enumerate(matrices):
                rows = addresses[8 * matrix : 8 * matrix + 8]
                for lane in range(32):
                    for k, register in enumerate(packed):
                        if plan.transposed:
                            element = rows[2 * (lane % 4) + k] + lane // 4
                        else:
                            element = rows[lane // 4] + word * (lane % 4) + k
                        after[32 * warp + lane][register] = element
    return after


def check(layout: Layout, offset_map: SharedLayout) -> None:
    for thread, registers in enumerate(simulate_ldmatrix(layout, offset_map)):
        for register, element in enumerate(registers):
            coordinate = layout.coords(register, thread % 32, thread // 32)
            assert element == offset_map.offset_elems(coordinate)


@pytest.mark.parametrize("swizzled", [False, True])
def test_operands_are_read_by_ldmatrix(swizzled):
    def buffer(shape):
        return SharedLayout.swizzled(shape, 2, 128) if swizzled else SharedLayout.plain(shape, 2)

    a, b = mma_operand_a((64, 64), (2, 2)), mma_operand_b((64, 64), (2, 2))
    check(a, buffer((64, 64)))
    check(b, buffer((64, 64)))
    assert matrix_access(a, buffer((64, 64))).matrices == 4
    assert not matrix_access(a, buffer((64, 64))).transposed
    # B stored [K, N] has n contiguous, but its fragment packs two k: transposed. Stored [N, K] it is not.
    assert matrix_access(b, buffer((64, 64))).transposed
    stored_n_k = b.transpose((1, 0))
    check(stored_n_k, buffer((64, 64)))
    assert not matrix_access(stored_n_k, buffer((64, 64))).transposed


def test_accumulators_are_written_by_stmatrix():
    for layout in (wgmma_accumulator((64, 128), 4), mma_accumulator((64, 64), (2, 2))):
        check(layout, SharedLayout.swizzled(layout.shape, 2, 128))
    check(mma_accumulator((16, 8), (1, 1)), SharedLayout.plain((16, 8), 2))
    assert matrix_access(mma_accumulator((16, 8), (1, 1)), SharedLayout.plain((16, 8), 2)).matrices == 2


def test_other_element_sizes_move_as_pieces_of_rows():
    check(mma_operand_a((64, 64), (2, 1), 8), SharedLayout.swizzled((64, 64), 1, 64))
    check(mma_operand_a((64, 64), (2, 1), 32), SharedLayout.swizzled((64, 64), 4, 128))
    # Elements of 8 bits cannot be transposed on the way.
    assert matrix_access(mma_operand_b((64, 64), (2, 1), 8), SharedLayout.plain((64, 64), 1)) is None


def test_other_layouts_are_not_of_that_form():
    assert matrix_access(blocked((64, 64), 4, (1, 0), (1, 8)), SharedLayout.plain((64, 64), 2)) is None
    assert matrix_access(mma_accumulator((64, 64), (2, 2)), SharedLayout.plain((64, 64), 8)) is None

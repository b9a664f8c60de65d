"""Random layouts for property tests."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from tle2cuda.layout import LANE_BITS, Layout, f2


def random_layout(random: Random, shape: tuple[int, ...], warp_bits: int, general: bool) -> Layout:
    """Return a layout of the tile; single-bit or zero images only unless `general`."""
    bits = sum(extent.bit_length() - 1 for extent in shape)
    vectors = list(f2.identity(bits))
    if general:
        for _ in range(3 * bits):
            if bits > 1:
                first, second = random.sample(range(bits), 2)
                vectors[first] ^= vectors[second]
    random.shuffle(vectors)
    missing = max(0, bits - LANE_BITS - warp_bits)
    register_bits = missing + random.randint(0, 2)
    slots = register_bits + LANE_BITS + warp_bits
    spare = [random.getrandbits(bits) if general and bits and random.random() < 0.5 else 0 for _ in range(slots - bits)]
    images = vectors + spare
    if random.random() < 0.7:
        random.shuffle(images)
    registers, threads = images[:register_bits], images[register_bits:]
    return Layout.from_flat(shape, registers, threads[:LANE_BITS], threads[LANE_BITS:])


def mutate(random: Random, layout: Layout) -> Layout:
    """Return a layout that differs by a few exchanges of bits, so that cheap conversions are tried too."""
    images = list(layout.flat_images)
    own = len(layout.registers)
    limit = len(images) if random.random() < 0.3 else own + (LANE_BITS if random.random() < 0.7 else 0)
    for _ in range(random.randint(0, 4)):
        if limit < 2:
            break
        first, second = random.sample(range(limit), 2)
        if random.random() < 0.5:
            images[first], images[second] = images[second], images[first]
        else:
            images[first] ^= images[second]
    return Layout.from_flat(layout.shape, images[:own], images[own : own + LANE_BITS], images[own + LANE_BITS :])


@st.composite
def shapes(draw: st.DrawFn, max_bits: int = 9) -> tuple[int, ...]:
    widths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    while sum(widths) > max_bits:
        widths[widths.index(max(widths))] -= 1
    return tuple(1 << width for width in widths)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    random = draw(st.randoms(use_true_random=False))
    return random_layout(random, draw(shapes()), draw(st.integers(0, 2)), draw(st.booleans()))


@st.composite
def layout_pairs(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts of one tile on the same warps, often related."""
    random = draw(st.randoms(use_true_random=False))
    first = random_layout(random, draw(shapes()), draw(st.integers(0, 2)), draw(st.booleans()))
    if draw(st.booleans()):
        return first, mutate(random, first)
    return first, random_layout(random, first.shape, len(first.warps), draw(st.booleans()))

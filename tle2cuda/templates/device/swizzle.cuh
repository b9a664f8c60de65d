// defines: swizzled
// Column at which a row of a swizzled tile holds a column of the array: the 16-byte chunks of a row change places by the number
// of its 128-byte line, as the copy engine stores them (PTX ISA, swizzling modes of tensors).
template <unsigned SPAN_BYTES, unsigned ELEMENT_BYTES>
__device__ __forceinline__ unsigned swizzled(unsigned row, unsigned column)
{
    const unsigned line = row / (128 / SPAN_BYTES);
    return column ^ line % (SPAN_BYTES / 16) * (16 / ELEMENT_BYTES);
}

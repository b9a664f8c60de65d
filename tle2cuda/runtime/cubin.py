"""Reading resource usage out of a cubin: an ELF file whose `.nv.info` section lists attributes by kernel."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tle2cuda.errors import InternalError

# Attribute numbers and value formats as cuobjdump -elf prints them: EIATTR_REGCOUNT, EIATTR_FRAME_SIZE.
_REGISTER_COUNT = 0x2F
_FRAME_SIZE = 0x11
_FORMAT_SIZED = 0x04  # a 16-bit size and that many bytes; the other formats have a 16-bit value

_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class CubinUsage:
    """What one kernel of a cubin uses.

    Attributes:
        registers: Registers of one thread.
        frame_bytes: Stack frame of one thread, in local memory.
        shared_bytes: Static shared memory of one CTA.
    """

    registers: int
    frame_bytes: int
    shared_bytes: int


def read_cubin(cubin: bytes, kernel: str) -> CubinUsage:
    """Resource usage of `kernel`.

    Raises:
        InternalError: The bytes are no cubin, or hold no such kernel.
    """
    try:
        return _read(cubin, kernel)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise InternalError(f"the cubin of {kernel} cannot be read: {error}") from None


def complete_cubin(cubin: bytes) -> bytes:
    """The cubin with the bytes that its ELF header says are there.

    CuPy takes off the last byte, as if the machine code were a text with a terminating zero; loaders do not
    mind, but disassemblers do.
    """
    if len(cubin) < _ELF_HEADER.size:
        return cubin
    header = _ELF_HEADER.unpack_from(cubin)
    segments_end = header[5] + header[9] * header[10]
    sections_end = header[6] + header[11] * header[12]
    return cubin.ljust(max(segments_end, sections_end), b"\0")


def _read(cubin: bytes, kernel: str) -> CubinUsage:
    if cubin[:4] != b"\x7fELF":
        raise InternalError(f"the cubin of {kernel} is not an ELF file")
    header = _ELF_HEADER.unpack_from(cubin)
    offset, entry_bytes, count, names_index = header[6], header[11], header[12], header[13]
    raw = [_SECTION.unpack_from(cubin, offset + i * entry_bytes) for i in range(count)]
    names = raw[names_index]
    sections = {_string(cubin, names[4], section[0]): section for section in raw}
    symbols = sections[".symtab"]
    text_offset = raw[symbols[6]][4]
    if f".text.{kernel}" not in sections:
        raise InternalError(f"the cubin holds no kernel {kernel}")
    usage = {_REGISTER_COUNT: 0, _FRAME_SIZE: 0}
    info = sections[".nv.info"]
    for attribute, index, value in _attributes(cubin, info[4], info[5]):
        if attribute in usage:
            symbol = _SYMBOL.unpack_from(cubin, symbols[4] + index * _SYMBOL.size)
            if _string(cubin, text_offset, symbol[0]) == kernel:
                usage[attribute] = value
    shared = sections.get(f".nv.shared.{kernel}")
    return CubinUsage(usage[_REGISTER_COUNT], usage[_FRAME_SIZE], shared[5] if shared else 0)


def _attributes(cubin: bytes, offset: int, size: int) -> list[tuple[int, int, int]]:
    """Attributes that pair a symbol with a number: (attribute, symbol index, value)."""
    found, position, end = [], offset, offset + size
    while position + 4 <= end:
        form, attribute, length = struct.unpack_from("<BBH", cubin, position)
        position += 4
        if form == _FORMAT_SIZED:
            if length == 8:
                index, value = struct.unpack_from("<II", cubin, position)
                found.append((attribute, index, value))
            position += length
    return found


def _string(data: bytes, table: int, offset: int) -> str:
    start = table + offset
    return data[start : data.index(b"\0", start)].decode()

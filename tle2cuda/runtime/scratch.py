"""Global scratch buffers of kernels: from the user's allocator when one is set, else private ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tle2cuda.errors import LaunchError
from tle2cuda.runtime.contract import ScratchSpec

Allocator = Callable[[int, int, Any], Any]

_CHUNK_BYTES = 1 << 20  # one allocation serves many small buffers, also while a graph is being captured

_allocator: Allocator | None = None


def set_allocator(allocator: Allocator | None) -> None:
    """Let `allocator(size_bytes, alignment_bytes, stream)` provide the scratch memory of kernels.

    It returns an object with `data_ptr()`, such as a torch tensor, or an integer address. The launcher zeroes
    what the kernel needs zeroed before every launch, so the memory may be dirty. None goes back to private
    buffers.
    """
    global _allocator
    _allocator = allocator


def get_allocator() -> Allocator | None:
    """The allocator in use; None for private buffers."""
    return _allocator


class _Arena:
    """Device memory of one device, handed out piece by piece and kept for the life of the process."""

    def __init__(self) -> None:
        self._chunks: list[Any] = []
        self._free = 0
        self._end = 0

    def take(self, size_bytes: int, alignment_bytes: int) -> int:
        """Address of a new piece of the current device's memory; its contents are undefined."""
        address = -(-self._free // alignment_bytes) * alignment_bytes
        if address + size_bytes > self._end:
            import cupy

            chunk = cupy.cuda.Memory(max(_CHUNK_BYTES, size_bytes + alignment_bytes))
            self._chunks.append(chunk)
            self._free, self._end = chunk.ptr, chunk.ptr + chunk.size
            address = -(-self._free // alignment_bytes) * alignment_bytes
        self._free = address + size_bytes
        return int(address)


_arenas: dict[int, _Arena] = {}
_lock = threading.Lock()


class ScratchPool:
    """The buffers of one kernel, one set a device and stream: launches on one stream follow each other."""

    def __init__(self, specs: tuple[ScratchSpec, ...]) -> None:
        self.specs = specs
        self._buffers: dict[tuple[int, int, int], tuple[int, int]] = {}

    def prepare(self, device: int, stream: int, num_ctas: int) -> tuple[tuple[int, ...], list[Any]]:
        """Addresses for one launch, zeroed on the stream where the kernel needs it, and what owns the memory.

        The caller keeps the owners until it has launched.

        Raises:
            LaunchError: The user's allocator returned no address, or memory ran out.
        """
        from cupy.cuda import runtime

        addresses, owners = [], []
        for index, spec in enumerate(self.specs):
            size = spec.size_bytes(num_ctas)
            if _allocator is not None:
                owner = _allocator(size, spec.alignment_bytes, stream)
                owners.append(owner)
                address, fresh = _address_of(owner), True
            else:
                address, fresh = self._private(index, spec, device, stream, size)
            if spec.zero and size and (fresh or not spec.restores_zero):
                runtime.memsetAsync(address, 0, size, stream)
            addresses.append(address)
        return tuple(addresses), owners

    def _private(self, index: int, spec: ScratchSpec, device: int, stream: int, size_bytes: int) -> tuple[int, bool]:
        """A buffer kept between launches, and whether it is new."""
        key = (index, device, stream)
        found = self._buffers.get(key)
        if found is not None and found[1] >= size_bytes:
            return found[0], False
        with _lock:
            arena = _arenas.setdefault(device, _Arena())
            try:
                address = arena.take(max(size_bytes, 1), max(spec.alignment_bytes, 16))
            except Exception as error:
                raise LaunchError(
                    f"cannot allocate {size_bytes} bytes of scratch memory for `{spec.name}`: {error}",
                    help="when capturing a graph, launch the kernel once before the capture",
                ) from None
            self._buffers[key] = (address, size_bytes)
        return address, True


def _address_of(buffer: Any) -> int:
    if isinstance(buffer, int):
        return buffer
    if hasattr(buffer, "data_ptr"):
        return int(buffer.data_ptr())
    if hasattr(buffer, "__cuda_array_interface__"):
        return int(buffer.__cuda_array_interface__["data"][0])
    raise LaunchError(f"the allocator given to set_allocator returned {type(buffer).__name__}, which has no data_ptr()")

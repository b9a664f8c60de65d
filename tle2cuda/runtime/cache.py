"""The disk cache of compiled kernels: keyed by a full digest, written atomically, checked when read.

One entry is one file: a line of magic, a line with the SHA-256 of the rest, a line of JSON that gives the
sizes of the blobs, then the blobs. The emitted ``.cu`` lies beside it under the kernel's name, for people to
read, precompiled headers in ``pch/``, compiled templates in ``templates/``. Together they stay within
`TLE2CUDA_CACHE_MAX_MB`: what was not used for longest goes first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tle2cuda.runtime.frames import warn_user

_MAGIC = b"tle2cuda cache 1\n"
_DEFAULT_MAX_MB = 1024
_KEPT_FILES = ("??/*.kernel", "cu/*.cu", "cu/*.json", "pch/*.pch", "templates/*.j2c")
_LEFT_FILES = ("??/.tmp-*", "cu/.tmp-*", "pch/*.tmp", "templates/.tmp-*")
_LEFT_AFTER_S = 3600.0  # no writer takes that long: the process was killed


class CacheWarning(UserWarning):
    """The disk cache cannot be used as it should; compilation goes on without it."""


def default_cache_dir() -> Path:
    """`TLE2CUDA_CACHE_DIR`, or ``~/.cache/tle2cuda``."""
    configured = os.environ.get("TLE2CUDA_CACHE_DIR")
    if configured:
        return Path(configured)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tle2cuda"


def max_cache_bytes() -> int:
    """Bound of the directory's size: `TLE2CUDA_CACHE_MAX_MB` times 2^20 bytes, 1 GiB without it."""
    configured = os.environ.get("TLE2CUDA_CACHE_MAX_MB")
    try:
        megabytes = float(configured) if configured else _DEFAULT_MAX_MB
        return max(int(megabytes * (1 << 20)), 0)
    except (ValueError, OverflowError):
        warn_user(
            f"TLE2CUDA_CACHE_MAX_MB is a number of megabytes, got {configured!r}; {_DEFAULT_MAX_MB} is used", CacheWarning
        )
        return _DEFAULT_MAX_MB << 20


@functools.cache
def temporary_source_dir() -> Path:
    """A directory of this process for emitted files that the cache cannot keep; it outlives the process."""
    return Path(tempfile.mkdtemp(prefix="tle2cuda-"))


def digest(*parts: str | bytes) -> str:
    """SHA-256 of the parts; their boundaries count, so ("ab", "c") differs from ("a", "bc")."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


class KernelCache:
    """A directory of cache entries, shared safely between processes.

    Readers see a whole entry or none: writers write a temporary file and rename it. What cannot be read, or
    does not match its digest, counts as absent and is compiled again. A directory that cannot be written
    gives one warning.

    Args:
        directory: Where entries lie; `default_cache_dir()` when None.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self.directory = Path(directory) if directory is not None else default_cache_dir()
        self._warned = False
        self._lock = threading.Lock()

    def get(self, key: str) -> dict[str, bytes] | None:
        """Blobs of an entry by name; None when it is absent or damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(f"cannot read the cache entry {path}: {error.strerror or error}")
            return None
        blobs = _decode(data)
        with contextlib.suppress(OSError):
            if blobs is None:
                path.unlink()
            else:
                os.utime(path)  # the least recently used entries go first
        return blobs

    def put(self, key: str, blobs: Mapping[str, bytes]) -> None:
        """Store an entry, and make room for it; failure to write is a warning, never an error."""
        path = self._path(key)
        if self._write(path, _encode(blobs)):
            self.evict(path)

    def evict(self, newest: Path | None = None) -> None:
        """Remove the least recently used files until the directory is within its bound; `newest` stays.

        Only files of our own kinds are counted and removed. Several processes may do this at once: they agree on
        the order, a file that is gone already counts as removed, and whoever has one open can still read it.
        """
        files = []
        for path in _find(self.directory, _KEPT_FILES):
            with contextlib.suppress(OSError):
                status = path.stat()
                files.append((status.st_mtime_ns, str(path), status.st_size))
        for path in _find(self.directory, _LEFT_FILES):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _LEFT_AFTER_S:
                    path.unlink()
        excess = sum(size for _, _, size in files) - max_cache_bytes()
        for _, name, size in sorted(files):
            if excess <= 0:
                break
            if name == str(newest):
                continue
            try:
                os.unlink(name)
            except FileNotFoundError:
                pass  # another process was first
            except OSError:  # another user's, or open on a system that locks open files
                continue
            excess -= size

    def put_source(self, kernel: str, key: str, source: str, contract: str = "") -> Path:
        """Store the emitted text for people and messages, its contract beside it as ``.json``.

        Where the cache cannot be written they go to a directory for temporary files, so that messages about the
        text still name a file that exists.

        Returns:
            The path of the text, whether or not it could be written.
        """
        path = self.source_path(kernel, key)
        if not self._write_if_new(path, source.encode()):
            fallback = temporary_source_dir() / path.name
            with contextlib.suppress(OSError):
                fallback.write_bytes(source.encode())
                path = fallback
        if contract:
            self._write_if_new(path.with_suffix(".json"), contract.encode())
        return path

    def source_path(self, kernel: str, key: str) -> Path:
        """Where `put_source` keeps the text."""
        name = re.sub(r"\W", "_", kernel)
        return self.directory / "cu" / f"{name}-{key[:12]}.cu"

    def writable(self) -> str:
        """Empty when the directory can be written, else the reason."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.directory):
                return ""
        except OSError as error:
            return error.strerror or str(error)

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / f"{key}.kernel"

    def _write_if_new(self, path: Path, data: bytes) -> bool:
        with contextlib.suppress(OSError):
            if path.read_bytes() == data:
                return True
        return self._write(path, data)

    def _write(self, path: Path, data: bytes) -> bool:
        """Write a file whole or not at all; whether it was."""
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
            return True
        except OSError as error:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            self._warn(f"cannot write to the cache directory {self.directory}: {error.strerror or error}")
            return False

    def _warn(self, message: str) -> None:
        with self._lock:
            if self._warned:
                return
            self._warned = True
        warn_user(
            f"{message}; kernels are compiled anew in every process (set TLE2CUDA_CACHE_DIR to a writable directory)",
            CacheWarning,
        )


def _find(directory: Path, patterns: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        with contextlib.suppress(OSError):  # another process removes what is being listed
            found += directory.glob(pattern)
    return found


def _encode(blobs: Mapping[str, bytes]) -> bytes:
    table = json.dumps({name: len(data) for name, data in blobs.items()}).encode() + b"\n"
    body = table + b"".join(blobs.values())
    return _MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decode(data: bytes) -> dict[str, bytes] | None:
    if not data.startswith(_MAGIC):
        return None
    checksum, newline, body = data[len(_MAGIC) :].partition(b"\n")
    if not newline or hashlib.sha256(body).hexdigest().encode() != checksum:
        return None
    table, _, rest = body.partition(b"\n")
    blobs, position = {}, 0
    for name, size in json.loads(table).items():
        blobs[name] = rest[position : position + size]
        position += size
    return blobs

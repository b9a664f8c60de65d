"""`triton.runtime.cache`: files in the cache directory, by key."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tle2cuda.runtime.cache import default_cache_dir, digest
from tle2cuda.triton import knobs
from tle2cuda.version import __version__


class CacheManager:
    """Base of what keeps files under a key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key


class FileCacheManager(CacheManager):
    """Files under a key, in a folder of the cache directory.

    Args:
        key: Name of the folder.
        override: Accepted for compatibility.
        dump: Accepted for compatibility.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        self.cache_dir = str(default_cache_dir() / "files" / key)
        self.lock_path = os.path.join(self.cache_dir, "lock")

    def _make_path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        """Whether there is such a file."""
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename: str) -> str | None:
        """Path of a file; None when it is not there."""
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        """Writes a file: whole, or not at all."""
        if isinstance(data, str):
            data = data.encode()
        path = Path(self._make_path(filename))
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        return str(path)

    def get_group(self, filename: str) -> dict[str, str] | None:
        """Paths of a group of files by name; None when it was not stored."""
        import json

        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        names = json.loads(Path(path).read_text(encoding="utf-8"))
        return {name: self._make_path(name) for name in names if self.has_file(name)}

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Stores which files belong together."""
        import json

        return self.put(json.dumps(sorted(group)), f"__grp__{filename}", binary=False)


def get_cache_manager(key: str) -> FileCacheManager:
    """The files under a key."""
    return FileCacheManager(_base32(key))


get_override_manager = get_dump_manager = get_cache_manager


def triton_key() -> str:
    """Changes with every release of tle2cuda."""
    return digest("tle2cuda", __version__)


def get_cache_key(*parts: Any) -> str:
    """Digest of the parts' texts."""
    return hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()


def _base32(key: str) -> str:
    """The key as a file name: base 32 of a hexadecimal digest, other keys as they are."""
    try:
        return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")
    except ValueError:
        return key


def _base64(key: str) -> str:
    """The key as a file name, in base 64."""
    try:
        return base64.urlsafe_b64encode(bytes.fromhex(key)).decode().rstrip("=")
    except ValueError:
        return key


__all__ = [
    "CacheManager",
    "FileCacheManager",
    "_base32",
    "_base64",
    "get_cache_key",
    "get_cache_manager",
    "get_dump_manager",
    "get_override_manager",
    "knobs",
    "triton_key",
]

"""Results of tunings on disk: one JSON file for each kernel, key, set of configurations, device and release."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tle2cuda.runtime.cache import CacheWarning, default_cache_dir, digest
from tle2cuda.runtime.frames import warn_user
from tle2cuda.tuning.config import Config
from tle2cuda.version import __version__

_FORMAT = 1
_CACHE_VARIABLES = ("TLE2CUDA_CACHE_AUTOTUNING", "TRITON_CACHE_AUTOTUNING")
_LOCK_LIMIT_S = 600.0  # whoever holds a lock longer is stuck; measuring twice does no harm
_POLL_S = 0.05


def caches_by_default() -> bool:
    """Whether the environment asks to keep the results of every tuner, not only of those that ask themselves."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false", "off", "no") for name in _CACHE_VARIABLES)


def device_identity() -> str:
    """What measured times depend on besides the kernel: device and driver."""
    from cupy.cuda import runtime

    device = runtime.getDevice()
    properties = runtime.getDeviceProperties(device)
    return f"{properties['name'].decode()} {properties['multiProcessorCount']} driver {runtime.driverGetVersion()}"


def result_key(kernel: Any, key: Sequence[Any], configs: Sequence[Config]) -> str:
    """Digest of all that a result depends on."""
    from tle2cuda.runtime import toolkit
    from tle2cuda.runtime.active import uses_gpu

    device = f"{device_identity()} {toolkit.nvrtc_identity()}" if uses_gpu() else "cpu"
    names = [str(config) for config in configs]
    return digest(str(_FORMAT), __version__, kernel.cache_key, repr(tuple(key)), "\n".join(names), device)


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A result that was read back.

    Attributes:
        best: The configuration chosen.
        timings: Milliseconds by configuration.
        failures: Reasons by configuration.
    """

    best: Config
    timings: dict[Config, Any]
    failures: dict[Config, str]


class ResultStore:
    """The results in the cache directory, shared safely between processes.

    Files are written whole and renamed; a file that cannot be read, or is of another format, counts as absent.

    Args:
        directory: Where they lie; ``autotune`` in the cache directory when None.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        self.directory = Path(directory) if directory is not None else default_cache_dir() / "autotune"

    def path(self, key: str) -> Path:
        """The file of a key."""
        return self.directory / f"{key}.json"

    def load(self, key: str, configs: Sequence[Config]) -> StoredResult | None:
        """The result of a key; None when there is none that these configurations could have given."""
        try:
            data = json.loads(self.path(key).read_text(encoding="utf-8"))
            if data["format"] != _FORMAT:
                return None
            entries = data["configs"]
            by_name = {str(config): config for config in configs}
            timings = {by_name[entry["config"]]: entry["ms"] for entry in entries if "ms" in entry}
            failures = {by_name[entry["config"]]: str(entry["failed"]) for entry in entries if "failed" in entry}
            return StoredResult(by_name[data["best"]], timings, failures)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(
        self,
        key: str,
        kernel: str,
        tuned_for: Sequence[Any],
        configs: Sequence[Config],
        best: Config,
        timings: Mapping[Config, Any],
        failures: Mapping[Config, str],
    ) -> None:
        """Store a result; failure to write is a warning, never an error."""
        entries: list[dict[str, Any]] = []
        for config in configs:
            if config in failures:
                entries.append({"config": str(config), "failed": failures[config]})
            elif config in timings:
                entries.append({"config": str(config), "ms": timings[config]})
        data = {"format": _FORMAT, "kernel": kernel, "key": repr(tuple(tuned_for)), "best": str(best), "configs": entries}
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.directory, prefix=".tmp-")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(data, file, indent=1)
                os.replace(temporary, self.path(key))
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            warn_user(f"the result of a tuning cannot be kept: {error}", CacheWarning)

    @contextlib.contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """While inside, no other process tunes the same; it waits, and then finds the result.

        Where files cannot be locked, or a lock is held for too long, both tune: the later result stays.
        """
        try:
            import fcntl

            self.directory.mkdir(parents=True, exist_ok=True)
            file = open(self.directory / f".{key}.lock", "w", encoding="utf-8")  # noqa: SIM115  closed below
        except (ImportError, OSError):
            yield
            return
        with file:
            end = time.monotonic() + _LOCK_LIMIT_S
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        break
                    time.sleep(_POLL_S)
                except OSError:  # a file system without locks
                    break
            yield  # closing the file gives the lock up

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from pathlib import Path

import pytest

from tle2cuda.runtime.cache import CacheWarning, KernelCache, default_cache_dir, digest

KEY = "ab" + "0" * 62
BLOBS = {"cubin": bytes(range(256)) * 40, "ptx": "é\n".encode(), "empty": b""}


@pytest.fixture
def cache(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path)


def entry(cache: KernelCache) -> Path:
    return cache.directory / "ab" / f"{KEY}.kernel"


def test_round_trip(cache: KernelCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, BLOBS)
    assert cache.get(KEY) == BLOBS
    assert [p.name for p in entry(cache).parent.iterdir()] == [f"{KEY}.kernel"]


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "foreign", "table"])
def test_damaged_entries_count_as_absent(cache: KernelCache, damage: str) -> None:
    cache.put(KEY, BLOBS)
    path = entry(cache)
    data = bytearray(path.read_bytes())
    if damage == "truncate":
        data = data[:-10]
    elif damage == "flip":
        data[-300] ^= 1
    elif damage == "empty":
        data = bytearray()
    elif damage == "foreign":
        data = bytearray(b"something else entirely\n" * 20)
    else:
        data[90] ^= 1
    path.write_bytes(data)
    assert cache.get(KEY) is None
    assert not path.exists()
    cache.put(KEY, BLOBS)
    assert cache.get(KEY) == BLOBS


def test_unreadable_entry_is_a_warning(cache: KernelCache) -> None:
    entry(cache).mkdir(parents=True)
    with pytest.warns(CacheWarning, match="cannot read the cache entry"):
        assert cache.get(KEY) is None


def test_unwritable_directory_warns_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = KernelCache(tmp_path / "file")
    with pytest.warns(CacheWarning, match="TLE2CUDA_CACHE_DIR") as seen:
        cache.put(KEY, BLOBS)
        cache.put(KEY, BLOBS)
        path = cache.put_source("add", KEY, "text")
    assert len(seen) == 1
    assert path.name == f"add-{KEY[:12]}.cu"
    assert path.read_text() == "text"  # kept elsewhere, for messages to name
    assert cache.writable()


def test_source_is_kept_for_people(cache: KernelCache) -> None:
    path = cache.put_source("add", KEY, "// text\n")
    assert path.read_text() == "// text\n"
    before = path.stat().st_mtime_ns
    assert cache.put_source("add", KEY, "// text\n") == path
    assert path.stat().st_mtime_ns == before
    path.write_text("changed by hand")
    cache.put_source("add", KEY, "// text\n")
    assert path.read_text() == "// text\n"


def test_contract_lies_beside_the_source(cache: KernelCache) -> None:
    path = cache.put_source("add", KEY, "// text\n", "{}\n")
    assert path.with_suffix(".json").read_text() == "{}\n"


def test_directory_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    assert default_cache_dir() == tmp_path
    monkeypatch.delenv("TLE2CUDA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert default_cache_dir() == Path("/somewhere/tle2cuda")


def test_digest_counts_boundaries() -> None:
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a", b"b") == digest(b"a", "b")


def hammer(directory: str, seconds: float) -> None:
    cache = KernelCache(directory)
    end = time.monotonic() + seconds
    size = os.getpid() % 97
    while time.monotonic() < end:
        cache.put(KEY, {"cubin": bytes([size]) * 100_000})
        blobs = cache.get(KEY)
        assert blobs is not None
        assert len(set(blobs["cubin"])) == 1


def test_processes_share_the_cache(cache: KernelCache) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=hammer, args=(str(cache.directory), 0.3)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert not list(cache.directory.rglob(".tmp-*"))


def test_loads_within_20_ms(cache: KernelCache) -> None:
    cache.put(KEY, {"cubin": os.urandom(300_000), "ptx": b"x" * 200_000})
    best = min(timed(lambda: cache.get(KEY)) for _ in range(5))
    assert best < 0.020


def timed(action: object) -> float:
    start = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - start


def test_reading_never_warns(cache: KernelCache) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from pathlib import Path

import pytest

from tle2cuda.runtime.cache import CacheWarning, KernelCache, default_cache_dir, digest, max_cache_bytes

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


def age(path: Path, seconds: float) -> None:
    """Makes a file look as if it was last used `seconds` ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_least_recently_used_files_make_room(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_MAX_MB", "1")
    pch, foreign = cache.directory / "pch" / "a.pch", cache.directory / "notes.txt"
    pch.parent.mkdir()
    for path in (pch, foreign):
        path.write_bytes(bytes(400_000))
        age(path, 3000)
    source = cache.put_source("add", KEY, "// text\n", "{}\n")
    age(source, 2000)
    keys = [f"{i:02x}" + "0" * 62 for i in range(3)]
    for i, key in enumerate(keys):
        cache.put(key, {"cubin": bytes(300_000)})
        age(cache._path(key), 1000 - i)
    assert not pch.exists()  # the oldest, and the largest
    assert source.exists() and all(cache.get(key) for key in keys)  # 900 kB, all just used
    age(cache._path(keys[1]), 500)
    cache.put(KEY, {"cubin": bytes(300_000)})
    assert [cache.get(key) is not None for key in (*keys, KEY)] == [True, False, True, True]
    assert not source.exists()
    assert foreign.exists()  # not ours


def test_what_was_just_written_stays(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_MAX_MB", "0")
    cache.put(KEY, BLOBS)
    assert cache.get(KEY) == BLOBS


def test_leftovers_of_killed_writers_go(cache: KernelCache) -> None:
    cache.put(KEY, BLOBS)
    old, new = entry(cache).with_name(".tmp-old"), entry(cache).with_name(".tmp-new")
    for path in (old, new):
        path.write_bytes(b"half")
    age(old, 7200)
    cache.evict()
    assert (old.exists(), new.exists()) == (False, True)


def test_bound_of_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLE2CUDA_CACHE_MAX_MB", raising=False)
    assert max_cache_bytes() == 1 << 30
    monkeypatch.setenv("TLE2CUDA_CACHE_MAX_MB", "0.5")
    assert max_cache_bytes() == 1 << 19
    monkeypatch.setenv("TLE2CUDA_CACHE_MAX_MB", "much")
    with pytest.warns(CacheWarning, match="is a number of megabytes, got 'much'"):
        assert max_cache_bytes() == 1 << 30


def fill(directory: str, seconds: float, number: int) -> None:
    cache = KernelCache(directory)
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        key = f"{count % 16:02x}{number}" + "0" * 61
        cache.put(key, {"cubin": bytes([number]) * 100_000})
        blobs = cache.get(key)
        assert blobs is None or blobs["cubin"] == bytes([number]) * 100_000
        count += 1
    assert count > 16


def test_processes_make_room_at_once(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_MAX_MB", "1")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(str(cache.directory), 0.5, i)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    cache.evict()
    kept = list(cache.directory.rglob("*.kernel"))
    assert 8 <= len(kept) <= 10  # of 100 kB each, below 1 MiB
    assert not list(cache.directory.rglob(".tmp-*"))


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

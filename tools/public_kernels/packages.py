"""Fetches the packages of the development set with pip and unpacks their Python files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.public_kernels.records import Record

# A package whose newest wheel is for another Python, and source packages whose setup script asks for torch.
_ATTEMPTS = (
    (),
    ("--only-binary=:all:", "--python-version", "3.13"),
    ("--no-build-isolation",),
)
_NO_BUILD = {"FLASH_ATTENTION_SKIP_CUDA_BUILD": "TRUE", "MAMBA_SKIP_CUDA_BUILD": "TRUE"}


def fetch(records: Iterable[Record], root: Path) -> Iterator[tuple[str, str]]:
    """Downloads what is missing under `root`, one folder ``NAME==VERSION`` a package.

    Yields:
        The folder's name and what went wrong, which is empty when nothing did.
    """
    root.mkdir(parents=True, exist_ok=True)
    wanted = {record.folder: record for record in records}
    for folder, record in sorted(wanted.items()):
        problem = "" if (root / folder).exists() else _fetch_one(record, root / folder)
        yield folder, problem


def _fetch_one(record: Record, folder: Path) -> str:
    requirement = f"{record.package}=={record.version.partition('+')[0]}"
    problem = ""
    for options in _ATTEMPTS:
        with tempfile.TemporaryDirectory() as downloads:
            command = [sys.executable, "-m", "pip", "download", requirement, "--no-deps", "-q", "-d", downloads]
            done = subprocess.run(
                [*command, *options], capture_output=True, text=True, env={**os.environ, **_NO_BUILD}, check=False
            )
            files = sorted(Path(downloads).iterdir())
            if done.returncode == 0 and files:
                _unpack(files[0], folder, record.file)
                return ""
            lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
            problem = lines[-1] if lines else f"pip ended with {done.returncode}"
    return problem


def _unpack(archive: Path, folder: Path, known_file: str) -> None:
    """Unpacks the Python files so that `known_file` lies under `folder`; nothing is left behind half done."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        unpacked = Path(scratch) / "unpacked"
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(unpacked, [name for name in wheel.namelist() if name.endswith(".py")])
        else:
            with tarfile.open(archive) as sources:
                members = [m for m in sources.getmembers() if m.isfile() and m.name.endswith(".py")]
                sources.extractall(unpacked, members, filter="data")
            if not (unpacked / known_file).exists():
                unpacked = next(path for path in unpacked.iterdir() if path.is_dir())
        shutil.move(unpacked, folder)

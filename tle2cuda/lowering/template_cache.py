"""Compiled templates on disk.

Compiling the templates that a kernel needs costs more than lowering it, and every process would do it again.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

# Changes with the options of the environment, which Jinja's own check does not see.
_FORMAT = 1


class TemplateCache(jinja2.BytecodeCache):
    """Keeps compiled templates in a folder; where it cannot be written nothing is kept.

    Args:
        folder: The folder, made when it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, bucket: Bucket) -> Path:
        """File of one template for this version of Python."""
        return self.folder / f"{bucket.key}.{sys.implementation.cache_tag}.{_FORMAT}.j2c"

    def load_bytecode(self, bucket: Bucket) -> None:
        """Takes the compiled template when it was made from the same source; what is damaged counts as absent."""
        try:
            with open(self.path(bucket), "rb") as file:
                bucket.load_bytecode(file)
        except (OSError, ValueError, EOFError, TypeError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keeps a compiled template; the file appears whole or not at all."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".tmp-", dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    bucket.write_bytecode(file)
                os.replace(name, self.path(bucket))
            except BaseException:
                os.unlink(name)
                raise

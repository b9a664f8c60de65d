"""Runs one NVRTC compilation in a process of its own, with precompiled headers or without.

NVRTC uses a precompiled header only at the very address where its heap lay when the header was made, so with
address space randomisation one process cannot use the header of another. This script therefore switches
randomisation off for itself (`personality`), and so makes headers that last on disk. It is run as a file by
`python -I -S`, imports nothing of this package, and starts in a few milliseconds.

Protocol: one JSON request on standard input, one JSON line on standard output, then the cubin and the PTX as
bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from typing import Any

ADDR_NO_RANDOMIZE = 0x0040000  # Linux, sys/personality.h
_FIXED_MARK = "--fixed-addresses"


def fix_addresses() -> None:
    """Start this script again without address space randomisation.

    Where `personality` is forbidden the script goes on as it is: NVRTC then ignores foreign headers.
    """
    if _FIXED_MARK in sys.argv or not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None)
    current = libc.personality(ctypes.c_ulong(0xFFFFFFFF))
    if current == -1 or libc.personality(ctypes.c_ulong(current | ADDR_NO_RANDOMIZE)) == -1:
        return
    os.execv(sys.executable, [sys.executable, "-I", "-S", *sys.argv, _FIXED_MARK])


class Nvrtc:
    """The few NVRTC calls needed, on a library given by its path."""

    def __init__(self, path: str) -> None:
        self.lib = ctypes.CDLL(path)

    def _bytes(self, program: ctypes.c_void_p, what: str) -> bytes:
        """Result of `nvrtcGet<what>`, without the terminating zero of texts."""
        size = ctypes.c_size_t()
        if getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) or not size.value:
            return b""
        buffer = ctypes.create_string_buffer(size.value)
        if getattr(self.lib, f"nvrtcGet{what}")(program, buffer):
            return b""
        return buffer.raw

    def compile(self, source: str, name: str, options: list[str]) -> tuple[int, str, bytes, bytes]:
        """Compile; returns status, log, cubin, PTX."""
        program = ctypes.c_void_p()
        status = self.lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
        if status:
            return status, "", b"", b""
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        status = self.lib.nvrtcCompileProgram(program, len(options), array)
        log = self._bytes(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        cubin = self._bytes(program, "CUBIN") if status == 0 else b""
        ptx = self._bytes(program, "PTX").rstrip(b"\0") if status == 0 else b""
        self.lib.nvrtcDestroyProgram(ctypes.byref(program))
        return status, log, cubin, ptx


def compile_request(request: dict[str, Any]) -> tuple[dict[str, Any], bytes, bytes]:
    """Make the precompiled header when it is absent, then compile with it; without one when its path is empty."""
    nvrtc = Nvrtc(request["library"])
    pch, options = request["pch"], request["options"]
    made = used = False
    if not pch:
        status, log, cubin, ptx = nvrtc.compile(request["source"], request["name"], options)
        return {"status": status, "log": log, "cubin": len(cubin), "ptx": len(ptx), "made": made, "used": used}, cubin, ptx
    if not os.path.exists(pch):
        temporary = f"{pch}.{os.getpid()}.tmp"
        nvrtc.compile(request["prefix"], "prefix.cu", [*options, f"--create-pch={temporary}"])
        with contextlib.suppress(OSError):
            os.replace(temporary, pch)  # whole or not at all: other processes may be waiting for it
            made = True
    if os.path.exists(pch):  # not when a header of the prefix is missing, which the compilation then reports
        options = [*options, f"--use-pch={pch}", "--pch-verbose=true"]
    status, log, cubin, ptx = nvrtc.compile(request["source"], request["name"], options)
    used = "using precompiled header file" in log
    if not used:
        with contextlib.suppress(OSError):
            os.unlink(pch)  # of another library or address: the next compilation makes it anew
    reply = {"status": status, "log": log, "cubin": len(cubin), "ptx": len(ptx), "made": made, "used": used}
    return reply, cubin, ptx


def main() -> int:
    """Serve one request."""
    fix_addresses()
    request = json.loads(sys.stdin.buffer.read())
    reply, cubin, ptx = compile_request(request)
    out = sys.stdout.buffer
    out.write(json.dumps(reply).encode() + b"\n" + cubin + ptx)
    out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

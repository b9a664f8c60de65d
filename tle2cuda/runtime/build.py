"""From an emitted kernel to a compiled one, through the disk cache."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from tle2cuda.errors import LaunchError, OutOfResources, ToolchainError
from tle2cuda.runtime import nvrtc, toolkit
from tle2cuda.runtime.cache import KernelCache, digest
from tle2cuda.runtime.compiled import Artifact, make_kernel
from tle2cuda.runtime.contract import LaunchContract
from tle2cuda.runtime.nvrtc import CompileOptions
from tle2cuda.runtime.report import Resources
from tle2cuda.runtime.spills import compile_without_needless_spills
from tle2cuda.targets import MAX_THREADS_PER_CTA, parse_target
from tle2cuda.version import __version__

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

_ENTRY_VERSION = f"1 {__version__}"


class Emitted(Protocol):
    """What `build` reads of an emitted kernel (`tle2cuda.compiler.EmittedKernel`)."""

    @property
    def source(self) -> str:
        """The emitted file."""

    @property
    def contract(self) -> LaunchContract:
        """How to launch it."""

    @property
    def line_map(self) -> tuple[tuple[int, Span], ...]:
        """Lines of the file with the places in the user's source they come from, ascending."""

    @property
    def op_map(self) -> tuple[tuple[int, str], ...]:
        """Lines of the file with the operations they are written for, ascending."""

    @property
    def ir_dumps(self) -> Mapping[str, str]:
        """IR after each pass that was asked for."""


def build(
    emitted: Emitted,
    *,
    options: CompileOptions | None = None,
    cache: KernelCache | None = None,
    span: Span | None = None,
) -> Any:
    """Compile an emitted kernel, or take it from the cache.

    Args:
        emitted: The emitted kernel.
        options: Options of NVRTC; the contract's target and defaults when None.
        cache: Disk cache; the default one when None.
        span: The kernel's definition, for messages; by default the first place of the line map.

    Returns:
        A `cupy.RawKernel` (see `tle2cuda.runtime.compiled`).

    Raises:
        DeviceCodeError: NVRTC or ptxas refuses the emitted file.
        OutOfResources: The kernel needs more than one CTA can have.
        ToolchainError: CuPy, NVRTC or a header is missing.
    """
    return make_kernel(build_artifact(emitted, options=options, cache=cache, span=span))


def build_artifact(
    emitted: Emitted,
    *,
    options: CompileOptions | None = None,
    cache: KernelCache | None = None,
    span: Span | None = None,
) -> Artifact:
    """As `build`, without the CuPy object around the result."""
    contract, source, line_map = emitted.contract, emitted.source, tuple(emitted.line_map)
    options = options or CompileOptions(contract.target)
    cache = cache or default_cache()
    if span is None and line_map:
        span = line_map[0][1]
    nvrtc.validate_options(options)
    check_resources(contract, span)
    key = cache_key(source, contract, options)
    path = cache.put_source(contract.kernel_name, key, source, contract.to_json())
    blobs = cache.get(key)
    if blobs is not None:
        if "source" in blobs:
            source = blobs["source"].decode()
            path = cache.put_source(contract.kernel_name, key, source, contract.to_json())
        resources = Resources.from_dict(json.loads(blobs["resources"]))
        cubin, ptx = blobs["cubin"], blobs["ptx"].decode()
    else:
        source, result, resources = compile_without_needless_spills(
            source, path, options, contract, line_map, span, cache.directory / "pch"
        )
        nvrtc.warn_about(result.warnings, str(path), line_map)
        cubin, ptx = result.cubin, result.ptx
        new = {"resources": json.dumps(resources.to_dict()).encode(), "cubin": cubin, "ptx": ptx.encode()}
        if source != emitted.source:
            path = cache.put_source(contract.kernel_name, key, source, contract.to_json())
            new["source"] = source.encode()
        if not result.warnings:  # a kernel with warnings warns again in the next process
            cache.put(key, new)
    return Artifact(
        contract,
        source,
        path,
        cubin,
        ptx,
        resources,
        options,
        line_map,
        span,
        dict(emitted.ir_dumps),
        blobs is not None,
        tuple(emitted.op_map),
    )


_default_cache: KernelCache | None = None


def default_cache() -> KernelCache:
    """The process's cache in the default directory; made anew when TLE2CUDA_CACHE_DIR changes."""
    global _default_cache
    fresh = KernelCache()
    if _default_cache is None or _default_cache.directory != fresh.directory:
        _default_cache = fresh
    return _default_cache


def cache_key(source: str, contract: LaunchContract, options: CompileOptions) -> str:
    """Digest of all that the cubin depends on."""
    return digest(
        _ENTRY_VERSION,
        source,
        contract.to_json(),
        "\n".join(options.flags()),
        toolkit.nvrtc_identity(),
        _headers_identity() if "#include" in source else "",
    )


def _headers_identity() -> str:
    """Which CUDA headers are used: their directories, and when those were installed."""
    try:
        directories = toolkit.include_directories()
    except ToolchainError:
        return ""
    return "\n".join(f"{directory} {os.stat(directory).st_mtime_ns}" for directory in directories)


def check_resources(contract: LaunchContract, span: Span | None = None) -> None:
    """Refuse what no launch on the target can have, before NVRTC sees it.

    Raises:
        OutOfResources: Too many threads or too much shared memory.
        LaunchError: The cluster is larger than the target allows.
    """
    target = parse_target(contract.target)
    limits = target.limits
    if contract.cta_threads > MAX_THREADS_PER_CTA:
        raise OutOfResources(
            contract.cta_threads,
            MAX_THREADS_PER_CTA,
            "threads per CTA",
            span,
            (f"{contract.num_warps} warps x 32 = {contract.cta_threads} threads",),
            "use num_warps=32 or fewer",
        )
    if contract.shared_bytes > limits.max_shared_bytes_per_cta:
        raise OutOfResources(
            contract.shared_bytes,
            limits.max_shared_bytes_per_cta,
            "shared memory",
            span,
            (
                f"static {contract.shared_static_bytes} + dynamic {contract.dynamic_shared_bytes} = "
                f"{contract.shared_bytes} bytes, limit {limits.max_shared_bytes_per_cta} on {target.name}",
            ),
            "use smaller tiles, fewer stages, or reuse buffers",
        )
    if contract.cluster_size > 1 and not target.has("cluster"):
        raise LaunchError(
            f"{contract.kernel_name} needs a cluster of {contract.cluster_size} CTAs, "
            f"which requires NVIDIA SM90+, not {target.name}",
            span,
        )
    if contract.cluster_size > max(limits.max_cluster_size, 1):
        x, y, z = contract.cluster
        raise LaunchError(
            f"a cluster of {x} x {y} x {z} = {contract.cluster_size} CTAs is larger than the "
            f"{limits.max_cluster_size} that {target.name} allows",
            span,
            help=f"use at most {limits.max_cluster_size} CTAs; up to 8 work on every GPU with clusters",
        )

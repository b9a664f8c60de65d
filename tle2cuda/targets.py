"""What each GPU architecture has: a capability table (architecture x feature) and its limits.

Everything here is an argument of compilation, never a device query, so it works without CUDA.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tle2cuda.errors import ArgumentError

KIB = 1024

DEFAULT_TARGET = "sm_90a"
MAX_THREADS_PER_CTA = 1024
MAX_REGISTERS_PER_THREAD = 255
DEFAULT_STAGES = 3  # iterations of loads in flight in pipelined loops, as in Triton
WARP_THREADS = 32
STATIC_SHARED_LIMIT_BYTES = 48 * KIB  # more needs dynamic shared memory and the launcher's opt-in
MAX_GRID = (2**31 - 1, 65535, 65535)


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of one architecture.

    Attributes:
        max_threads_per_sm: Resident threads of one SM.
        max_ctas_per_sm: Resident CTAs of one SM.
        shared_bytes_per_sm: Shared memory of one SM.
        max_shared_bytes_per_cta: Shared memory that one CTA may have after the opt-in.
        reserved_shared_bytes_per_cta: What the system keeps for itself in every CTA.
        shared_granularity_bytes: Unit in which shared memory is allocated.
        max_cluster_size: Largest cluster in CTAs, non-portable sizes included; 1 without clusters.
        registers_per_sm: 32-bit registers of one SM.
        register_granularity: Unit of registers in which one warp allocates.
        warp_granularity: Sub-partitions of an SM, over which the warps of a CTA are spread.
    """

    max_threads_per_sm: int
    max_ctas_per_sm: int
    shared_bytes_per_sm: int
    max_shared_bytes_per_cta: int
    reserved_shared_bytes_per_cta: int
    shared_granularity_bytes: int
    max_cluster_size: int
    registers_per_sm: int = 65536
    register_granularity: int = 256
    warp_granularity: int = 4


PORTABLE_CLUSTER_SIZE = 8  # CUDA Programming Guide 13.0, "Thread Block Clusters"


def _limits(threads: int, ctas: int, sm_kib: int, cta_kib: int, cluster: int = 1) -> Limits:
    """A row of the table below for compute capability 8.0 and later."""
    return Limits(threads, ctas, sm_kib * KIB, cta_kib * KIB, 1 * KIB, 128, cluster)


# CUDA Programming Guide 13.0 (12.9 for 7.0 and 7.2), "Compute Capabilities", table "Technical Specifications
# per Compute Capability": resident threads, resident CTAs, shared memory per SM and per CTA, registers. The
# KiB that the system reserves in each CTA from 8.0 on: "Ampere Tuning Guide", "Unified Shared
# Memory/L1/Texture Cache". Allocation granularities: the toolkit's cuda_occupancy.h. Clusters of 16 on 9.0
# and 10.x: "Hopper Tuning Guide",
# "Thread Block Clusters" and "Blackwell Tuning Guide"; 8 elsewhere from 9.0 on.
_LIMITS: Mapping[tuple[int, int], Limits] = MappingProxyType(
    {
        (7, 0): Limits(2048, 32, 96 * KIB, 96 * KIB, 0, 256, 1),
        (7, 2): Limits(2048, 32, 96 * KIB, 96 * KIB, 0, 256, 1),
        (7, 5): Limits(1024, 16, 64 * KIB, 64 * KIB, 0, 256, 1),
        (8, 0): _limits(2048, 32, 164, 163),
        (8, 6): _limits(1536, 16, 100, 99),
        (8, 7): _limits(1536, 16, 164, 163),
        (8, 8): _limits(1536, 16, 100, 99),
        (8, 9): _limits(1536, 24, 100, 99),
        (9, 0): _limits(2048, 32, 228, 227, cluster=16),
        (10, 0): _limits(2048, 32, 228, 227, cluster=16),
        (10, 3): _limits(2048, 32, 228, 227, cluster=16),
        (11, 0): _limits(1536, 24, 228, 227, cluster=8),
        (12, 0): _limits(1536, 24, 100, 99, cluster=8),
        (12, 1): _limits(1536, 24, 100, 99, cluster=8),
    }
)

# Architectures that have a variant with instructions not carried to later ones (suffix a), and family
# variants (suffix f): NVCC documentation 13.0, "GPU Feature List".
_HAS_SUFFIX_A = frozenset({(9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1)})
_HAS_SUFFIX_F = frozenset({(10, 0), (10, 3), (11, 0), (12, 0), (12, 1)})


@dataclass(frozen=True, slots=True)
class Feature:
    """Where a feature exists.

    Attributes:
        since: First compute capability that has it.
        only: When not empty, the only capabilities that have it, and only with the suffix a or f.
        text: What it is, in a message.
    """

    since: tuple[int, int]
    text: str
    only: frozenset[tuple[int, int]] = frozenset()

    def available(self, target: Target) -> bool:
        """Whether `target` has it."""
        if self.only:
            return target.capability in self.only and target.suffix != ""
        return target.capability >= self.since

    def requirement(self) -> str:
        """Where it exists, in words."""
        if self.only:
            return ", ".join(f"sm_{major}{minor}a" for major, minor in sorted(self.only))
        return f"sm_{self.since[0]}{self.since[1]} and later"


FEATURES: Mapping[str, Feature] = MappingProxyType(
    {
        # CUDA Programming Guide 13.0, "Grid Synchronization": compute capability 6.0 and higher.
        "cooperative": Feature((6, 0), "cooperative launches and grid barriers"),
        # PTX ISA 8.7, barrier.cluster, mapa, %cluster_ctarank: sm_90 or higher.
        "cluster": Feature((9, 0), "thread block clusters"),
        # PTX ISA 8.7, griddepcontrol: sm_90 or higher.
        "grid_dependency": Feature((9, 0), "programmatic dependent launch"),
        # PTX ISA 8.7, cp.async.bulk and cp.async.bulk.tensor: sm_90 or higher.
        "tma": Feature((9, 0), "bulk tensor copies (TMA)"),
        # PTX ISA 8.7, tensormap.replace: sm_90a, sm_100a, sm_101a, sm_120a and their successors.
        "tensormap": Feature((9, 0), "tensor maps that a kernel changes", _HAS_SUFFIX_A),
        # PTX ISA 8.7, cp.async.bulk.tensor with .multicast::cluster: meant for sm_90a, sm_100a, sm_103a; ptxas
        # warns of it elsewhere.
        "multicast": Feature((9, 0), "tensor copies to a cluster", frozenset({(9, 0), (10, 0), (10, 3)})),
        # PTX ISA 8.7, mbarrier.init and mbarrier.arrive: sm_80 or higher.
        "mbarrier": Feature((8, 0), "mbarriers"),
        # PTX ISA 8.7, mbarrier.try_wait and mbarrier.expect_tx: sm_90 or higher.
        "mbarrier_tx": Feature((9, 0), "mbarriers that count bytes"),
        # PTX ISA 8.7, cp.async: sm_80 or higher.
        "cp_async": Feature((8, 0), "asynchronous copies into shared memory"),
        # PTX ISA 8.7, wgmma.mma_async: sm_90a only.
        "wgmma": Feature((9, 0), "warpgroup matrix products (wgmma)", frozenset({(9, 0)})),
        # PTX ISA 8.7, setmaxnreg: sm_90a, sm_100a, sm_103a, sm_110a (then named sm_101a), sm_120a, sm_121a.
        "setmaxnreg": Feature((9, 0), "register reallocation between warpgroups", _HAS_SUFFIX_A),
        # PTX ISA 8.7, tcgen05: sm_100a, sm_103a, sm_110a (then named sm_101a).
        "tcgen05": Feature((10, 0), "tensor memory (tcgen05)", frozenset({(10, 0), (10, 3), (11, 0)})),
        # PTX ISA 8.7, mma.sync with .f16: sm_70 or higher; .bf16, .tf32, .f64: sm_80 or higher.
        "mma_f16": Feature((7, 0), "fp16 matrix products"),
        "mma_bf16": Feature((8, 0), "bf16, tf32 and fp64 matrix products"),
        # PTX ISA 8.7, mma.sync with .e4m3 and .e5m2: sm_89 or higher.
        "mma_fp8": Feature((8, 9), "fp8 matrix products"),
        # PTX ISA 8.7, mma with .block_scale: sm_120a, sm_121a and their family. (tcgen05.mma has it wherever there is one.)
        "mma_scaled": Feature((12, 0), "matrix products with scaled blocks", frozenset({(12, 0), (12, 1)})),
        # PTX ISA 8.7, cvt with .e4m3x2 and .e5m2x2: sm_89 or higher; cuda_fp8.h emulates it before.
        "fp8": Feature((8, 9), "fp8 conversions in hardware"),
        # PTX ISA 8.7, add with .bf16: sm_90 or higher; fma with .bf16: sm_80 or higher (cuda_bf16.h uses it).
        "bf16": Feature((8, 0), "bf16 arithmetic"),
        # PTX ISA 8.7, ldmatrix: sm_75 or higher; stmatrix: sm_90 or higher.
        "ldmatrix": Feature((7, 5), "matrix loads from shared memory"),
        "stmatrix": Feature((9, 0), "matrix stores to shared memory"),
        # PTX ISA 8.7, redux.sync with integers: sm_80 or higher.
        "redux": Feature((8, 0), "integer warp reductions in hardware"),
        # PTX ISA 8.7, atom with .add.noftz.f16: sm_70 or higher; .bf16: sm_90 or higher.
        "atomic_f16": Feature((7, 0), "fp16 atomic additions"),
        "atomic_bf16": Feature((9, 0), "bf16 atomic additions in hardware"),
        # PTX ISA 8.7, atom with vectors of .f32: sm_90 or higher.
        "atomic_vector": Feature((9, 0), "vector atomic additions"),
        # PTX ISA 8.7, atom with .b128: sm_90 or higher.
        "atomic_b128": Feature((9, 0), "128-bit exchanges and compare-and-swaps"),
        # PTX ISA 8.7, griddepcontrol: sm_90 or higher.
        "dependent_launch": Feature((9, 0), "programmatic dependent launches"),
        # PTX ISA 8.7, elect.sync: sm_90 or higher.
        "elect": Feature((9, 0), "election of a leader lane"),
        # PTX ISA 8.7, multimem: sm_90 or higher.
        "multimem": Feature((9, 0), "multicast memory across GPUs"),
    }
)


@dataclass(frozen=True, slots=True)
class Target:
    """An architecture that code is compiled for.

    Attributes:
        major: Major compute capability.
        minor: Minor compute capability.
        suffix: ``a`` (architecture-specific), ``f`` (family-specific) or empty.
    """

    major: int
    minor: int
    suffix: str = ""

    @property
    def name(self) -> str:
        """Name such as ``sm_90a``."""
        return f"sm_{self.major}{self.minor}{self.suffix}"

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability (major, minor)."""
        return (self.major, self.minor)

    @property
    def limits(self) -> Limits:
        """Resource limits."""
        return _LIMITS[self.capability]

    def has(self, feature: str) -> bool:
        """Whether the architecture has `feature`, a key of `FEATURES`."""
        return FEATURES[feature].available(self)

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Whether a cubin for this target runs on a device of that compute capability.

        A cubin runs on its own major version with the same or a later minor one; with suffix a or f only on
        the capability itself (a), or its family, which for the families known so far is the major version
        (f).
        """
        if self.suffix == "a":
            return capability == self.capability
        return capability[0] == self.major and capability[1] >= self.minor


def known_targets() -> tuple[str, ...]:
    """Names of all targets, oldest first."""
    names = []
    for capability in sorted(_LIMITS):
        names.append(Target(*capability).name)
        if capability in _HAS_SUFFIX_A:
            names.append(Target(*capability, "a").name)
        if capability in _HAS_SUFFIX_F:
            names.append(Target(*capability, "f").name)
    return tuple(names)


@functools.cache
def parse_target(name: str) -> Target:
    """Parse a name such as ``sm_90a``.

    Raises:
        ArgumentError: The name is not that of a known architecture.
    """
    if not isinstance(name, str):
        raise ArgumentError(f"a target architecture is a name, got {name!r}", help="write it as 'sm_90a'")
    match = re.fullmatch(r"sm_(\d+)(\d)([af]?)", name)
    if match:
        target = Target(int(match[1]), int(match[2]), match[3])
        if target.name in known_targets():
            return target
    # The same number, however it is written: sm90a, compute_90a, 9.0a.
    written = re.fullmatch(r"\D*?([\d.]+)([a-z]?)", name.strip().lower())
    plain = f"sm_{written[1].replace('.', '')}" if written else ""
    near = next((n for n in (plain + written[2], plain) if n in known_targets()), "") if written else ""
    raise ArgumentError(
        f"unknown target architecture {name!r}",
        facts=("known: " + ", ".join(known_targets()),),
        help=f"did you mean {near}?" if near else "" if match else "write it as sm_90a",
    )


def target_of_capability(major: int, minor: int) -> Target:
    """The most capable target for a device: with the suffix a where there is one.

    Raises:
        ArgumentError: The device is of an unknown architecture.
    """
    suffix = "a" if (major, minor) in _HAS_SUFFIX_A else ""
    return parse_target(f"sm_{major}{minor}{suffix}")

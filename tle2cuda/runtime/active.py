"""What scripts ask of Triton's driver: the current device, its target, its properties.

Where there is no GPU, or where `TLE2CUDA_DEVICE` chooses the emulator or the interpreter, it answers for the default
target, so that scripts that size their grids by a device run as well.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import NotSupported, ToolchainError
from tle2cuda.runtime.device import HOST_DEVICES, chosen_device
from tle2cuda.targets import DEFAULT_TARGET, WARP_THREADS, parse_target

# The SMs, clocks and bus of an NVIDIA H200 SXM, which the emulator stands for: figures of `cudaGetDeviceProperties`.
_EMULATED = {
    "multiprocessor_count": 132,
    "sm_clock_rate": 1_980_000,
    "mem_clock_rate": 3_201_000,
    "mem_bus_width": 6144,
}


@dataclass(frozen=True)
class GPUTarget:
    """A device as Triton names it.

    Attributes:
        backend: ``cuda``.
        arch: Compute capability as a number: 90 for 9.0.
        warp_size: Threads of a warp.
    """

    backend: str
    arch: int | str
    warp_size: int


class BaseBackend:
    """Base of backends.

    Args:
        target: What it compiles for.
    """

    binary_ext = "cubin"

    def __init__(self, target: Any = None) -> None:
        self.target = target

    @staticmethod
    def supports_target(target: Any) -> bool:
        """Whether it compiles for a target."""
        return False


def uses_gpu() -> bool:
    """Whether launches go to a GPU."""
    if chosen_device() in HOST_DEVICES:
        return False
    from tle2cuda.runtime import toolkit

    try:
        toolkit.require_gpu()
    except ToolchainError:
        return False
    return True


class DeviceUtilities:
    """`driver.active.utils`."""

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """Limits and clocks of a device, clocks in kHz, sizes in bytes."""
        if not uses_gpu():
            limits = parse_target(DEFAULT_TARGET).limits
            found = {"max_shared_mem": limits.max_shared_bytes_per_cta, "max_num_regs": limits.registers_per_sm}
            return {**found, "warpSize": WARP_THREADS, **_EMULATED}
        from cupy.cuda import runtime

        properties = runtime.getDeviceProperties(device)
        return {
            "max_shared_mem": int(properties["sharedMemPerBlockOptin"]),
            "max_num_regs": int(properties["regsPerBlock"]),
            "multiprocessor_count": int(properties["multiProcessorCount"]),
            "warpSize": int(properties["warpSize"]),
            "sm_clock_rate": _attribute(device, "clockRate", 13, properties),
            "mem_clock_rate": _attribute(device, "memoryClockRate", 36, properties),
            "mem_bus_width": int(properties["memoryBusWidth"]),
        }

    def load_binary(self, *args: Any) -> Any:
        """Refuses: kernels load themselves.

        Raises:
            NotSupported: Always.
        """
        raise NotSupported(
            "driver.active.utils.load_binary is not supported", help="launch the kernel; it is loaded at its first launch"
        )

    def fill_1d_tma_descriptor(self, *args: Any) -> Any:
        """Refuses: tensor maps are not made by hand.

        Raises:
            NotSupported: Always.
        """
        raise NotSupported(
            "filling a TMA descriptor by hand is not supported",
            help="pass a TensorDescriptor, or use tl.make_tensor_descriptor",
        )

    fill_2d_tma_descriptor = fill_1d_tma_descriptor


def _attribute(device: int, name: str, number: int, properties: Any) -> int:
    """A clock in kHz. CUDA 13 took it out of the properties; the attribute of `cudaDeviceAttr` stayed."""
    if name in properties:
        return int(properties[name])
    from cupy.cuda import runtime

    return int(runtime.deviceGetAttribute(number, device))


class ActiveDriver:
    """Answers for the device that launches go to."""

    def __init__(self) -> None:
        self.utils = DeviceUtilities()

    def get_current_target(self) -> GPUTarget:
        """Target of the current device."""
        from tle2cuda.compiler import current_arch

        major, minor = parse_target(current_arch() if uses_gpu() else DEFAULT_TARGET).capability
        return GPUTarget("cuda", major * 10 + minor, WARP_THREADS)

    def get_current_device(self) -> int:
        """Number of the current device; 0 where there is none."""
        if not uses_gpu():
            return 0
        from cupy.cuda import runtime

        return int(runtime.getDevice())

    def set_current_device(self, device: int) -> None:
        """Makes a device current."""
        if uses_gpu():
            from cupy.cuda import runtime

            runtime.setDevice(device)

    def get_current_stream(self, device: int | None = None) -> int:
        """Handle of the current stream: torch's when torch is imported, else CuPy's; 0 without a GPU."""
        if not uses_gpu():
            return 0
        from tle2cuda.runtime.launcher import stream_getter

        where = self.get_current_device() if device is None else device
        return stream_getter("torch" if "torch" in sys.modules else "cupy")(where)

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Compute capability."""
        from tle2cuda.compiler import current_arch

        return parse_target(current_arch(device) if uses_gpu() else DEFAULT_TARGET).capability

    def get_active_torch_device(self) -> Any:
        """The torch device to make tensors on: the current GPU, or the CPU where kernels run there."""
        import torch

        return torch.device("cuda", self.get_current_device()) if uses_gpu() else torch.device("cpu")

    def get_device_interface(self) -> Any:
        """`torch.cuda`."""
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Any:
        """The function that times a launch."""
        from tle2cuda.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """A tensor as large as the L2 cache, to be written between measurements."""
        import torch

        return torch.empty(256 << 20, dtype=torch.int8, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        """Writes such a tensor."""
        cache.zero_()

    @staticmethod
    def is_active() -> bool:
        """Whether it can answer: always."""
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        """C++ type of a type in signature notation."""
        from tle2cuda.ir.types import DType

        return "CUdeviceptr" if ty.startswith("*") else DType(ty).cuda

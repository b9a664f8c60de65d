"""The one launch path: packs arguments as the contract says and calls the driver.

The parameters of a launch are packed into a buffer that is laid out once per thread, so that a launch costs
one `struct.pack_into`, one driver call and the look-up of the stream.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tle2cuda.errors import ArgumentError, LaunchError, OutOfResources, ToolchainError
from tle2cuda.runtime import occupancy, toolkit
from tle2cuda.runtime.contract import TENSOR_MAP_BYTES, ArgSpec, Dim3, LaunchContract
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.scalars import scalar_number
from tle2cuda.runtime.scratch import ScratchPool
from tle2cuda.runtime.tensor_maps import make_assembly
from tle2cuda.targets import PORTABLE_CLUSTER_SIZE, STATIC_SHARED_LIMIT_BYTES, parse_target

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

_FORMATS = {
    "i1": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "fp16": "e",
    "bf16": "H",
    "fp32": "f",
    "fp64": "d",
}

_MAP_CODE = f"{TENSOR_MAP_BYTES}s"


def _bf16_bits(value: float) -> int:
    """Bits of the nearest bf16, ties to even."""
    if value != value:
        return 0x7FFF
    try:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        return 0x7F80 if value > 0 else 0xFF80
    return int((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)


def _fp16_bits(value: float) -> float:
    """`value`, or infinity where fp16 overflows, which `struct` would refuse."""
    try:
        struct.pack("e", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"bf16": _bf16_bits, "fp16": _fp16_bits}


class _ParameterBlock(threading.local):
    """The packed parameters of one thread, and the array of their addresses that the driver reads."""

    def __init__(self, codes: Sequence[str]) -> None:
        padded: list[str] = []
        offsets = []
        for code in codes:
            if code == _MAP_CODE:  # `struct` aligns no bytes
                padded.append(f"{-struct.calcsize(''.join(padded)) % TENSOR_MAP_BYTES}x")
            padded.append(code)
            offsets.append(struct.calcsize("".join(padded)) - struct.calcsize(code))
        layout = struct.Struct("".join(padded))
        memory = ctypes.create_string_buffer(layout.size + TENSOR_MAP_BYTES)
        start = -ctypes.addressof(memory) % TENSOR_MAP_BYTES
        buffer = (ctypes.c_char * max(layout.size, 1)).from_buffer(memory, start)
        base = ctypes.addressof(buffer)
        self.pointers = (ctypes.c_void_p * max(len(codes), 1))(*(base + offset for offset in offsets))
        # One attribute, as access to a thread's locals is slow: how to pack, where to, what the driver reads.
        self.state = (layout.pack_into, buffer, ctypes.addressof(self.pointers))
        toolkit.require_cupy().cuda.Device().use()  # a thread's first launch needs the context made current


class _Loaded:
    """The kernel on one device."""

    def __init__(self, function: Any, device: int, launcher: Launcher) -> None:
        from cupy.cuda import driver, runtime

        self.function = function
        self.pointer = int(function.ptr)
        contract = launcher.contract
        shared = contract.dynamic_shared_bytes
        properties = runtime.getDeviceProperties(device)
        self.device_name = properties["name"].decode()
        self.num_sms = int(properties["multiProcessorCount"])
        self.shared_limit_bytes = int(properties.get("sharedMemPerBlockOptin", STATIC_SHARED_LIMIT_BYTES))
        self.dynamic_opt_in_bytes = 0
        self.max_cooperative_ctas = 0
        self.allow_dynamic(shared, launcher)
        if contract.cluster_size > PORTABLE_CLUSTER_SIZE:
            driver.funcSetAttribute(self.pointer, occupancy.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        if contract.cluster_size > 1:
            launcher.check_cluster(self)
        if contract.cooperative:
            self.ctas_per_sm = occupancy.max_resident_ctas(self.pointer, contract.cta_threads, shared)
            self.max_cooperative_ctas = self.ctas_per_sm * self.num_sms

    def allow_dynamic(self, shared_bytes: int, launcher: Launcher) -> None:
        """Opt into `shared_bytes` of dynamic shared memory when they are more than every kernel may have."""
        contract = launcher.contract
        if shared_bytes + contract.shared_static_bytes > self.shared_limit_bytes:
            raise OutOfResources(
                shared_bytes + contract.shared_static_bytes,
                self.shared_limit_bytes,
                "shared memory",
                launcher.span,
                (
                    f"static {contract.shared_static_bytes} + dynamic {shared_bytes} = "
                    f"{shared_bytes + contract.shared_static_bytes} bytes, "
                    f"limit {self.shared_limit_bytes} bytes per CTA on {self.device_name}",
                ),
            )
        from cupy.cuda import driver

        if shared_bytes > STATIC_SHARED_LIMIT_BYTES - contract.shared_static_bytes:
            driver.funcSetAttribute(self.pointer, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes)
        self.dynamic_opt_in_bytes = max(shared_bytes, STATIC_SHARED_LIMIT_BYTES - contract.shared_static_bytes)


class Launcher:
    """Launches one compiled kernel.

    Nothing is loaded before the first launch, so it can be made without a driver.

    Args:
        contract: How to launch.
        cubin: Machine code for the contract's target.
        span: The kernel's definition, for messages.
    """

    def __init__(self, contract: LaunchContract, cubin: bytes, span: Span | None = None) -> None:
        self.contract = contract
        self.cubin = cubin
        self.span = span
        self._loaded: dict[int, _Loaded] = {}
        self._lock = threading.Lock()
        self._codes = [
            *(self._code(spec) for spec in contract.args if spec.is_passed),
            *["P"] * len(contract.scratch),
            *[_MAP_CODE] * len(contract.tensor_maps),
        ]
        self._assemble = make_assembly(contract)
        self._conversions = tuple(
            (index, _CONVERSIONS[spec.dtype])
            for index, spec in enumerate(contract.args)
            if spec.kind == "scalar" and spec.dtype in _CONVERSIONS
        )
        self._pointers = tuple(index for index, spec in enumerate(contract.args) if spec.kind == "pointer")
        self._block: _ParameterBlock | None = None
        self._scratch = ScratchPool(contract.scratch) if contract.scratch else None
        self._cooperative = contract.cooperative
        self._cta_threads = contract.cta_threads
        self._shared_bytes = contract.dynamic_shared_bytes
        self._get_device: Any = None
        self._launch_kernel: Any = None
        self._launch_cooperative: Any = None
        self._driver_error: Any = None

    def _code(self, spec: ArgSpec) -> str:
        """`struct` code of a parameter."""
        if spec.kind == "pointer":
            return "P"
        if spec.kind == "tensor_map":
            return _MAP_CODE
        code = _FORMATS.get(spec.dtype)
        if code is None:
            raise ArgumentError(f"`{spec.name}`: scalars of type {spec.dtype} cannot be passed by value")
        return code

    def launch(
        self,
        grid: Dim3,
        values: Sequence[Any],
        stream: int,
        device: int | None = None,
        shared_bytes: int | None = None,
    ) -> None:
        """Launch `grid` CTAs.

        Args:
            grid: CTAs along x, y, z, the cluster already multiplied in (`LaunchContract.launch_grid`). A grid
                with a zero launches nothing.
            values: One address or number for each argument of the contract; for a tensor map its 128 bytes.
            stream: Handle of the stream.
            device: Device of the arrays; None takes the current one.
            shared_bytes: Dynamic shared memory, if not the contract's.

        Raises:
            LaunchError: The grid cannot be launched, or the driver refuses.
            OutOfResources: More shared memory than the device has.
            ToolchainError: There is no GPU, or not one that runs this target.
        """
        x, y, z = grid
        if not (x and y and z):
            return
        if self._block is None:
            self.start()
        current = self._get_device()
        if device is not None and device != current:
            with toolkit.require_cupy().cuda.Device(device):
                self.launch(grid, values, stream, None, shared_bytes)
            return
        loaded = self._loaded.get(current) or self._load(current)
        if shared_bytes is None:
            shared_bytes = self._shared_bytes
        elif shared_bytes > loaded.dynamic_opt_in_bytes:
            loaded.allow_dynamic(shared_bytes, self)
        addresses: Sequence[int] = ()
        if self._scratch is not None:
            addresses, _owners = self._scratch.prepare(current, stream, x * y * z)
        pack, buffer, parameters = self._block.state  # type: ignore[union-attr]  # made by start
        if self._conversions:
            pack(buffer, 0, *self._parameters(self._converted(values), addresses))
        else:
            try:
                pack(buffer, 0, *self._parameters(values, addresses))
            except (struct.error, TypeError, OverflowError):
                pack(buffer, 0, *self._parameters(self._converted(values), addresses))
        try:
            if self._cooperative:
                if x * y * z > loaded.max_cooperative_ctas:
                    raise self._too_large(loaded, grid)
                self._launch_cooperative(loaded.pointer, x, y, z, self._cta_threads, 1, 1, shared_bytes, stream, parameters)
            else:
                self._launch_kernel(loaded.pointer, x, y, z, self._cta_threads, 1, 1, shared_bytes, stream, parameters, 0)
        except self._driver_error as error:
            raise self._driver_failure(error, grid, shared_bytes) from None

    def is_loaded(self, device: int | None) -> bool:
        """Whether the kernel is loaded on a device, on any when None."""
        return device in self._loaded if device is not None else bool(self._loaded)

    def fast_state(self, device: int | None) -> tuple[Any, ...] | None:
        """What a launch reads when it has no scratch, no conversion and no grid to check; None when it has.

        Args:
            device: Device of the arrays, on which the kernel was launched before.
        """
        loaded = self._loaded.get(device) if device is not None else None
        if loaded is None or self._scratch is not None or self._conversions or self._cooperative:
            return None
        return (
            self._get_device,
            self._launch_kernel,
            self._driver_error,
            self._block,
            loaded.pointer,
            self._cta_threads,
            self._shared_bytes,
            self._driver_failure,
            self._assemble,
        )

    def function(self, device: int | None = None) -> Any:
        """The `cupy.cuda.Function` of this kernel on a device, the current one when None."""
        if self._block is None:
            self.start()
        current = self._get_device()
        if device is not None and device != current:
            with toolkit.require_cupy().cuda.Device(device):
                return self.function()
        return (self._loaded.get(current) or self._load(current)).function

    def start(self) -> None:
        """Bind the driver's functions, at the first launch.

        Raises:
            ToolchainError: There is no GPU.
        """
        if self._block is not None:
            return
        toolkit.require_gpu()
        from cupy_backends.cuda.api import driver, runtime

        self._get_device = runtime.getDevice
        self._launch_kernel = occupancy.launch_programmatic if self.contract.programmatic else driver.launchKernel
        self._launch_cooperative = driver.launchCooperativeKernel
        self._driver_error = driver.CUDADriverError
        self._block = _ParameterBlock(self._codes)

    def _load(self, device: int) -> _Loaded:
        """Load the cubin on the current device."""
        from cupy.cuda import function, runtime

        with self._lock:
            if device in self._loaded:
                return self._loaded[device]
            capability = runtime.getDeviceProperties(device)
            major, minor = capability["major"], capability["minor"]
            if not parse_target(self.contract.target).runs_on((major, minor)):
                raise ToolchainError(
                    f"{self.contract.kernel_name} was compiled for {self.contract.target}, but GPU {device} "
                    f"({capability['name'].decode()}) has compute capability {major}.{minor}",
                    help=f"compile it for this GPU: arch='sm_{major}{minor}'",
                )
            toolkit.require_cupy().cuda.Device(device).use()
            module = function.Module()
            module.load(self.cubin)
            loaded = _Loaded(module.get_function(self.contract.kernel_name), device, self)
            self._loaded[device] = loaded
            return loaded

    def check_cluster(self, loaded: _Loaded) -> None:
        """Refuse a cluster that can never be resident on the current device."""
        contract = self.contract
        clusters = occupancy.max_resident_clusters(
            loaded.pointer, contract.cluster, contract.cta_threads, contract.dynamic_shared_bytes
        )
        if clusters == 0:
            x, y, z = contract.cluster
            raise LaunchError(
                f"a cluster of {x} x {y} x {z} = {contract.cluster_size} CTAs cannot be resident on {loaded.device_name}",
                self.span,
                (_cta_needs(contract),),
                "use a smaller cluster, fewer warps, or less shared memory",
            )

    def addresses(self, args: Sequence[Any]) -> list[Any]:
        """The arguments with arrays replaced by their addresses; `launch` checks the numbers when it packs them.

        A `TensorDescriptor` stands for its parts: its tensor, its extents, and its strides but the last.

        Raises:
            ArgumentError: The count is wrong, or a pointer is no array or address.
        """
        if len(args) != len(self.contract.args):  # a descriptor always stands for several
            args = [part for value in args for part in _parts(value)]
        if len(args) != len(self.contract.args):
            return self.convert(args)
        values = list(args)
        for index in self._pointers:
            value = values[index]
            if type(value) is not int:
                values[index] = _ADDRESSES[type(value)](self.contract.args[index], value)
        return values

    def convert(self, args: Sequence[Any]) -> list[Any]:
        """Addresses and numbers for `launch`, one for each argument of the contract, from what was passed.

        Raises:
            ArgumentError: The count is wrong, or a value does not fit its argument.
        """
        specs = self.contract.args
        if len(args) != len(specs):
            raise ArgumentError(
                f"{self.contract.kernel_name} takes {len(specs)} arguments, got {len(args)}",
                facts=("arguments: " + ", ".join(f"{a.name} {a.type_string}" for a in specs),),
            )
        return [convert_argument(spec, value) for spec, value in zip(specs, args, strict=True)]

    def _converted(self, values: Sequence[Any]) -> list[Any]:
        """Arguments ready to pack; an error names the one that does not fit."""
        packed = self.convert(values)
        for index, convert in self._conversions:
            packed[index] = convert(packed[index])
        return packed

    def _parameters(self, values: Sequence[Any], scratch: Sequence[int]) -> Sequence[Any]:
        """What the CUDA kernel takes: arguments, scratch buffers, tensor maps."""
        if self._assemble is None:
            return (*values, *scratch) if scratch else values
        passed, maps = self._assemble(values)
        return (*passed, *scratch, *maps)

    def _too_large(self, loaded: _Loaded, grid: Dim3) -> LaunchError:
        """A cooperative grid of which not all CTAs can be resident."""
        x, y, z = grid
        contract = self.contract
        return LaunchError(
            f"cooperative launch of {x} x {y} x {z} = {prod(grid)} CTAs is too large: at most "
            f"{loaded.max_cooperative_ctas} can be resident",
            self.span,
            (
                f"{loaded.num_sms} SMs x {loaded.ctas_per_sm} CTAs per SM = "
                f"{loaded.max_cooperative_ctas} CTAs on {loaded.device_name}",
                _cta_needs(contract),
            ),
            f"launch at most {loaded.max_cooperative_ctas} CTAs and let each do more work",
        )

    def _driver_failure(self, error: Exception, grid: Dim3, shared_bytes: int) -> LaunchError:
        """The driver's refusal, with what was asked of it."""
        contract = self.contract
        kind = "cooperative launch" if contract.cooperative else "launch"
        facts = [f"grid {grid}, {contract.cta_threads} threads per CTA, {shared_bytes} bytes of dynamic shared memory"]
        if contract.cluster_size > 1:
            facts.append(f"cluster {contract.cluster}")
        return LaunchError(f"{kind} of {contract.kernel_name} failed: {error}", self.span, facts)


def _parts(value: Any) -> Sequence[Any]:
    """The arguments of the contract that one argument of a caller stands for."""
    if not isinstance(value, TensorDescriptor):
        return (value,)
    return (value.base, *value.shape, *value.strides[:-1])


def _cta_needs(contract: LaunchContract) -> str:
    return f"each CTA has {contract.cta_threads} threads and {contract.shared_bytes} bytes of shared memory"


def convert_argument(spec: ArgSpec, value: Any) -> Any:
    """An address or number for one argument, from whatever a caller passed.

    Raises:
        ArgumentError: The value does not fit the argument.
    """
    if spec.kind == "pointer":
        return _address(spec, value)
    return scalar_number(spec.name, spec.dtype, value)


def _address(spec: ArgSpec, value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if is_torch(type(value)):
        return _torch_address(spec, value)
    if hasattr(value, "data_ptr"):
        return int(value.data_ptr())
    if hasattr(value, "__cuda_array_interface__"):
        return int(value.__cuda_array_interface__["data"][0] or 0)
    if hasattr(value, "__index__") and not hasattr(value, "shape"):
        return int(value.__index__())
    if hasattr(value, "__array_interface__"):
        raise ArgumentError(_in_host_memory(spec))
    if hasattr(value, "__dlpack__"):
        return int(toolkit.require_cupy().from_dlpack(value).data.ptr)
    raise ArgumentError(f"`{spec.name}` is a pointer, got {type(value).__name__}")


class _Addresses(dict[type, Callable[[ArgSpec, Any], int]]):
    """How to take the address of an array, by its type; found out once for each type."""

    def __missing__(self, kind: type) -> Callable[[ArgSpec, Any], int]:
        take: Callable[[ArgSpec, Any], int] = _address
        if is_torch(kind):
            take = _torch_address
        elif kind.__module__.partition(".")[0] == "cupy" and kind.__name__ == "ndarray":
            take = _cupy_address
        self[kind] = take
        return take


_ADDRESSES = _Addresses()


def _torch_address(spec: ArgSpec, tensor: Any) -> int:
    if tensor.get_device() < 0:
        raise ArgumentError(_in_host_memory(spec))
    return int(tensor.data_ptr())


def _cupy_address(spec: ArgSpec, array: Any) -> int:
    return int(array.data.ptr)


_known_types: dict[type, bool] = {}


def is_torch(kind: type) -> bool:
    """Whether a type is torch's tensor, or made from it."""
    found = _known_types.get(kind)
    if found is None:
        modules = {base.__module__.partition(".")[0] for base in kind.__mro__}
        found = _known_types[kind] = "torch" in modules and hasattr(kind, "data_ptr")
    return found


def _in_host_memory(spec: ArgSpec) -> str:
    return f"`{spec.name}` is an array in host memory; the GPU needs a torch or CuPy array on the device"


# --- Streams ---


def _cupy_stream(device: int | None) -> int:
    return int(toolkit.require_cupy().cuda.get_current_stream().ptr)


@functools.cache
def _torch_stream_getter() -> Callable[[int | None], int]:
    import torch

    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)

    def stream(device: int | None) -> int:
        if raw is not None and device is not None:
            return int(raw(device))
        return int(torch.cuda.current_stream(device).cuda_stream)

    return stream


def stream_getter(library: str) -> Callable[[int | None], int]:
    """Function from a device number to the handle of the current stream of a library.

    Args:
        library: ``torch`` for torch's current stream; anything else takes CuPy's.
    """
    return _torch_stream_getter() if library == "torch" else _cupy_stream

"""`triton.runtime.errors`: what launches and compilations raise, under Triton's names."""

from tle2cuda.errors import DeviceCodeError as PTXASError
from tle2cuda.errors import KernelError as TritonError
from tle2cuda.errors import OutOfResources
from tle2cuda.triton.runtime.interpreter import InterpreterError
from tle2cuda.tuning.autotuner import AutotunerError

__all__ = ["AutotunerError", "InterpreterError", "OutOfResources", "PTXASError", "TritonError"]

"""`triton.tools.tensor_descriptor`: descriptors of tensors made on the host."""

from tle2cuda.runtime.descriptor import TensorDescriptor

__all__ = ["TensorDescriptor"]

"""The parameters of a kernel: what its arguments' types and constants make of them before its body is traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tle2cuda.errors import ArgumentError
from tle2cuda.frontend.calls import signature_of
from tle2cuda.frontend.names import translate
from tle2cuda.frontend.values import Binding, wrap
from tle2cuda.ir.nodes import Argument, Value
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import DType, PointerType
from tle2cuda.ops.base import constant
from tle2cuda.ops.core import tensor, unwrap
from tle2cuda.ops.descriptors import describe_tensor
from tle2cuda.runtime.contract import ArgSpec
from tle2cuda.runtime.signature import DescriptorArgument, TupleArgument

_PARTS = (TupleArgument, DescriptorArgument)


class ParameterBinder:
    """Gives the parameters of a kernel their values; used while the kernel's builder is active.

    Args:
        fn: The Python function.
        span_of: Span of a parameter by name.

    Attributes:
        args: The run-time arguments, those inside tuples and descriptors one by one.
        constants: The constants by name.
    """

    def __init__(self, fn: Callable[..., Any], span_of: Callable[[str], Span]) -> None:
        self.fn = fn
        self.span_of = span_of
        self.args: list[Argument] = []
        self.constants: dict[str, Any] = {}

    def bind(self, specs: Mapping[str, ArgSpec], constants: Mapping[str, Any]) -> dict[str, Binding]:
        """What the names of the parameters stand for.

        Args:
            specs: Run-time arguments by name.
            constants: Values of constants, and the structure of tuples and descriptors.

        Raises:
            ArgumentError: A name is no parameter, or a parameter has neither a type nor a value.
        """
        parameters = signature_of(self.fn).parameters
        kernel = self.fn.__name__
        inside = {leaf.name for value in constants.values() if isinstance(value, _PARTS) for leaf in value.leaves()}
        for name in (*specs, *constants):
            if name not in parameters and name not in inside:
                raise ArgumentError(f"{kernel} has no parameter {name!r}")
        found: dict[str, Binding] = {}
        for name, parameter in parameters.items():
            span = self.span_of(name)
            given = constants.get(name)
            if isinstance(given, _PARTS):
                found[name] = Binding(self._of_parts(given, span), span)
            elif name in specs:
                found[name] = Binding(self._argument(specs[name], span), span)
            elif name in constants or parameter.default is not parameter.empty:
                value = given if name in constants else parameter.default
                self.constants[name] = unwrap(translate(value))
                found[name] = Binding(wrap(self.constants[name]), span)
            else:
                raise ArgumentError(f"{kernel}: parameter `{name}` has neither a type nor a value", span)
        return found

    def _argument(self, spec: ArgSpec, span: Span) -> tensor:
        dtype = DType(spec.dtype)
        value = Value(PointerType(dtype) if spec.kind == "pointer" else dtype, spec.name, span)
        self.args.append(Argument(value, spec.divisibility))
        return tensor(value)

    def _of_parts(self, item: Any, span: Span) -> Any:
        """A tuple or descriptor whose run-time parts are arguments of their own; a constant as it is."""
        if isinstance(item, ArgSpec):
            return self._argument(item, span)
        if isinstance(item, TupleArgument):
            items = [self._of_parts(inner, span) for inner in item.items]
            return item.kind(*items) if hasattr(item.kind, "_fields") else tuple(items)
        if isinstance(item, DescriptorArgument):
            return self._descriptor(item, span)
        return wrap(item)

    def _descriptor(self, item: DescriptorArgument, span: Span) -> Any:
        base = self._argument(item.base, span)
        extents = [self._argument(spec, span) for spec in item.shape]
        strides = [self._argument(spec, span) for spec in item.strides]
        steps = [*strides, constant(1, DType("int64"))]  # a descriptor's last axis is contiguous
        return describe_tensor(base, extents, steps, item.block_shape, item.padding, "TensorDescriptor")

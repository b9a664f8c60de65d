"""Objects of other classes that stand for a tensor: those with `data_ptr()` and `dtype`, and those that show an array."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import ArgumentError


class Address(int):
    """Where an object says that its memory begins; on which device that is, it does not say.

    Attributes:
        owner: The object's type, for messages.
    """

    owner: str

    @staticmethod
    def of(value: Any) -> Address:
        """The address that `value.data_ptr()` gives."""
        address = Address(value.data_ptr())
        address.owner = type_name(value)
        return address


def type_name(value: Any) -> str:
    """Module and name of a value's type."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_wrapper(value: Any) -> bool:
    """Whether a value of an unknown class is passed by its address."""
    return callable(getattr(value, "data_ptr", None)) and hasattr(value, "dtype")


def refuse_addresses(name: str, value: Any) -> None:
    """Refuse an address where kernels run on the CPU: what it leads to has no bounds there, and may be on a GPU.

    Args:
        name: The parameter.
        value: What is passed: an address, an array, a number, or a tuple of such.

    Raises:
        ArgumentError: It is an address, or has one.
    """
    if isinstance(value, tuple):
        for item in value:
            refuse_addresses(name, item)
    elif isinstance(value, Address):
        raise ArgumentError(
            f"argument `{name}`: {value.owner} has data_ptr() and dtype, which is enough on a GPU; kernels on the CPU need "
            "the array itself, and it has no __array_interface__",
            help="pass the tensor or array inside it, or give its class __array_interface__",
        )

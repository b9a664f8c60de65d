"""`triton.tools.mxfp`: tensors of torch that hold the 4-bit floats and the scales of microscaling formats, for tests.

The formats are those of the OCP Microscaling specification 1.0: e2m1 (a sign, two bits of exponent, one of mantissa) and
e8m0 (a power of two from 2^-127 on, 255 for NaN).
"""

from __future__ import annotations

import abc
import math
from typing import Any

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SIGN = 8
_BIAS = 127
_NAN = 255


def _torch() -> Any:
    import torch

    return torch


class _Codes(abc.ABC):
    """Codes of floats, one in each byte: those of `data`, or as many as `size` says, which `random` fills."""

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        if data is None and size is None:
            raise ValueError(f"{type(self).__name__} needs `data` or `size`")
        self.device = data.device if data is not None else device
        self.data: Any = None if data is None else self._from_float(data)
        if size is None:
            size = data.shape
        self.size = tuple(size) if not isinstance(size, int) else (size,)

    @abc.abstractmethod
    def _from_float(self, values: Any) -> Any:
        """The codes of floats, uint8."""


class MXFP4Tensor(_Codes):
    """Numbers of 4 bits, one in each byte.

    Args:
        data: Floats to be rounded to the nearest such number.
        size: Shape, in place of `data`; `random` fills it.
        device: Where `random` puts it; of `data`, where that is.

    Attributes:
        data: The codes, uint8.
    """

    def random(self) -> MXFP4Tensor:
        """Fills it with any of the 16 codes."""
        torch = _torch()
        self.data = torch.randint(0, 2 * _SIGN, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """The numbers as float32."""
        torch = _torch()
        if dtype != torch.float32:
            raise ValueError(f"MXFP4Tensor.to gives torch.float32, not {dtype}")
        magnitudes = torch.tensor(_MAGNITUDES, dtype=torch.float32, device=self.data.device)
        found = magnitudes[(self.data & (_SIGN - 1)).long()]
        return torch.where((self.data & _SIGN) != 0, -found, found)

    def _from_float(self, values: Any) -> Any:
        """Codes of the nearest numbers, halfway to the even one; too large ones become the largest."""
        torch = _torch()
        x = values.to(torch.float64)
        size = x.abs().nan_to_num(nan=_MAGNITUDES[-1], posinf=_MAGNITUDES[-1])
        codes = torch.zeros_like(size, dtype=torch.uint8)
        for code in range(1, len(_MAGNITUDES)):
            middle = (_MAGNITUDES[code - 1] + _MAGNITUDES[code]) / 2
            reached = size > middle if code % 2 else size >= middle
            codes = torch.where(reached, torch.full_like(codes, code), codes)
        return codes | (torch.signbit(x).to(torch.uint8) * _SIGN)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two codes a byte along a dimension, the first one in the low bits; an odd last one is alone."""
        torch = _torch()
        axis = dim % self.data.dim()
        codes = self.data.movedim(axis, -1)
        if codes.shape[-1] % 2:
            codes = torch.nn.functional.pad(codes, (0, 1))
        return (codes[..., 0::2] | (codes[..., 1::2] << 4)).movedim(-1, axis).contiguous()

    def unpack_packed_tensor(self, packed_tensor: Any, dim: int, original_shape: Any) -> Any:
        """The codes of what `to_packed_tensor` gave, one in each byte."""
        torch = _torch()
        axis = dim % packed_tensor.dim()
        pairs = packed_tensor.movedim(axis, -1)
        codes = torch.stack((pairs & (2 * _SIGN - 1), pairs >> 4), dim=-1).flatten(-2)
        return codes[..., : original_shape[axis]].movedim(-1, axis).contiguous()


class MXScaleTensor(_Codes):
    """Scales of 8 bits: powers of two.

    Args:
        data: Floats, of which the power of two is taken that is no larger.
        size: Shape, in place of `data`; `random` fills it.
        device: Where `random` puts it; of `data`, where that is.

    Attributes:
        data: The codes, uint8.
    """

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Fills it with powers of two from `low` to `high`; without them with any but NaN."""
        torch = _torch()
        least = 0 if low is None else max(0, int(math.log2(low)) + _BIAS)
        most = _NAN - 1 if high is None else min(_NAN - 1, int(math.log2(high)) + _BIAS)
        if least > most:
            raise ValueError(f"there is no power of two from {low} to {high}")
        self.data = torch.randint(least, most + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """The scales as float32."""
        torch = _torch()
        if dtype != torch.float32:
            raise ValueError(f"MXScaleTensor.to gives torch.float32, not {dtype}")
        powers = torch.exp2(self.data.to(torch.float64) - _BIAS).to(torch.float32)
        return torch.where(self.data == _NAN, torch.full_like(powers, math.nan), powers)

    def _from_float(self, values: Any) -> Any:
        torch = _torch()
        x = values.to(torch.float64)
        exponents = torch.floor(torch.log2(x)) + _BIAS
        bad = ~torch.isfinite(x) | (x <= 0) | (exponents < 0) | (exponents >= _NAN)
        return torch.where(bad, torch.full_like(x, _NAN), exponents).to(torch.uint8)


__all__ = ["MXFP4Tensor", "MXScaleTensor"]

"""`triton.runtime.driver`: the device that kernels run on. The module is also the object of that name."""

from __future__ import annotations

import sys
from typing import Any

from tle2cuda.runtime.active import ActiveDriver

active: Any = ActiveDriver()
default: Any = active


def set_active(driver: Any) -> None:
    """Let another object answer for the device."""
    global active
    active = driver


def reset_active() -> None:
    """Back to the device that is there."""
    set_active(default)


driver: Any = sys.modules[__name__]

__all__ = ["ActiveDriver", "active", "default", "driver", "reset_active", "set_active"]

"""Every shipped kernel, as the demo emits it."""

from __future__ import annotations

from tests.golden import golden_case
from tools.shipped import shipped_kernels
from tools.shipped_async import asynchronous_kernels
from tools.shipped_products import product_kernels, warpgroup_kernels


def _register() -> None:
    for kernel in (*shipped_kernels(), *asynchronous_kernels(), *product_kernels()):

        def emit(arch: str, kernel=kernel) -> str:
            return str(kernel.emit(arch).source)

        golden_case(kernel.name)(emit)


def _register_for_warpgroups() -> None:
    """Kernels that multiply by `tle.gpu.wgmma`, which one target has."""
    for kernel in warpgroup_kernels():

        def emit(arch: str, kernel=kernel) -> str:
            return str(kernel.emit(arch).source)

        golden_case(kernel.name, targets=("sm_90a",))(emit)


_register()
_register_for_warpgroups()

"""`triton.testing`: timing and comparing. Triton's module has `runtime` and `tl` under its name, too."""

import tle2cuda.language as tl
from tle2cuda.testing import *  # noqa: F403
from tle2cuda.testing import __all__ as _names
from tle2cuda.testing import _quantile, _summarize_statistics  # noqa: F401
from tle2cuda.triton import runtime

__all__ = [*_names, "runtime", "tl"]

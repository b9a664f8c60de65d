"""`triton.testing`: timing and comparing."""

from tle2cuda.testing import *  # noqa: F403
from tle2cuda.testing import __all__, _quantile, _summarize_statistics  # noqa: F401

"""`python -m tle2cuda` is the command `tle2cuda`."""

import sys

from tle2cuda.cli import main

if __name__ == "__main__":
    sys.exit(main())

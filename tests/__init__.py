"""The tests of tle2cuda; tests/ mirrors the package."""

UPDATE_GOLDEN_VARIABLE = "TLE2CUDA_UPDATE_GOLDEN"
"""Environment variable by which `--update-golden` reaches xdist's workers and subprocesses."""

# Sourced by the scripts beside it, with ROOT set to the repository: finds or makes the Python environment, and
# sets PYTHON to its interpreter and CUDA_EXTRA to the CUDA major version it was made for (cuda12 or cuda13).
#
# TLE2CUDA_PYTHON=python3   use that interpreter as it is: nothing is installed, no .venv is made.

fail() {
    printf '%s: %s\n' "$(basename -- "$0")" "$1" >&2
    exit 3
}

# is_supported PYTHON: whether it runs and is 3.10 or later.
is_supported() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}

find_python() {
    for candidate in python3 python3.13 python3.12 python3.11 python3.10 python; do
        if is_supported "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    fail 'needs Python 3.10 or later, and none of python3, python3.13 ... python3.10 on PATH is. Install one, or name it: TLE2CUDA_PYTHON=/path/to/python3'
}

# The extra whose wheels suit the driver: 13 when libcuda says so, else 12 (which also serves a machine without a
# driver, where kernels are compiled but not launched).
cuda_extra() {
    "$1" - <<'PYTHON'
import ctypes

version = ctypes.c_int(0)
try:
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
except (OSError, AttributeError):
    pass
print("cuda13" if version.value >= 13000 else "cuda12")
PYTHON
}

use_given_python() {
    PYTHON=$(command -v "$TLE2CUDA_PYTHON") || fail "TLE2CUDA_PYTHON=$TLE2CUDA_PYTHON is not a program"
    is_supported "$PYTHON" || fail "TLE2CUDA_PYTHON=$TLE2CUDA_PYTHON is older than Python 3.10"
    "$PYTHON" -c 'import jinja2, numpy' 2>/dev/null ||
        fail "TLE2CUDA_PYTHON=$TLE2CUDA_PYTHON lacks jinja2 or numpy; unset it, and a .venv is made that has them"
    PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH
}

# Installs into .venv, but only after setup.cfg, the CUDA version or the interpreter changed.
make_venv() {
    venv=$ROOT/.venv
    if ! is_supported "$venv/bin/python"; then
        base=$(find_python) || exit 3
        printf 'making %s with %s\n' "$venv" "$base" >&2
        "$base" -m venv --clear "$venv" ||
            fail "$base cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"
    fi
    PYTHON=$venv/bin/python
    CUDA_EXTRA=$(cuda_extra "$PYTHON")
    stamp="$CUDA_EXTRA $(cat -- "$ROOT/setup.cfg" "$ROOT/pyproject.toml" | cksum)"
    if [ "$(cat -- "$venv/.installed" 2>/dev/null)" != "$stamp" ]; then
        printf 'installing tle2cuda[test,%s] into %s\n' "$CUDA_EXTRA" "$venv" >&2
        # Two CuPy wheels in one environment shadow each other.
        case $CUDA_EXTRA in cuda12) other=cupy-cuda13x ;; *) other=cupy-cuda12x ;; esac
        "$PYTHON" -m pip uninstall -q -y "$other" >/dev/null 2>&1
        "$PYTHON" -m pip install -q --disable-pip-version-check -e "$ROOT[test,$CUDA_EXTRA]" ||
            fail 'pip could not install the dependencies (see above). With no network, TLE2CUDA_PYTHON=python3 uses an interpreter that already has numpy, jinja2, pytest and CuPy'
        printf '%s\n' "$stamp" >"$venv/.installed"
    fi
}

if [ -n "${TLE2CUDA_PYTHON:-}" ]; then
    use_given_python
    CUDA_EXTRA=$(cuda_extra "$PYTHON")
else
    make_venv
fi
export PYTHON CUDA_EXTRA
cd "$ROOT" || exit 3

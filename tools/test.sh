#!/bin/sh
# Checks the whole repository: ruff, mypy, and every test this machine can run. Needs no GPU; tests that do are
# skipped, and the last lines say which and why. Arguments go to pytest: sh tools/test.sh tests/test_cli.py -k dump
set -u
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 3
. "$ROOT/tools/environment.sh"

failed=
skipped=

# check NAME MODULE ARGS...: runs `python -m MODULE ARGS`; an interpreter given by hand may lack the tool.
check() {
    name=$1
    module=$2
    shift 2
    if [ -n "${TLE2CUDA_PYTHON:-}" ] && ! "$PYTHON" -c "import $module" 2>/dev/null; then
        skipped="$skipped $module"
        return
    fi
    printf '== %s\n' "$name"
    "$PYTHON" -m "$module" "$@" || failed="$failed, $name"
}

check 'ruff check' ruff check .
check 'ruff format --check' ruff format --check .
check 'mypy --strict' mypy --strict tle2cuda

printf '== pytest\n'
workers=${TLE2CUDA_TEST_WORKERS:-2}
if "$PYTHON" -c 'import xdist' 2>/dev/null; then
    set -- -n "$workers" "$@"
fi
"$PYTHON" -m pytest "$@" || failed="$failed, pytest"

[ -z "$skipped" ] || printf 'not run, missing from %s:%s\n' "$PYTHON" "$skipped"
if [ -n "$failed" ]; then
    printf 'FAILED: %s\n' "${failed#, }"
    exit 1
fi

#!/bin/sh
# Everything that needs a GPU, in one call: marked tests, compute-sanitizer over shipped kernels and op cases, agreement with the
# emulator, its mutants, benchmarks, and the C++ example. Prints a table at the end; logs go to build/gpu/, or to $OUT.
#
#   sh tools/gpu_check.sh [--tests] [--sanitizer] [--agreement] [--mutants] [--bench[=NAME,...]] [--cpp]
#                                                                                       no option: all of them
#
# NAME is a group or a file of tools/bench/measure.py, as products or launch.
#
# Uses python3 as it is when that has CuPy (set TLE2CUDA_PYTHON to name another), else the .venv of tools/test.sh.
set -u
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 3

usage() {
    sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p;}' "$0"
}

parts=
benches=
for option in "$@"; do
    case $option in
        --tests | --sanitizer | --agreement | --mutants | --cpp | --bench) parts="$parts ${option#--}" ;;
        --bench=*) parts="$parts bench" benches=$(printf '%s' "${option#*=}" | tr ',' ' ') ;;
        -h | --help) usage; exit 0 ;;
        *) printf 'gpu_check.sh: unknown option %s\n' "$option" >&2; usage >&2; exit 2 ;;
    esac
done
parts=${parts:-tests sanitizer agreement mutants bench cpp}

if [ -z "${TLE2CUDA_PYTHON:-}" ] && python3 -c 'import cupy, jinja2, pytest' 2>/dev/null; then
    TLE2CUDA_PYTHON=python3
fi
. "$ROOT/tools/environment.sh"
PYTHONPATH=$ROOT${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH

nvidia-smi -L 2>/dev/null || fail 'no NVIDIA GPU here (nvidia-smi lists none)'
logs=${OUT:-$ROOT/build/gpu}
mkdir -p "$logs" || exit 3
results=$logs/results.txt
: >"$results"
failures=0

# step NAME SECONDS COMMAND...: runs a command under a time limit, its output in NAME.log; the end of a failed one's
# output is shown.
step() {
    name=$1
    limit_s=$2
    shift 2
    printf '== %s\n' "$name"
    began=$(date +%s)
    timeout "$limit_s" "$@" >"$logs/$name.log" 2>&1
    status=$?
    took_s=$(($(date +%s) - began))
    case $status in
        0) verdict=pass ;;
        124) verdict="FAIL (over $limit_s s)" ;;
        *) verdict="FAIL (exit $status)" ;;
    esac
    if [ $status -ne 0 ]; then
        failures=$((failures + 1))
        tail -n 25 "$logs/$name.log"
    fi
    note=$(grep -E '(passed|failed).* in |ERROR SUMMARY|RACECHECK SUMMARY|types agree|kernels: |findings, ' "$logs/$name.log" | tail -n 1 | tr -d '=')
    printf '%-24s %6s s  %-18s %s\n' "$name" "$took_s" "$verdict" "$note" >>"$results"
}

run_tests() {
    workers=${TLE2CUDA_TEST_WORKERS:-4}
    set -- -m pytest --require-gpu -m 'gpu or cluster or multigpu' -q
    if "$PYTHON" -c 'import xdist' 2>/dev/null; then set -- "$@" -n "$workers"; fi
    step tests 600 "$PYTHON" "$@"
}

run_sanitizer() {
    step sanitizer 900 "$PYTHON" tools/sanitize_ops.py --limit-s 600 --json "$logs/sanitizer.json" --log "$logs/sanitizer_tools.log"
}

run_agreement() {
    step agreement 300 "$PYTHON" tools/agreement.py --json "$logs/agreement.json"
    cat -- "$logs/agreement.log"
}

run_mutants() {
    step mutants_gpu 300 "$PYTHON" tools/mutants_gpu.py --json "$logs/mutants_gpu.json" --log "$logs/mutants_tools.log"
    cat -- "$logs/mutants_gpu.log"
}

run_benches() {
    # shellcheck disable=SC2086  # names without blanks, each an argument
    step benches 5400 "$PYTHON" -m tools.bench.measure "$logs/benches" $benches
    cat -- "$logs/benches.log"
}

run_cpp() {
    step cpp_build 300 sh -c 'cmake -S examples/cpp -B build/cpp && cmake --build build/cpp --parallel'
    step cpp_run 60 ctest --test-dir build/cpp --output-on-failure
}

for part in $parts; do
    case $part in
        tests) run_tests ;;
        sanitizer) run_sanitizer ;;
        agreement) run_agreement ;;
        mutants) run_mutants ;;
        bench) run_benches ;;
        cpp) run_cpp ;;
    esac
done

printf '\n%s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort -u)"
cat -- "$results"
[ "$failures" -eq 0 ]

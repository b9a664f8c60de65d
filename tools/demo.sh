#!/bin/sh
# The main job, from Python kernels to verified results: emits every MoE Align Block Size kernel to build/cu/,
# compiles each for sm_90a, runs it (on the GPU when there is one; else the emitted CUDA on the CPU, in the emulator;
# without a C++ compiler in the interpreter), checks it against NumPy, and prints a table. `sh tools/demo.sh --help` lists the options.
set -u
ROOT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd) || exit 3
. "$ROOT/tools/environment.sh"
exec "$PYTHON" "$ROOT/tools/demo.py" "$@"

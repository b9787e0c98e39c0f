#!/bin/sh
# Builds the stand-alone device benchmarks with nvcc, as many compiles at once as there are cores.
#   bench/device/build.sh OUTPUT_FOLDER [nvcc flags]
set -e
cd "$(dirname "$0")/../.."
out=${1:?output folder}
shift
mkdir -p "$out"
flags="-std=c++17 -O3 -fmad=false -arch=sm_90 -I. $*"
units="bench/device/tridiagonal.cu $(for name in automatic classic/thomas pivoting/pivoting pivoting/gtsv verify/verify verify/refine \
    condition factor solve_factored periodic/periodic; do
  echo cuda/tridiagonal/$name.cu; done) $(ls cuda/tridiagonal/regpack/cr_regpack_*.cu cuda/tridiagonal/partition/*.cu)"
for unit in $units; do
  object="$out/$(echo "$unit" | tr / _).o"
  echo "$unit -o $object"
done | xargs -P "$(nproc)" -L 1 nvcc $flags -Xptxas -v -c 2>"$out/ptxas.log" || { grep -v ptxas "$out/ptxas.log"; exit 1; }
awk '/Compiling entry/{name=$0} /spill stores/ && !/ 0 bytes spill stores, 0 bytes spill loads/{print name; print; bad=1}
  END{if (!bad) print "no register spills"}' "$out/ptxas.log" | cut -c1-160
for name in tridiagonal/factor linear/shape; do nvcc -std=c++17 -O2 -I. -c cuda/$name.cpp -o "$out/$(basename $name).o"; done
nvcc -arch=sm_90 -o "$out/tridiagonal" "$out"/*.o -ldl
# The step alone: every kernel in one file; its host reference must not contract either.
nvcc $flags -Xcompiler=-ffp-contract=off -o "$out/swept_euler" bench/device/swept_euler.cu
mkdir -p "$out/swept_objects"
ls bench/device/swept.cu cuda/swept/tiled_*.cu cuda/swept/classic.cu | while read -r unit; do
  echo "$unit -o $out/swept_objects/$(basename "$unit").o"
done | xargs -P "$(nproc)" -L 1 nvcc $flags -Xcompiler=-ffp-contract=off -diag-suppress=2810 -c
nvcc -arch=sm_90 -o "$out/swept" "$out"/swept_objects/*.o

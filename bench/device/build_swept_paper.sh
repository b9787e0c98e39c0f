#!/bin/sh
# Builds the stand-alone benchmark of the paper's variants of swept.advance with nvcc.
#   bench/device/build_swept_paper.sh OUTPUT_FOLDER [nvcc flags]
set -e
cd "$(dirname "$0")/../.."
out=${1:?output folder}
shift
mkdir -p "$out"
flags="-std=c++17 -O3 -fmad=false -diag-suppress=2810 -Xcompiler=-ffp-contract=off -arch=sm_90 -I. $*"
for unit in bench/device/swept_paper cuda/swept/classic cuda/swept/shared cuda/swept/register; do
  echo "$unit.cu -o $out/$(basename "$unit").o"
done | xargs -P "$(nproc)" -L 1 nvcc $flags -Xptxas -v -c 2>"$out/ptxas.log" || { grep -v ptxas "$out/ptxas.log"; exit 1; }
nvcc -arch=sm_90 -o "$out/swept_paper" "$out"/*.o

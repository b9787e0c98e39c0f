#!/bin/sh
# Builds the stand-alone benchmark of imaging.registration, with the cpu backend beside it.
#   bench/device/build_imaging_registration.sh OUTPUT_FOLDER
set -e
cd "$(dirname "$0")/../.."
out=${1:?output folder}
mkdir -p "$out/registration_objects"
{
  for unit in bench/device/imaging_registration cuda/imaging/registration cuda/imaging/resample cuda/imaging/cosine; do
    echo "nvcc -std=c++17 -O3 -fmad=false -arch=sm_90 -lineinfo -I. -Xcompiler=-ffp-contract=off -diag-suppress=2810 -c $unit.cu" \
      "-o $out/registration_objects/$(basename $unit)_device.o"
  done
  for unit in native/imaging/registration native/imaging/isa native/imaging/isa_avx2 native/imaging/isa_avx512 native/imaging/isa_baseline \
      native/cpu/device native/cpu/thread_pool native/cpu/isa cuda/imaging/registration cuda/imaging/resample \
      cuda/imaging/warp cuda/imaging/cosine cuda/imaging/cosine_plan; do
    echo "g++ -std=c++17 -O3 -ffp-contract=off -fno-math-errno -I. -c $unit.cpp -o $out/registration_objects/$(echo $unit | tr / _).o"
  done
} | xargs -P "$(nproc)" -I COMMAND sh -c COMMAND
nvcc -arch=sm_90 -o "$out/imaging_registration" "$out"/registration_objects/*.o

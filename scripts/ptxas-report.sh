#!/bin/sh
# Runs the CUDA compiler and writes the ptxas report of every kernel to OBJECT.ptxas, next to the object, for
# scripts/check-kernels.mjs. Other messages are passed on unchanged. Uses ccache if it is installed.
#   ptxas-report.sh COMPILER [ARGUMENTS]
object=
before=
for argument; do
  if [ "$before" = -o ]; then object=$argument; fi
  before=$argument
done
case $object in
  *.o) ;;
  *) exec "$@" ;;
esac
cache=$(command -v ccache)
${cache:+"$cache"} "$@" -Xptxas=-v 2>"$object.ptxas"
status=$?
grep -vE '^ptxas info|^ +[0-9]+ bytes stack frame' "$object.ptxas" >&2
exit $status

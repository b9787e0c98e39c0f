"""Compiles the device text of every agent's header alone with NVRTC, on a machine that has the CUDA toolkit.

    python3 scripts/check-nvrtc.py [OUTPUT.json]

The headers are those of cuda/device-headers.txt; in place of the standard library stands cuda/core/rtc.
The last line is «N passed, N failed, N skipped».
"""
import ctypes
import glob
import json
import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPTIONS = ["-std=c++17", "-arch=compute_90", "-default-device", "-device-int128", "-fmad=false", f"-I{ROOT}/cuda/core/rtc", f"-I{ROOT}"]


def library():
    found = ["libnvrtc.so", "libnvrtc.so.13"]
    for folder in ["/usr/local/cuda/lib64", *sys.path]:
        found += glob.glob(f"{folder}/libnvrtc.so*") + glob.glob(f"{folder}/nvidia/**/libnvrtc.so*", recursive=True)
    for path in found:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def headers():
    paths = glob.glob(f"{ROOT}/cuda/**/*.cuh", recursive=True)
    names = sorted(os.path.relpath(path, ROOT) for path in paths)
    with open(f"{ROOT}/cuda/device-headers.txt") as file:
        wanted = re.compile("|".join(line.rstrip("\n") for line in file if not line.startswith("#")))
    return [name for name in names if wanted.match(name)]


def compile_alone(nvrtc, header):
    """Seconds of the compilation and the compiler's words; no words where it succeeded."""
    program = ctypes.c_void_p()
    text = f'#include "{header}"\n'.encode()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"alone.cu", 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*[option.encode() for option in OPTIONS])
    start = time.perf_counter()
    status = nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    seconds = time.perf_counter() - start
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return seconds, "" if status == 0 else log.value.decode() or f"status {status}"


def main():
    nvrtc = library()
    names = headers()
    if nvrtc is None:
        print(f"no NVRTC here\n0 passed, 0 failed, {len(names)} skipped")
        return 0
    with ThreadPoolExecutor(8) as pool:
        results = dict(zip(names, pool.map(lambda name: compile_alone(nvrtc, name), names)))
    failed = {name: words for name, (_, words) in results.items() if words}
    for name, words in failed.items():
        print(f"FAILED {name} does not compile alone:\n{words[:3000]}")
    if len(sys.argv) > 1:
        version = (ctypes.c_int(), ctypes.c_int())
        nvrtc.nvrtcVersion(ctypes.byref(version[0]), ctypes.byref(version[1]))
        report = {"nvrtc": [version[0].value, version[1].value], "seconds": {name: each[0] for name, each in results.items()},
                  "failed": failed}
        with open(sys.argv[1], "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed else 0


sys.exit(main())

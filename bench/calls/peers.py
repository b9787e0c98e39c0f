"""Peers of `npm run bench -- calls`: what the same calls take from Python on the same machine.

Prints one JSON object, row id -> peer -> seconds of one call. A library that is not installed is left out.
Wall time of a call with its synchronisation, median; `queued`: 50 calls, then one synchronisation, time of each.
"""
import json
import statistics
import sys
import time

rows = {}


def put(row, peer, seconds):
    rows.setdefault(row, {})[peer] = seconds


def timed(call, budget=0.7):
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    samples = []
    for _ in range(max(5, min(2000, int(budget / max(once, 1e-6))))):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def queued(start_one, wait, count=50):
    samples = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(count):
            last = start_one()
        wait(last)
        samples.append((time.perf_counter() - begin) / count)
    return statistics.median(samples)


# --small: only what takes next to no time.
LARGE = "--small" not in sys.argv
SHAPES = [(65536, 512), (1000000, 64), (1, 512)] if LARGE else [(1, 512)]


def jax_rows():
    import os

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import numpy as np

    solve = jax.jit(jax.lax.linalg.tridiagonal_solve)
    for batch, n in SHAPES:
        for name, dtype in (("float32", np.float32), ("float64", np.float64)):
            if batch == 1 and name == "float32":
                continue
            host = [np.full((batch, n), value, dtype) for value in (-1, 4, -1)] + [np.ones((batch, n, 1), dtype)]
            host[0][:, 0] = 0
            host[2][:, -1] = 0
            arrays = [jnp.asarray(a) for a in host]
            base = f"calls/tridiagonal.solve/{batch}x{n}/{name}"
            put(f"{base}/device", "JAX", timed(lambda: solve(*arrays).block_until_ready()))
            put(f"{base}/queued", "JAX", queued(lambda: solve(*arrays), lambda last: last.block_until_ready()))
            put(f"{base}/plain", "JAX", timed(lambda: np.asarray(solve(*[jnp.asarray(a) for a in host])), 2))
            del arrays, host
    if not LARGE:
        return
    values = jnp.ones((65536, 512), jnp.float64)
    cumulate = jax.jit(lambda x: jnp.cumsum(x, axis=1))
    put("calls/scan/65536x512/float64/device", "JAX", timed(lambda: cumulate(values).block_until_ready()))


def torch_rows():
    import torch

    values = torch.ones((65536, 512), dtype=torch.float64, device="cuda")
    out = torch.empty_like(values)

    def wait(_=None):
        torch.cuda.synchronize()

    def cumulate():
        torch.cumsum(values, 1, out=out)

    put("calls/scan/65536x512/float64/device", "PyTorch", timed(lambda: (cumulate(), wait())))
    put("calls/scan/65536x512/float64/queued", "PyTorch", queued(cumulate, wait))
    small = torch.ones(512, dtype=torch.float64)

    def there_and_back():
        small.cuda().cpu()

    put("calls/tridiagonal.solve/1x512/float64/plain", "PyTorch, 512 doubles there and back", timed(there_and_back))
    device = small.cuda()
    put("calls/tridiagonal.solve/1x512/float64/device", "PyTorch, an addition", timed(lambda: (device.add_(1), wait())))
    one = torch.zeros(1, dtype=torch.float64, device="cuda")
    put("calls/array.read/1/float64/plain", "PyTorch", timed(lambda: one.cpu()))


def cupy_rows():
    import cupy

    values = cupy.ones((65536, 512))

    def wait():
        cupy.cuda.get_current_stream().synchronize()

    put("calls/scan/65536x512/float64/device", "CuPy", timed(lambda: (cupy.cumsum(values, axis=1), wait())))


for part in (jax_rows, torch_rows, cupy_rows):
    try:
        part()
    except Exception as error:  # a library that is missing or does not run here
        print(f"{part.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
print(json.dumps(rows))

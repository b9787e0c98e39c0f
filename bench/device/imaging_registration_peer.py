#!/usr/bin/env python3
"""Curvature registration by library transforms, as the peer of imaging.registration: seconds and errors on the same pairs.

The semi-implicit scheme in a few lines: CuPy's (on a GPU) or SciPy's dctn, map_coordinates of order 1, numpy's gradient of the
template interpolated at x + u. Usage: imaging_registration_peer.py cupy|scipy
"""
import sys
import time

import numpy as np

if sys.argv[1:] == ['cupy']:
    import cupy as xp
    from cupyx.scipy.fft import dctn, idctn
    from cupyx.scipy.ndimage import map_coordinates
    wait = xp.cuda.Device().synchronize
else:
    import os
    import scipy.fft
    from scipy.ndimage import map_coordinates
    xp = np
    workers = len(os.sched_getaffinity(0))
    def dctn(a, **how): return scipy.fft.dctn(a, workers=workers, **how)
    def idctn(a, **how): return scipy.fft.idctn(a, workers=workers, **how)
    def wait(): pass


def wave(t, waves): return np.cos(np.pi / 2 * waves * (t + 1))


def warp_of(axis, p):
    a, b, c = p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3]
    if axis == 0:
        return 0.55 * wave(b, 2) - 0.35 * wave(a, 1) * wave(b, 1)
    if axis == 1:
        return 0.55 * wave(c, 2) + 0.3 * wave(a, 2) * wave(c, 1)
    return 0.5 * wave(b, 1) * wave(c, 1) - 0.5 * wave(a, 2)


def thing(x, y, z):
    radius = np.sqrt((x / 0.72) ** 2 + (y / 0.6) ** 2 + (z / 0.66) ** 2)
    body = 1 / (1 + np.exp((radius - 1) / 0.035))
    coarse = np.cos(3.1 * np.pi * x + 0.7) * np.cos(2.6 * np.pi * y - 0.4) * np.cos(1.9 * np.pi * z)
    fine = np.cos(7.1 * np.pi * x - 1.1) * np.cos(6.2 * np.pi * y + 0.3) * np.cos(3.7 * np.pi * z + 0.2)
    return body * (0.52 + 0.26 * coarse + 0.2 * fine)


def pair(n, axes):
    """Reference, template, displacement (x first) and mask; array axes are z, y, x."""
    line = (2 * np.arange(n) + 1) / n - 1
    grid = np.meshgrid(*[line] * axes, indexing='ij')[::-1]
    p = list(grid) + [np.zeros_like(grid[0])] * (3 - axes)
    u = [n / 32 * warp_of(axis, p) for axis in range(axes)]
    there = [q + 2 / n * u[axis] if axis < axes else q for axis, q in enumerate(p)]
    reference, template = thing(*there), thing(*p)
    return reference, template, u, reference > 0.1


def halve(image):
    for axis in range(image.ndim):
        n = image.shape[axis]
        taps = [xp.take(image, xp.clip(2 * xp.arange((n + 1) // 2) + k, 0, n - 1), axis=axis) for k in (-1, 0, 1, 2)]
        image = (taps[0] + 3 * taps[1] + 3 * taps[2] + taps[3]) / 8
    return image


def double(field, shape):
    at = xp.stack(xp.meshgrid(*[(xp.arange(n, dtype=field[0].dtype) - 0.5) / 2 for n in shape], indexing='ij'))
    return [2 * map_coordinates(u, at, order=1, mode='nearest') for u in field]


class Level:
    def __init__(self, reference, template, alpha, tau):
        self.reference, self.template, self.tau = reference, template, tau
        kind = reference.dtype
        shape = reference.shape
        self.grid = xp.meshgrid(*[xp.arange(n, dtype=kind) for n in shape], indexing='ij')
        self.gradient = xp.gradient(template)
        eigenvalues = 0
        for axis, n in enumerate(shape):
            form = [1] * len(shape)
            form[axis] = n
            eigenvalues = eigenvalues + (2 - 2 * xp.cos(np.pi * xp.arange(n, dtype=kind) / n)).reshape(form)
        self.factor = 1 / (1 + tau * alpha * eigenvalues ** 2)

    def step(self, field):
        at = xp.stack([g + u for g, u in zip(self.grid, field)])
        residual = self.reference - map_coordinates(self.template, at, order=1, mode='nearest')
        result = []
        for u, g in zip(field, self.gradient):
            force = residual * map_coordinates(g, at, order=1, mode='nearest')
            result.append(idctn(dctn(u + self.tau * force, norm='ortho') * self.factor, norm='ortho'))
        return result


def register(reference, template, alpha, tau, levels, iterations):
    pyramid = [(reference, template)]
    for _ in range(levels - 1):
        pyramid.append(tuple(halve(image) for image in pyramid[-1]))
    field = None
    for fine in pyramid[::-1]:
        shape = fine[0].shape
        field = [xp.zeros(shape, fine[0].dtype) for _ in shape] if field is None else double(field, shape)
        level = Level(*fine, alpha, tau)
        for _ in range(iterations):
            field = level.step(field)
    wait()
    return field


def main():
    sizes = ((128, 2, 3, 60), (64, 3, 3, 40), (128, 3, 4, 40)) if xp is not np else ((128, 2, 3, 60), (64, 3, 3, 40))
    for n, axes, levels, iterations in sizes:
        reference, template, exact, mask = pair(n, axes)
        images = [xp.asarray(image.astype(np.float32)) for image in (reference, template)]
        register(*images, 0.1, 50, levels, 2)
        start = time.time()
        field = register(*images, 0.1, 50, levels, iterations)
        seconds = time.time() - start
        field = [np.asarray(u.get() if xp is not np else u, dtype=float) for u in field][::-1]
        error = np.sqrt(sum((a - b) ** 2 for a, b in zip(field, exact)))[mask]
        before = np.sqrt(sum(b ** 2 for b in exact))[mask]
        print(f'peer quality {n}^{axes} tau 50 {levels}x{iterations}: start {before.mean():.4f} TRE mean {error.mean():.5f} '
              f'p95 {np.percentile(error, 95):.4f} {seconds * 1e3:.1f} ms', flush=True)
    for n, axes in ((1024, 2), (128, 3)):
        reference, template, _, _ = pair(n, axes)
        level = Level(*[xp.asarray(image.astype(np.float32)) for image in (reference, template)], 0.1, 50)
        field = [xp.zeros(reference.shape, np.float32) for _ in reference.shape]
        for _ in range(3):
            field = level.step(field)
        wait()
        times = []
        for _ in range(3):
            start = time.time()
            for _ in range(10 if xp is not np else 2):
                field = level.step(field)
            wait()
            times.append((time.time() - start) / (10 if xp is not np else 2))
        print(f'peer time {n}^{axes}: {sorted(times)[1] * 1e6:.0f} us per iteration', flush=True)


main()

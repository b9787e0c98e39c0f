// Types of the package's entries: compiled (npm run lint), never run.
import { openDevice, type Device } from 'warploom/core';
import { parseNpy, type NpyArray } from 'warploom/files';
import { denoise, type Image } from 'warploom/imaging';
import { run, type ItemResult } from 'warploom/jobs';
import { map } from 'warploom/kernel';
import { scan } from 'warploom/scan';
import { optimize } from 'warploom/scratchpad';
import { define } from 'warploom/stencil';
import { elaborate } from 'warploom/stream';
import { heat } from 'warploom/swept';
import { solve } from 'warploom/tridiagonal';
import type { tridiagonal } from 'warploom';

export async function entries(image: Image<Float32Array>, bytes: Uint8Array): Promise<void> {
  using device: Device = await openDevice({ backend: 'cpu' });
  const solved: tridiagonal.SolveResult<Float64Array<ArrayBuffer>> = await solve({ lower: -1, diagonal: 4, upper: -1, rhs: new Float64Array(4), device });
  const array: NpyArray = parseNpy(bytes);
  const items: ItemResult[] = await run({ kind: 'denoise', name: 'a', input: 'a.png', sweep: { weight: [0.1] } });
  // @ts-expect-error no such kind
  await run({ kind: 'guess', name: 'a' });
  // @ts-expect-error a spline has columns
  await run({ kind: 'spline', name: 'a', file: 'a.csv' });
  void [solved, array, items, await denoise(image, {}), scan, optimize, elaborate, heat, map, define];
}

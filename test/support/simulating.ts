// Helpers for tests of simulations.
import { ok } from 'node:assert/strict';
import { WarploomError } from '../../lib/core/errors.ts';
import { skipCases, type BackendName } from './backends.ts';

/** Chooses a size that the backend can compute in milliseconds: the shim runs every thread as a fiber. */
export function pick<T>(backend: BackendName, usual: T, simt: T): T {
  return backend === 'simt' ? simt : usual;
}

/** Neumaier's sum: accurate enough to show what a scheme conserves. */
export function sum(values: ArrayLike<number>, weight: (i: number) => number = () => 1): number {
  let total = 0;
  let lost = 0;
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i]! * weight(i);
    const next = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - next + value : value - next + total;
    total = next;
  }
  return total + lost;
}

export function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i += 1) most = Math.max(most, Math.abs(values[i]!));
  return most;
}

/** The bytes of an array, for comparisons that distinguish -0 from 0 and all other bits. */
export function bits(values: Float32Array | Float64Array): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength);
}

/** Fails unless both arrays have the same bits; says where they first differ. */
export function sameBits(a: Float32Array | Float64Array, b: Float32Array | Float64Array, label: string): void {
  if (Buffer.compare(bits(a), bits(b)) === 0) return;
  const at = a.findIndex((value, i) => !Object.is(value, b[i]));
  ok(false, `${label}: element ${at} is ${a[at]}, not ${b[at]}`);
}

/** Runs a case; if it is rejected as unsupported, counts it as skipped and returns undefined. */
export async function ifSupported<T>(work: () => Promise<T>, label: string): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WarploomError) || error.code !== 'ERR_WARPLOOM_UNSUPPORTED') throw error;
    skipCases(`${label}: ${error.message}`);
    return undefined;
  }
}

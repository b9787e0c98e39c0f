// The pass as callers see it; its implementation is loaded by the first call.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import { optimizeOptions, type OptimizeOptions } from './options.ts';
import type { OptimizeResult } from './report.ts';

/**
 * Lays the `__shared__` arrays of CUDA kernels over each other where they are not needed at the same time: one pool of bytes per
 * kernel, references into it that replace the declarations, and `__syncthreads()` where reuse needs a barrier and none stands. All
 * other text stays as it is, byte for byte. A kernel that cannot be proved safe is left alone and is listed in `report.refused`.
 *
 * After Moazeni, Bui, Sarrafzadeh, "A memory optimization technique for software-managed scratchpad memory in GPUs" (SASP 2009).
 * @param source CUDA C++, at most 1 MiB of characters
 * @throws ArgumentError (ERR_WARPLOOM_INVALID_ARGUMENT) for options and for text that is no CUDA C++
 * @throws `signal.reason` where the call is aborted; the searches give the event loop a turn every few milliseconds
 * @throws WarploomError (ERR_WARPLOOM_INTERNAL) where the rewritten text fails the check that it is put through before it is returned
 */
export async function optimize(source: string, given: OptimizeOptions = {}): Promise<OptimizeResult> {
  if (typeof source !== 'string') throw refusal('source', 'the text of a CUDA C++ file', describeValue(source));
  const options = snapshot(optimizeOptions.read(given));
  const { optimizeSource } = await import('./optimizer.ts');
  return optimizeSource(source, options);
}

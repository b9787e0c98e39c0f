// The public interface of the pass; the first call loads the implementation.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import { optimizeOptions, type OptimizeOptions } from './options.ts';
import type { OptimizeResult } from './report.ts';

/**
 * Overlays the `__shared__` arrays of CUDA kernels if they are not needed at the same time. Each kernel gets one pool of bytes, references
 * into the pool replace the declarations, and `__syncthreads()` is inserted where reuse needs a barrier and there is none. All other source
 * stays the same, byte for byte. A kernel that cannot be proved safe is left unchanged and is listed in `report.refused`.
 *
 * After Moazeni, Bui, Sarrafzadeh, "A memory optimisation technique for software-managed scratchpad memory in GPUs" (SASP 2009).
 * @param source CUDA C++, at most 1 MiB of characters
 * @throws ArgumentError (ERR_WARPLOOM_INVALID_ARGUMENT) for invalid options, and for text that is not CUDA C++
 * @throws `signal.reason` if the call is aborted; the searches let the event loop run every few milliseconds
 * @throws WarploomError (ERR_WARPLOOM_INTERNAL) if the rewritten source fails the check that precedes its return
 */
export async function optimize(source: string, given: OptimizeOptions = {}): Promise<OptimizeResult> {
  if (typeof source !== 'string') throw refusal('source', 'the text of a CUDA C++ file', describeValue(source));
  const options = snapshot(optimizeOptions.read(given));
  const { optimizeSource } = await import('./optimizer.ts');
  return optimizeSource(source, options);
}

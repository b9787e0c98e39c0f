// Shared-memory reuse for compiled kernels: the public interface; the first call loads the implementation.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import { readOptions, type OptimizePtxOptions, type OptimizePtxResult } from './ptx/options.ts';

/** The longest text. */
const mostCharacters = 32 * 2 ** 20;

/**
 * Overlays shared arrays of compiled kernels if they are not needed at the same time: every kernel gets one pool, in which its arrays
 * become offsets, and barriers where reuse needs them, within `barriers`. All other text stays the same, byte for byte. An array whose
 * address cannot be followed keeps its own bytes (`pinned` in the report); no kernel is refused. A separate
 * program checks every rewritten kernel; one that it does not confirm stays as it is, and the report says so.
 * @param text a PTX module, at most 32 MiB of characters, of nvcc, clang, NVRTC or Triton
 * @throws ArgumentError (ERR_WARPLOOM_INVALID_ARGUMENT) for invalid options, and for text that is not PTX
 * @throws `signal.reason` if the call is aborted
 */
export async function optimizePtx(text: string, given: OptimizePtxOptions = {}): Promise<OptimizePtxResult> {
  if (typeof text !== 'string') throw refusal('text', 'a PTX module', describeValue(text));
  if (text.length > mostCharacters) throw refusal('text', `at most ${mostCharacters} characters`, `${text.length}`);
  const options = snapshot(readOptions.read(given));
  const { optimizeModule } = await import('./ptx/optimize.ts');
  return optimizeModule(text, options);
}


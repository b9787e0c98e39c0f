// The public interface of the pass; the first call loads the implementation.
import { describeValue } from '../core/arrays.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { snapshot } from '../core/snapshot.ts';
import { optimizeOptions, type OptimizeOptions, type OptimizeResult } from './options.ts';

/** The longest text. */
const mostCharacters = 32 * 2 ** 20;

/**
 * Overlays the shared arrays of CUDA kernels if they are not needed at the same time: every kernel gets one pool, in which its arrays
 * become offsets, and barriers where reuse needs them, within `barriers`. All other text stays the same, byte for byte. An array whose
 * address cannot be followed keeps its own bytes (`pinned` in the report); no kernel is refused. A separate program checks every rewritten
 * kernel; one that it does not confirm stays as it is, and the report says so. Long texts are treated on a worker thread.
 *
 * After Moazeni, Bui, Sarrafzadeh, "A memory optimisation technique for software-managed scratchpad memory in GPUs" (SASP 2009).
 * @param input a PTX module of nvcc, clang, NVRTC or Triton, or CUDA source, which NVRTC or nvcc compiles; at most 32 MiB of characters
 * @throws ArgumentError (ERR_WARPLOOM_INVALID_ARGUMENT) for invalid options, and for text that is neither PTX nor CUDA source
 * @throws ModuleError (ERR_WARPLOOM_INVALID_PROGRAM) with the compiler's messages if the source does not compile
 * @throws UnavailableError (ERR_WARPLOOM_UNAVAILABLE) if a compiler is needed and none is found
 * @throws `signal.reason` if the call is aborted
 */
export async function optimize(input: string, given: OptimizeOptions = {}): Promise<OptimizeResult> {
  if (typeof input !== 'string') throw refusal('input', 'a PTX module or CUDA source', describeValue(input));
  if (input.length > mostCharacters) throw refusal('input', `at most ${mostCharacters} characters`, `${input.length}`);
  const options = snapshot(optimizeOptions.read(given));
  const isPtx = /^\s*\.version\s+\d/m.test(input);
  if (!isPtx && !/__global__|^\s*#\s*include\b/m.test(input)) {
    throw refusal('input', 'PTX, with .version and .target, or CUDA source with a kernel', `a text of ${input.length} characters`);
  }
  if (isPtx && (options.compilerOptions ?? []).length > 0) {
    throw refusal('compilerOptions', 'CUDA source, which is compiled', 'PTX, which is not');
  }
  options.signal?.throwIfAborted();
  const { optimizeAnywhere } = await import('./apart.ts');
  if (isPtx && !options.cubin) return briefly('Optimized', await optimizeAnywhere(input, options));
  const { assemble, compile } = await import('./toolkit.ts');
  const result = await optimizeAnywhere(isPtx ? input : await compile(input, options), options);
  return briefly('Optimized', options.cubin ? { ...result, cubin: await assemble(result.ptx, options) } : result);
}

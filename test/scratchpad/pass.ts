// Small kernels for the tests of the pass.
import { ok, strictEqual } from 'node:assert/strict';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import type { OptimizeResult } from '../../lib/scratchpad/report.ts';
import type { OptimizeOptions } from '../../lib/scratchpad/options.ts';
import type { KernelReport, RefusedKernel } from '../../lib/scratchpad/report.ts';

/** A kernel `k` with a body, which begins on the second line of the text after `before`. */
export function kernelText(body: string, before = ''): string {
  return `${before}__global__ void k(const float* __restrict__ in, float* __restrict__ out, int n) {\n${body}\n}\n`;
}

/** Puts one kernel through the pass; fails if it is refused. */
export async function pass(body: string, options: OptimizeOptions = {}, before = ''): Promise<OptimizeResult & { kernel: KernelReport }> {
  const result = await optimize(kernelText(body, before), options);
  const refused = result.report.refused[0];
  strictEqual(refused, undefined, refused === undefined ? '' : `line ${refused.line}: ${refused.code}, ${refused.reason}`);
  return { ...result, kernel: result.report.kernels.find((each) => each.kernel === 'k')! };
}

/** Puts one kernel through the pass; fails unless it is refused. */
export async function refusal(body: string, before = '', options: OptimizeOptions = {}): Promise<RefusedKernel> {
  const source = kernelText(body, before);
  const result = await optimize(source, options);
  const refused = result.report.refused.find((each) => each.kernel === 'k');
  ok(refused !== undefined, `accepted:\n${result.source}`);
  strictEqual(result.source, source);
  return refused;
}

/** Declarations of two arrays of 64 floats, `t` and nothing else. */
export const head = '  __shared__ float a[64], b[64];\n  const int t = threadIdx.x;\n';

/** Lines at which live ranges begin and end, by array. */
export function liveLines(kernel: KernelReport): Record<string, string> {
  return Object.fromEntries(kernel.arrays.map(({ name, live }) => [name, live.map(({ beginLine, endLine }) => `${beginLine}-${endLine}`).join(' ')]));
}

// Device code for tests of modules, a folder for what it is compiled to, and whether something here compiles it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onPath } from '../../lib/core/compile/compiler.ts';
import { cudaToolchain } from '../../lib/core/compile/cuda.ts';
import { skipCases, type BackendName } from './backends.ts';

/** Whether this machine has a C++ compiler. */
export const hasHostCompiler = onPath(['g++', 'clang++', 'c++']) !== undefined;

/** Whether modules can be compiled for a backend here; `cases` are counted as skipped if not. */
export async function canCompile(backend: BackendName, cases: number): Promise<boolean> {
  const can = backend === 'cuda' ? await cudaToolchain(75, { fast: false, maxRegisters: undefined }).then(() => true, () => false) : hasHostCompiler;
  if (!can) skipCases(`${backend}: no compiler of modules here`, cases);
  return can;
}

/** Text of a module with one kernel per entry: the agent's parameters and body. `threads`: most of a block. */
export function moduleText(kernels: Readonly<Record<string, { readonly parameters: string; readonly body: string; readonly threads?: number }>>): string {
  const agents = Object.entries(kernels).map(([name, { parameters, body, threads = 256 }]) => `
struct ${name}_agent {
  struct Parameters { ${parameters} };
  static constexpr int kMaxThreads = ${threads}, kMinBlocks = 1;
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t i = block.index() * block.threads() + block.thread();
    ${body}
  }
};
WARPLOOM_KERNEL(${name}, ${name}_agent)
`);
  return `#include "cuda/core/module.cuh"\n${agents.join('')}`;
}

/** A kernel that multiplies and adds: the order of launches shows in the numbers. */
export const affine = {
  parameters: 'float* data; float factor; float term; int64_t n;',
  body: 'if (i < p.n) p.data[i] = p.data[i] * p.factor + p.term;',
} as const;

/** A kernel that needs more than a hundred registers, or spills. */
export const hungry = {
  threads: 96,
  parameters: 'float* to; const float* from;',
  body: `(void)i;
    float a[64];
    WARPLOOM_UNROLL
    for (int k = 0; k < 64; ++k) a[k] = p.from[k * block.threads() + block.thread()];
    block.sync();
    WARPLOOM_UNROLL
    for (int r = 0; r < 8; ++r) {
      WARPLOOM_UNROLL
      for (int k = 0; k < 64; ++k) a[k] = a[k] * a[(k * 7 + r) & 63] + a[(k + 11) & 63];
    }
    WARPLOOM_UNROLL
    for (int k = 0; k < 64; ++k) p.to[k * block.threads() + block.thread()] = a[k];`,
} as const;

/** A cache folder of the test's own, removed after it. Call inside `describe`. */
export function ownCache(): { readonly folder: () => string } {
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'warploom-modules-')); });
  after(() => { rmSync(folder, { recursive: true, force: true }); });
  return { folder: () => folder };
}

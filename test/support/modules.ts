// Device code for tests of modules, and a folder for what it is compiled to.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

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

/** A cache folder of the test's own, removed after it. Call inside `describe`. */
export function ownCache(): { readonly folder: () => string } {
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'warploom-modules-')); });
  after(() => { rmSync(folder, { recursive: true, force: true }); });
  return { folder: () => folder };
}

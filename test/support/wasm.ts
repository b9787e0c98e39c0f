// The WebAssembly backend for tests: prebuilds/wasm32, which npm ci unpacks from the repository or npm run build:wasm makes.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../lib/core/binding.ts';

const { stateOfWasm } = await import(pathToFileURL(join(packageRoot(), 'scripts/kept-wasm.mjs')).href) as {
  stateOfWasm(): 'current' | 'older' | 'missing';
};

const reasons = {
  current: undefined,
  older: 'the WebAssembly module is older than its sources: npm run build:wasm -- --keep',
  missing: 'no WebAssembly module: npm run build:wasm',
} as const;

/** Why nothing can be said of the WebAssembly backend here; undefined if it is there and made from the present sources. */
export const noWasm: string | undefined = reasons[stateOfWasm()];

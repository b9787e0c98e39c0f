// Copies tree-sitter's CUDA grammar, which lib/scratchpad reads at run time, beside the compiled code: its own package brings a native
// addon that nobody here needs.
import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './list-sources.mjs';

/** Copies the grammar and its licence to a folder. */
export function copyGrammar(folder) {
  const from = dirname(createRequire(import.meta.url).resolve('tree-sitter-cuda/package.json'));
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(from, 'tree-sitter-cuda.wasm'), join(folder, 'tree-sitter-cuda.wasm'));
  copyFileSync(join(from, 'LICENSE'), join(folder, 'tree-sitter-cuda.LICENSE'));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyGrammar(join(root, 'dist/scratchpad'));

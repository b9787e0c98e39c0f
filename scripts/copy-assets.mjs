// Copies files that the compiled code reads at run time: tree-sitter's CUDA grammar for lib/scratchpad (its own package includes a native
// addon that is not needed here), the header of printed programs for lib/kernel, and the C++ runtimes of stream programs and equations.
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './list-sources.mjs';

function copyGrammar(folder) {
  const from = dirname(createRequire(import.meta.url).resolve('tree-sitter-cuda/package.json'));
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(from, 'tree-sitter-cuda.wasm'), join(folder, 'tree-sitter-cuda.wasm'));
  copyFileSync(join(from, 'LICENSE'), join(folder, 'tree-sitter-cuda.LICENSE'));
}

/** Copies all of them to a folder of compiled code. */
export function copyAssets(folder) {
  copyGrammar(join(folder, 'scratchpad'));
  mkdirSync(join(folder, 'kernel/print'), { recursive: true });
  copyFileSync(join(root, 'lib/kernel/print/arithmetic.h'), join(folder, 'kernel/print/arithmetic.h'));
  cpSync(join(root, 'lib/stream/targets/runtime'), join(folder, 'stream/targets/runtime'), { recursive: true });
  cpSync(join(root, 'lib/stencil/runtime'), join(folder, 'stencil/runtime'), { recursive: true });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyAssets(join(root, 'dist'));

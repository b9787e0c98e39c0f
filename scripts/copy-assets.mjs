// Copies files that the compiled code reads at run time: the header of printed programs for lib/kernel, the C++ runtimes of stream programs
// and equations, and the page of the studio.
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './list-sources.mjs';

/** Copies all of them to a folder of compiled code. */
export function copyAssets(folder) {
  mkdirSync(join(folder, 'kernel/print'), { recursive: true });
  copyFileSync(join(root, 'lib/kernel/print/arithmetic.h'), join(folder, 'kernel/print/arithmetic.h'));
  cpSync(join(root, 'lib/stream/targets/runtime'), join(folder, 'stream/targets/runtime'), { recursive: true });
  cpSync(join(root, 'lib/stencil/runtime'), join(folder, 'stencil/runtime'), { recursive: true });
  cpSync(join(root, 'lib/server/studio/page'), join(folder, 'server/studio/page'), {
    recursive: true, filter: (path) => basename(path) !== 'vendor', // declarations of packages, for the check of types
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) copyAssets(join(root, 'dist'));

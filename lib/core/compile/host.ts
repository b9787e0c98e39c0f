// Modules on the simt backend: the host compiler creates a shared object that runs on the addon's shim (native/simt/module.h).
import { join } from 'node:path';
import { processor } from './cache.ts';
import { findCompiler, identityOf } from './compiler.ts';
import { headersHash, runCompiler, textName, writeTexts, type Toolchain } from './toolchain.ts';
import { packageRoot } from '../binding.ts';
import type { ReadModuleOptions } from '../module-options.ts';

/** The options with which CMakeLists.txt compiles kernels for the shim. */
function hostArguments(fast: boolean): string[] {
  const fused = / fma /.test(processor()) ? ['-mfma'] : [];
  return ['-std=c++17', '-O1', '-fPIC', '-shared', '-w', '-DWARPLOOM_SIMT=1', '-fvisibility=hidden', '-fno-math-errno',
    '-fno-tree-vectorize', ...fused, `-ffp-contract=${fast ? 'fast' : 'off'}`, '-Wl,-z,defs'];
}

/** g++ or clang++. Throws NoCompilerError. */
export async function hostToolchain({ fast }: ReadModuleOptions): Promise<Toolchain> {
  const compiler = findCompiler();
  const args = hostArguments(fast);
  const root = packageRoot();
  return {
    identity: JSON.stringify(['simt', await identityOf(compiler, args), await headersHash()]),
    async compile(work, to, options) {
      await writeTexts(work, options);
      const files = [`-I${join(root, 'native')}`, `-I${root}`, '-I.', '-o', to, '-x', 'c++', textName];
      await runCompiler(compiler, [...args, ...files], work, options, { name: compiler });
    },
  };
}

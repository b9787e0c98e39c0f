// Programs of the CUDA toolkit: nvcc compiles CUDA source to PTX, and PTX to machine code.
import { join } from 'node:path';
import { kept, runChild } from '../core/compile/child.ts';
import { searchPaths } from '../core/compile/compiler.ts';
import { findNvcc } from '../core/compile/cuda.ts';
import { ModuleError, UnavailableError, WarploomError } from '../core/errors.ts';
import { inTemporaryFolder, readBytes, readText, writeFileAtomic } from '../core/files.ts';
import type { TakenOptimizeOptions } from './options.ts';

/** Milliseconds that a compilation may take. */
const longest = 600_000;

type Wanted = Pick<TakenOptimizeOptions, 'arch' | 'compilerOptions' | 'signal'>;

async function run(folder: string, args: readonly string[], { signal }: Wanted): Promise<void> {
  const nvcc = findNvcc();
  if (nvcc === undefined) {
    throw new UnavailableError('nvcc is neither in CUDACXX, CUDA_HOME or CUDA_PATH nor on PATH: install the CUDA toolkit, or pass PTX');
  }
  const done = await runChild(nvcc, args, {
    cwd: process.cwd(), timeout: longest, env: { ...kept(searchPaths), ...kept(['PATH', 'HOME']), TMPDIR: folder },
    ...(signal === undefined ? {} : { signal }),
  });
  if (done.code === 0) return;
  const log = done.stderr.trim();
  if (done.code === undefined || log === '') throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `nvcc ${done.reason}: ${log}`);
  throw new ModuleError(`the source does not compile: ${log.slice(0, 2000)}`, { compiler: nvcc, log });
}

/** Compiles CUDA source to PTX with line information. */
export async function compile(source: string, options: Wanted): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    const [from, to] = [join(folder, 'kernel.cu'), join(folder, 'kernel.ptx')];
    await writeFileAtomic(from, source);
    const { arch, compilerOptions = [] } = options;
    const isGiven = compilerOptions.some((each) => /^(?:-arch|--gpu-architecture|-gencode|--generate-code)\b/.test(each));
    const own = isGiven || arch === undefined ? [] : [`-arch=${arch}`];
    await run(folder, ['-ptx', '-lineinfo', ...own, ...compilerOptions, from, '-o', to], options);
    return readText(to);
  });
}

/** Assembles PTX for its own `.target`. */
export async function assemble(ptx: string, options: Wanted): Promise<Uint8Array> {
  return inTemporaryFolder(async (folder) => {
    const [from, to] = [join(folder, 'kernel.ptx'), join(folder, 'kernel.cubin')];
    await writeFileAtomic(from, ptx);
    await run(folder, ['-cubin', `-arch=${/\.target\s+(sm_\w+)/.exec(ptx)?.[1] ?? 'sm_90'}`, from, '-o', to], options);
    return new Uint8Array(await readBytes(to));
  });
}

// Compilers: NVRTC or nvcc for CUDA source, and ptxas, by way of nvcc, for PTX.
import { join } from 'node:path';
import { kept, runChild } from '../core/compile/child.ts';
import { searchPaths } from '../core/compile/compiler.ts';
import { findNvcc, nvrtcCommand, ptxByNvrtc } from '../core/compile/cuda.ts';
import { ModuleError, UnavailableError, WarploomError } from '../core/errors.ts';
import { inTemporaryFolder, readBytes, readText, writeFileAtomic } from '../core/files.ts';
import type { TakenOptimizeOptions } from './options.ts';

/** The architecture if none is named: the oldest of CUDA 13. */
const usual = 'sm_75';
/** Milliseconds that a compilation may take. */
const longest = 600_000;

type Wanted = Pick<TakenOptimizeOptions, 'arch' | 'compilerOptions' | 'signal'>;

async function run(folder: string, args: readonly string[], { signal }: Wanted): Promise<void> {
  const nvcc = findNvcc();
  if (nvcc === undefined) {
    throw new UnavailableError('nvcc is neither in CUDACXX, CUDA_HOME or CUDA_PATH nor on PATH: install the CUDA toolkit, or pass PTX; '
      + `for CUDA source without host code, ${nvrtcCommand} is enough`);
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

/** The architecture that options of nvcc name, and the other options; undefined if NVRTC has no such option. */
function architectureIn(options: readonly string[], usual: string): { architecture: string; others: readonly string[] } | undefined {
  const text = options.join('\0').replace(/(^|\0)(?:-arch|--gpu-architecture)[=\0]/g, '$1-arch=');
  const named = /(?:^|\0)-arch=([^\0]*)/.exec(text)?.[1] ?? usual;
  const architecture = /^(?:sm|compute)_(\d+[af]?)$/.exec(named)?.[1];
  if (architecture === undefined || /(?:^|\0)(?:-gencode|--generate-code)\b/.test(text)) return undefined;
  return { architecture, others: text.split('\0').filter((each) => each !== '' && !each.startsWith('-arch=')) };
}

/** The PTX that NVRTC makes of a file; undefined if there is none, or if the file is one for nvcc, as with host code. */
async function compileByNvrtc(folder: string, from: string,
  { arch = usual, compilerOptions = [], signal }: Wanted): Promise<string | undefined> {
  const options = architectureIn(compilerOptions, arch);
  if (options === undefined) return undefined;
  const to = join(folder, 'nvrtc.ptx');
  const hasOther = findNvcc() !== undefined;
  try {
    const args = ['-lineinfo', ...options.others];
    if (await ptxByNvrtc(from, to, options.architecture, args, process.cwd(), { timeout: longest, signal }) !== undefined) return undefined;
  } catch (error) {
    if (hasOther && error instanceof ModuleError) return undefined;
    throw error;
  }
  const text = await readText(to);
  return hasOther && !/\.entry\b/.test(text) ? undefined : text;
}

/** Compiles CUDA source to PTX with line information. */
export async function compile(source: string, options: Wanted): Promise<string> {
  return inTemporaryFolder(async (folder) => {
    const [from, to] = [join(folder, 'kernel.cu'), join(folder, 'kernel.ptx')];
    await writeFileAtomic(from, source);
    const made = await compileByNvrtc(folder, from, options);
    if (made !== undefined) return made;
    const { arch = usual, compilerOptions = [] } = options;
    const isGiven = compilerOptions.some((each) => /^(?:-arch|--gpu-architecture|-gencode|--generate-code)\b/.test(each));
    await run(folder, ['-ptx', '-lineinfo', ...(isGiven ? [] : [`-arch=${arch}`]), ...compilerOptions, from, '-o', to], options);
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

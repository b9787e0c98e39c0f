// Modules on the cuda backend: machine code for the device's own architecture, compiled by NVRTC or, if there is none, by nvcc. Both run
// in child processes, because long texts take seconds and gigabytes, and because a child can be stopped.
import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { findCompiler, versionOf, onPath, isExecutable } from './compiler.ts';
import { nodeProgram, nvrtcCandidates } from './nvrtc-places.ts';
import { headersHash, runCompiler, textName, writeTexts, type Toolchain } from './toolchain.ts';
import { addon, loaderOfAddon, missingReason, packageRoot } from '../binding.ts';
import { UnavailableError } from '../errors.ts';
import { required } from '../known.ts';
import type { ReadModuleOptions } from '../module-options.ts';

/** Compilers of device code. */
export type CudaCompiler = 'nvrtc' | 'nvcc';

type Wanted = Pick<ReadModuleOptions, 'fast' | 'maxRegisters'>;

/** Arguments for both compilers. */
function commonArguments(computeCapability: number, { fast, maxRegisters }: Wanted): string[] {
  return ['-std=c++17', `-arch=sm_${computeCapability}`, `-fmad=${fast}`, `-prec-div=${!fast}`, `-prec-sqrt=${!fast}`, `-ftz=${fast}`,
    ...(maxRegisters === undefined ? [] : [`-maxrregcount=${maxRegisters}`, '-DWARPLOOM_MAX_REGISTERS=1']),
    // For a sanitizer that does not see bulk copies.
    ...(process.env['WARPLOOM_THREAD_STORES'] === '1' ? ['-DWARPLOOM_THREAD_STORES=1'] : [])];
}

/** An NVRTC that was found. */
interface Nvrtc {
  readonly path: string;
  /** Path, version, size and time of the file. */
  readonly identity: string;
  readonly major: number;
  readonly architectures: readonly number[];
}

/** The first major version that optimises in several threads, for certain. */
const leastSplit = 13;

const known = new Map<string, Nvrtc | string>();

/** Loads the library with that path or name; a string says why it cannot be used. */
async function openNvrtc(path: string): Promise<Nvrtc | string> {
  let found = known.get(path);
  if (found === undefined) {
    const missing = missingReason();
    if (missing !== undefined) return missing;
    const opened = addon().findNvrtc(path);
    if (typeof opened === 'string') return opened;
    const { size, mtimeMs } = await stat(opened.path);
    const identity = JSON.stringify([opened.path, opened.version, size, mtimeMs]);
    found = { path: opened.path, identity, major: Number.parseInt(opened.version, 10), architectures: opened.architectures };
    known.set(path, found);
  }
  return found;
}

/** The child's script: loads the addon, opens no device, and calls the compiler. */
const childText = `const [finder, folder, job] = process.argv.slice(1);
const { library, source, output, options } = JSON.parse(job);
const { error, log } = require(finder)(folder).compileNvrtc(library, source, output, options);
process.exitCode = error === '' ? 0 : 1;
process.stderr.write(log === '' ? error : log);`;

/** What was found, by what the search depends on: it reads many folders. */
const located = new Map<string, Nvrtc>();

function searchKey(computeCapability: number): string {
  const { WARPLOOM_NVRTC, CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX, HOME, PATH, LD_LIBRARY_PATH } = process.env;
  return JSON.stringify([computeCapability, WARPLOOM_NVRTC, CUDA_HOME, CUDA_PATH, VIRTUAL_ENV, CONDA_PREFIX, HOME, PATH, LD_LIBRARY_PATH]);
}

type Limits = Pick<ReadModuleOptions, 'timeout' | 'signal'>;

/** NVRTC for a compute capability; a string says why there is none. */
async function findNvrtc(computeCapability: number): Promise<Nvrtc | string> {
  if (nodeProgram() === undefined) return 'it runs in a process of Node, and node is not on PATH';
  const key = searchKey(computeCapability), before = located.get(key);
  if (before !== undefined) return before;
  const reasons: string[] = [];
  for (const candidate of await nvrtcCandidates()) {
    const nvrtc = await openNvrtc(candidate);
    if (typeof nvrtc === 'string') reasons.push(nvrtc);
    else if (!nvrtc.architectures.includes(computeCapability)) reasons.push(`${nvrtc.path} has no code for sm_${computeCapability}`);
    else {
      located.set(key, nvrtc);
      return nvrtc;
    }
  }
  return reasons.at(-1) ?? 'it was not found';
}

async function runNvrtc(nvrtc: Nvrtc, files: { readonly source: string; readonly output: string }, options: readonly string[],
  folder: string, limits: Limits): Promise<void> {
  const job = JSON.stringify({ library: nvrtc.path, ...files, options });
  await runCompiler(nodeProgram() ?? '', ['-e', childText, ...loaderOfAddon(), job], folder, limits, {
    name: `NVRTC (${nvrtc.path})`, env: { ELECTRON_RUN_AS_NODE: '1' },
  });
}

/**
 * Compiles a file of device code to PTX by NVRTC, in the folder from which relative paths start. Returns why there is no NVRTC for the
 * architecture (`90`, `90a`), or undefined when it is done.
 * @throws ModuleError if it does not compile
 */
export async function ptxByNvrtc(source: string, output: string, architecture: string, args: readonly string[], folder: string,
  limits: Limits): Promise<string | undefined> {
  const nvrtc = wantedCompilers().includes('nvrtc') ? await findNvrtc(Number.parseInt(architecture, 10)) : 'WARPLOOM_MODULE_COMPILER';
  if (typeof nvrtc === 'string') return nvrtc;
  const { CUDA_HOME, CUDA_PATH } = process.env;
  const headers = [CUDA_HOME, CUDA_PATH, '/usr/local/cuda'].filter((home) => home !== undefined && home !== '')
    .map((home) => `-I${join(required(home), 'include')}`);
  await runNvrtc(nvrtc, { source, output }, [`-arch=compute_${architecture}`, ...args, ...headers], folder, limits);
  return undefined;
}

/** NVRTC for a device; a string says why there is none. */
async function nvrtcToolchain(computeCapability: number, wanted: Wanted): Promise<Toolchain | string> {
  const nvrtc = await findNvrtc(computeCapability);
  if (typeof nvrtc === 'string') return nvrtc;
  // Stages of an equation are kernels of one text, whose optimisation takes most of the time.
  const inThreads = nvrtc.major < leastSplit ? [] : ['--split-compile=4'];
  const args = [...commonArguments(computeCapability, wanted), '-default-device', '-device-int128', ...inThreads];
  const root = packageRoot();
  return {
    identity: JSON.stringify(['nvrtc', nvrtc.identity, args, await headersHash()]),
    async compile(work, to, options) {
      await writeTexts(work, options);
      // NVRTC has no standard library: cuda/core/rtc replaces the headers that device text includes.
      const all = [...args, `-I${join(root, 'cuda/core/rtc')}`, `-I${root}`, '-I.'];
      await runNvrtc(nvrtc, { source: textName, output: to }, all, work, options);
    },
  };
}

/** The path of nvcc; undefined if it is not found. */
export function findNvcc(): string | undefined {
  const { CUDACXX, CUDA_HOME, CUDA_PATH } = process.env;
  const homes = [CUDA_HOME, CUDA_PATH, '/usr/local/cuda'];
  const places = [CUDACXX, ...homes.map((home) => (home === undefined || home === '' ? undefined : join(home, 'bin/nvcc')))];
  return places.find((path): path is string => path !== undefined && isAbsolute(path) && isExecutable(path)) ?? onPath(['nvcc']);
}

/** nvcc for a device; a string says why there is none. */
async function nvccToolchain(computeCapability: number, wanted: Wanted): Promise<Toolchain | string> {
  const nvcc = findNvcc();
  if (nvcc === undefined) return 'it is neither in CUDA_HOME nor on PATH';
  const args = [...commonArguments(computeCapability, wanted), '-cubin', '-diag-suppress=2810'];
  const version = await versionOf(nvcc).catch((error: unknown) => `${nvcc} does not run: ${String(error)}`);
  if (version.startsWith(`${nvcc} does not run`)) return version;
  const root = packageRoot();
  return {
    identity: JSON.stringify(['nvcc', nvcc, version, args, await headersHash()]),
    async compile(work, to, options) {
      await writeTexts(work, options);
      await runCompiler(nvcc, [...args, `-I${root}`, '-I.', '-o', to, textName], work, options, { name: nvcc });
    },
  };
}

/** What compiles device code on GPUs here: for people. */
export interface InstalledCompiler {
  readonly compiler: CudaCompiler | 'c++';
  readonly available: boolean;
  /** The program or library, and its version in its own words; empty if there is none. */
  readonly path: string;
  readonly version: string;
  /** What it is for, or why it cannot be used. */
  readonly reason: string;
}

/** The one command that brings a compiler of device code. */
export const nvrtcCommand = 'pip install nvidia-cuda-nvrtc';

async function installedNvrtc(): Promise<InstalledCompiler> {
  const absent = { compiler: 'nvrtc', available: false, path: '', version: '' } as const;
  const reasons: string[] = [];
  for (const candidate of await nvrtcCandidates()) {
    const nvrtc = await openNvrtc(candidate);
    if (typeof nvrtc === 'string') {
      reasons.push(nvrtc);
      continue;
    }
    const { path, identity, architectures } = nvrtc;
    const [, version] = JSON.parse(identity) as [string, string];
    const [least, most] = [Math.min(...architectures), Math.max(...architectures)];
    return { compiler: 'nvrtc', available: true, path, version, reason: `compiles device code for sm_${least} to sm_${most}` };
  }
  return { ...absent, reason: `not found; ${nvrtcCommand} installs it` };
}

async function installedNvcc(): Promise<InstalledCompiler> {
  const path = findNvcc();
  if (path === undefined) {
    return { compiler: 'nvcc', available: false, path: '', version: '', reason: 'not found; not needed where there is NVRTC' };
  }
  try {
    const text = await versionOf(path);
    const version = /release ([\d.]+)/.exec(text)?.[1] ?? '';
    return { compiler: 'nvcc', available: true, path, version, reason: 'compiles device code where there is no NVRTC' };
  } catch (error) {
    return { compiler: 'nvcc', available: false, path, version: '', reason: `does not run: ${firstLine(error)}` };
  }
}

const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';

async function installedCpp(): Promise<InstalledCompiler> {
  try {
    const path = findCompiler();
    const [version = ''] = (await versionOf(path)).split('\n');
    return { compiler: 'c++', available: true, path, version, reason: 'compiles stream programs for the CPU, and modules of simt' };
  } catch (error) {
    return { compiler: 'c++', available: false, path: '', version: '', reason: firstLine(error) };
  }
}

/** The compilers of this machine that the library can use. */
export async function installedCompilers(): Promise<readonly InstalledCompiler[]> {
  return Promise.all([installedNvrtc(), installedNvcc(), installedCpp()]);
}

/** The compilers to try, in order. WARPLOOM_MODULE_COMPILER selects one. */
function wantedCompilers(): readonly CudaCompiler[] {
  const asked = process.env['WARPLOOM_MODULE_COMPILER'] ?? '';
  if (asked === '') return ['nvrtc', 'nvcc'];
  if (asked === 'nvrtc' || asked === 'nvcc') return [asked];
  throw new UnavailableError(`WARPLOOM_MODULE_COMPILER is '${asked}': want nvrtc or nvcc`);
}

/**
 * The compiler for devices of a compute capability (90: sm_90).
 * @throws UnavailableError if there is none, saying where it was looked for and what would help
 */
export async function cudaToolchain(computeCapability: number, wanted: Wanted): Promise<Toolchain> {
  const reasons: string[] = [];
  for (const compiler of wantedCompilers()) {
    const found = await (compiler === 'nvrtc' ? nvrtcToolchain : nvccToolchain)(computeCapability, wanted);
    if (typeof found !== 'string') return found;
    reasons.push(`${compiler}: ${found}`);
  }
  throw new UnavailableError(`no compiler of device code: ${reasons.join('; ')}. Run ${nvrtcCommand} to install NVRTC (or install the `
    + 'CUDA toolkit, or set WARPLOOM_NVRTC to the path of libnvrtc.so); warploom info shows what is found');
}

// Compilers and the runner of the proof: g++ with ThreadSanitizer for the shim, nvcc for shared-memory bytes.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../../lib/core/binding.ts';
import { deviceBatch, hostBatch, type Pair } from './batch.ts';

const run = promisify(execFile);
const root = packageRoot();
const flags = ['-std=c++17', '-ffp-contract=off', '-fno-math-errno', '-Wno-unknown-pragmas', '-DWARPLOOM_SIMT=1', '-I.', '-Inative'];
const compiler = process.env['CXX'] ?? 'g++';
const race = ['-fsanitize=thread', '-DWARPLOOM_SANITIZE_THREAD=1'];

/** A program on the path or in the usual folder of the CUDA toolkit. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/cuda/bin'];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Whether the shim can be built here under ThreadSanitizer. */
export function canProve(): boolean {
  return process.platform === 'linux' && findProgram(compiler) !== undefined;
}

/** What the runner says of one launch. */
export interface Verdict {
  readonly name: string;
  /** What was wrong with the kernel as written: empty, or it is no kernel for this proof. */
  readonly original: string;
  /** What was wrong with the rewritten one. */
  readonly rewritten: string;
  /** Whether both left the same bytes in every order. */
  readonly equal: boolean;
  /** Barriers that the pass inserted, taken away one by one. */
  readonly mutants: readonly { readonly line: number; readonly caught: boolean }[];
}

/** A folder with the runner; batches are compiled into it. */
export class Bench {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Compiles the shim and the runner under ThreadSanitizer: some 6 s. */
  static async open(): Promise<Bench> {
    const folder = await mkdtemp(join(tmpdir(), 'warploom-proof-'));
    const sources = ['native/simt/context.cpp', 'native/simt/fibers.cpp', 'native/simt/launch.cpp', 'test/scratchpad/proof/runner.cpp'];
    const objects = sources.map((_, i) => join(folder, `part${i}.o`));
    await Promise.all(sources.map((source, i) => run(compiler, [...flags, '-O1', ...race, '-c', source, '-o', objects[i]!], { cwd: root })));
    await run(compiler, [...race, ...objects, '-rdynamic', '-ldl', '-o', join(folder, 'runner')], { cwd: root });
    return new Bench(folder);
  }

  async close(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Compiles pairs as shared libraries, some at a time, and runs every launch in every order. */
  async prove(pairs: readonly Pair[], { orders, mutants, batches = 2 }: { orders: readonly string[]; mutants: boolean; batches?: number }): Promise<Verdict[]> {
    const groups = Array.from({ length: batches }, (_, b) => pairs.filter((_pair, i) => i % batches === b)).filter((group) => group.length > 0);
    const found = await Promise.all(groups.map(async (group, b) => {
      const source = join(this.folder, `batch${b}.cpp`);
      const library = join(this.folder, `batch${b}.so`);
      await writeFile(source, hostBatch(group).text);
      await run(compiler, [...flags, '-O0', '-w', ...race, '-fPIC', '-shared', '-nostartfiles', '-fvisibility=hidden', '-fno-gnu-unique',
        source, '-o', library], { cwd: root, maxBuffer: 1 << 28 });
      return await this.#runBatch(library, orders, mutants);
    }));
    return found.flat();
  }

  async #runBatch(library: string, orders: readonly string[], mutants: boolean): Promise<Verdict[]> {
    const program = join(this.folder, 'runner');
    const args = ['--orders', orders.join(), ...(mutants ? ['--mutants'] : []), library];
    // ThreadSanitizer needs its shadow addresses: without randomisation they are free on every kernel.
    const setarch = findProgram('setarch');
    const [command, all] = setarch === undefined ? [program, args] : [setarch, [process.arch === 'x64' ? 'x86_64' : process.arch, '-R', program, ...args]];
    const options = 'halt_on_error=0:exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0:symbolize=0:log_path=/dev/null'
      + ':history_size=4:report_signal_unsafe=0';
    const { stdout } = await run(command, all, { maxBuffer: 1 << 28, env: { ...process.env, TSAN_OPTIONS: options } });
    return stdout.trim().split('\n').filter((line) => line !== '').map((line) => JSON.parse(line) as Verdict);
  }
}

/** What ptxas says of one kernel. */
export interface PtxasRow {
  /** Whether the kernel is the rewritten one, the number of its pair, its mangled name. */
  readonly rewritten: boolean;
  readonly pair: number;
  readonly symbol: string;
  readonly sharedBytes: number;
  readonly registers: number;
}

/** Compiles all pairs for sm_90 in `files` calls of nvcc and reads shared memory and registers back. */
export async function ptxas(pairs: readonly Pair[], files = 2): Promise<PtxasRow[]> {
  const nvcc = findProgram('nvcc');
  if (nvcc === undefined) throw new Error('no nvcc');
  const folder = join(await mkdtemp(join(tmpdir(), 'warploom-ptxas-')));
  await mkdir(folder, { recursive: true });
  try {
    const size = Math.ceil(pairs.length / files);
    const groups = Array.from({ length: files }, (_, g) => pairs.slice(g * size, (g + 1) * size)).filter((group) => group.length > 0);
    const rows = await Promise.all(groups.map(async (group, g) => {
      const source = join(folder, `kernels${g}.cu`);
      await writeFile(source, deviceBatch(group));
      const { stderr, stdout } = await run(nvcc, ['-std=c++17', '-arch=sm_90', '-fmad=false', '-w', '-Xptxas', '-v', '-cubin',
        '-o', join(folder, `kernels${g}.cubin`), source], { maxBuffer: 1 << 28 });
      return parsePtxas(stderr + stdout).map((row) => ({ ...row, pair: row.pair + g * size }));
    }));
    return rows.flat();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Rows of the compiler's report. */
export function parsePtxas(text: string): PtxasRow[] {
  const rows: PtxasRow[] = [];
  let symbol = '';
  for (const line of text.split('\n')) {
    symbol = /Compiling entry function '([^']+)'/.exec(line)?.[1] ?? symbol;
    const used = /Used (\d+) registers/.exec(line);
    if (used === null) continue;
    const space = /^_ZN\d+([or])(\d+)_/.exec(symbol);
    if (space === null) throw new Error(`kernel outside its namespace: ${symbol}`);
    rows.push({
      rewritten: space[1] === 'r', pair: Number(space[2]), symbol, registers: Number(used[1]), sharedBytes: Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0),
    });
  }
  return rows;
}

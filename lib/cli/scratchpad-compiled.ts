// warploom scratchpad for compiled kernels: PTX, CUDA files by way of nvcc, and a launcher that stands in front of nvcc in a build.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { inTemporaryFolder, readText, writeFileAtomic } from '../core/files.ts';
import { optimizePtx } from '../scratchpad/optimize-ptx.ts';
import type { OptimizePtxOptions, OptimizePtxResult } from '../scratchpad/ptx/options.ts';
import { UsageError, type CommandContext } from './command.ts';

interface Finished {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a program to its end. */
async function finish(program: string, argv: readonly string[], env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Finished> {
  const child = spawn(program, argv, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
  const parts = { out: [] as Buffer[], err: [] as Buffer[] };
  child.stdout.on('data', (data: Buffer) => { parts.out.push(data); });
  child.stderr.on('data', (data: Buffer) => { parts.err.push(data); });
  const code = await new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => { resolve(status ?? 1); });
  });
  return { code, out: Buffer.concat(parts.out).toString(), err: Buffer.concat(parts.err).toString() };
}

const nvcc = (): string => process.env['CUDACXX'] ?? 'nvcc';

/** Runs a program of the toolkit; what it says when it fails is the error. */
async function run(program: string, argv: readonly string[], { signal }: CommandContext): Promise<void> {
  let result: Finished;
  try {
    result = await finish(program, argv, process.env, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new UsageError(`${program} is not found: install the CUDA toolkit`);
    throw error;
  }
  if (result.code !== 0) throw new UsageError(`${program} failed:\n${result.err}${result.out}`);
}

/** Whether `path`, written to `out`, is for the pass on compiled kernels. */
export function isCompiled(path: string, out: string | undefined): boolean {
  return path.endsWith('.ptx') || /\.(?:ptx|cubin)$/.test(out ?? '');
}

/** Optimises a PTX file, or a CUDA file that nvcc compiles with some options, and writes PTX or a cubin. */
export async function optimizeCompiled(path: string, out: string | undefined, nvccOptions: readonly string[], options: OptimizePtxOptions,
  context: CommandContext): Promise<OptimizePtxResult> {
  return inTemporaryFolder(async (folder) => {
    let source = path;
    if (!path.endsWith('.ptx')) {
      source = join(folder, 'kernel.ptx');
      await run(nvcc(), ['-ptx', '-lineinfo', ...nvccOptions, path, '-o', source], context);
    }
    const result = await optimizePtx(await readText(source), { ...options, signal: context.signal });
    if (out === '-') context.out.write(result.ptx);
    else if (out?.endsWith('.cubin') === true) {
      const [ptx, target] = [join(folder, 'small.ptx'), /\.target\s+(sm_\w+)/.exec(result.ptx)?.[1] ?? 'sm_90'];
      await writeFileAtomic(ptx, result.ptx);
      await run(nvcc(), ['-cubin', `-arch=${target}`, ptx, '-o', out], context);
    } else if (out !== undefined) {
      await writeFileAtomic(out, result.ptx);
    }
    return result;
  });
}

/**
 * Runs nvcc step by step, as it says it would, and optimises the PTX of every kernel on its way to ptxas. What is no compilation is
 * passed on. Barriers are added only where `__launch_bounds__` shows that more blocks fit then.
 */
export async function launch([compiler, ...argv]: readonly string[], context: CommandContext): Promise<number> {
  if (compiler === undefined) throw new UsageError('--launch takes a compiler and its arguments');
  return inTemporaryFolder(async (folder) => {
    const env: NodeJS.ProcessEnv = { ...process.env, TMPDIR: folder };
    const step = async (program: string, list: readonly string[]): Promise<number> => {
      const { code, out, err } = await finish(program, list, env, context.signal);
      context.out.write(out);
      context.err.write(err);
      return code;
    };
    const plan = await finish(compiler, ['--dryrun', ...argv], env, context.signal);
    const lines = plan.err.split('\n').filter((line) => line.startsWith('#$ ')).map((line) => line.slice(3));
    if (plan.code !== 0 || !lines.some((line) => /\bcicc"?\s/.test(line))) return step(compiler, argv);
    for (const line of lines) {
      const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
      if (name !== undefined) {
        env[name] = value;
        continue;
      }
      if (line.startsWith('rm ')) continue; // the folder goes in the end
      const code = await step('/bin/sh', ['-c', line]);
      if (code !== 0) return code;
      const [, ptx] = /\bcicc"?\s.*\s-o\s+"([^"]+\.ptx)"/.exec(line) ?? [];
      if (ptx === undefined) continue;
      const { ptx: smaller, report } = await optimizePtx(await readText(ptx), { signal: context.signal });
      await writeFileAtomic(ptx, smaller);
      for (const { kernel, status, bytesBefore, bytesAfter } of report.kernels) {
        if (status === 'rewritten') context.err.write(`warploom: ${kernel}: ${bytesBefore} to ${bytesAfter} shared bytes\n`);
      }
    }
    return 0;
  });
}

// warploom scratchpad --launch: stands in front of nvcc in a build.
import { spawn } from 'node:child_process';
import { inTemporaryFolder, readText, writeFileAtomic } from '../core/files.ts';
import { optimize } from '../scratchpad/optimize.ts';
import type { OptimizeOptions } from '../scratchpad/options.ts';
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

/** Arguments that only write the list of files on which a compilation depends, which nvcc otherwise does without a command of its own. */
function dependenciesOnly(argv: readonly string[], file: string): string[] {
  const kept: string[] = [];
  const named = { output: '', hasTarget: false, hasFile: false, kind: '-M' };
  for (let at = 0; at < argv.length; ++at) {
    const each = argv[at] ?? '';
    if (/^(?:-o|--output-file)$/.test(each)) named.output = argv[++at] ?? '';
    else if (/^(?:-o|--output-file)=/.test(each)) named.output = each.replace(/^[^=]*=/, '');
    else if (/^(?:-MMD|--generate-nonsystem-dependencies-with-compile)$/.test(each)) named.kind = '-MM';
    else if (/^(?:-MD|--generate-dependencies-with-compile)$/.test(each)) named.kind = '-M';
    else if (!/^(?:-c|--compile|-dc|-dw|--device-c|--device-w)$/.test(each)) kept.push(each);
    named.hasTarget ||= /^(?:-MT|--dependency-target-name)\b/.test(each);
    named.hasFile ||= /^(?:-MF|--dependency-output)\b/.test(each);
  }
  const target = named.hasTarget || named.output === '' ? [] : ['-MT', named.output];
  return [...kept, named.kind, ...(named.hasFile ? [] : ['-MF', file]), ...target];
}

/**
 * Runs nvcc step by step, as it says it would, and optimises the PTX of every kernel on its way to ptxas. What is no compilation is
 * passed on. By default barriers are added only where `__launch_bounds__` shows that more blocks fit then.
 */
export async function launch([compiler, ...argv]: readonly string[], options: OptimizeOptions, context: CommandContext): Promise<number> {
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
      const dependencies = /^-- Filter Dependencies -- > (.*)$/.exec(line)?.[1]?.trim();
      const code = dependencies === undefined ? await step('/bin/sh', ['-c', line])
        : await step(compiler, dependenciesOnly(argv, dependencies));
      if (code !== 0) return code;
      const [, ptx] = /\bcicc"?\s.*\s-o\s+"([^"]+\.ptx)"/.exec(line) ?? [];
      if (ptx === undefined) continue;
      const { ptx: smaller, report } = await optimize(await readText(ptx), { ...options, signal: context.signal });
      await writeFileAtomic(ptx, smaller);
      for (const { kernel, status, bytesBefore, bytesAfter } of report.kernels) {
        if (status === 'rewritten') context.err.write(`warploom: ${kernel}: ${bytesBefore} to ${bytesAfter} shared bytes\n`);
      }
    }
    return 0;
  });
}

// warploom bench: the benchmarks, in a separate process so that nothing else disturbs the timings.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../core/binding.ts';
import { isThere } from '../core/files.ts';
import { required } from '../core/known.ts';
import { backendNames, ExitCode, type Command } from './command.ts';

/** Arguments of node that start the benchmark program, compiled or (in a clone) as TypeScript. */
function program(): string[] | undefined {
  const root = packageRoot();
  const compiled = [join(root, 'bench', 'main.js'), join(root, 'dist', 'bench', 'main.js')].find(isThere);
  if (compiled !== undefined) return [compiled];
  const source = join(root, 'bench', 'main.ts');
  if (isThere(source)) return ['--import', 'tsx', source];
  return undefined;
}

/** Whether this installation has benchmarks: a clone has, the published package does not. */
export const hasBenchmarks = (): boolean => program() !== undefined;

const text = { type: 'string' } as const;

/** `warploom bench`. */
export const benchCommand: Command = {
  name: 'bench',
  summary: 'benchmark every variant of a domain, and other libraries, on this machine',
  help: `Usage: warploom bench DOMAIN [--backend auto|cuda|cpu] [--filter TEXT] [--out DIR]
       warploom bench check [REPORT.json…]

Measures a domain's operations and other libraries in one run: times, ratios, fractions of the
physical limit. Writes DIR/<device>/<domain>.json and pictures (default bench/results).

  DOMAIN            tridiagonal, scan, swept, imaging, stencil, stream, calls, imports
  --backend B       auto, cuda, cpu
  --out DIR         where reports go (default bench/results)
  --filter TEXT     only rows whose id contains TEXT
  check             compares reports with the goals in bench/goals.json and prints those that are missed

Benchmarks use the whole machine: run nothing else at the same time.
`,
  options: { backend: { type: 'string', values: backendNames }, filter: text, out: { type: 'string', takes: 'folder' } },
  passesOn: () => true,
  async run(argv, { signal }) {
    const child = spawn(process.execPath, [...required(program()), ...argv], { stdio: 'inherit', cwd: packageRoot(), signal });
    return new Promise((resolve, reject) => {
      child.once('error', (error) => (signal.aborted ? resolve(ExitCode.interrupted) : reject(error)));
      child.once('close', (code) => resolve(code === 0 ? ExitCode.ok : code === 2 ? ExitCode.usage : ExitCode.failed));
    });
  },
};

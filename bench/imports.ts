// What importing an entry of the package takes, in fresh processes from dist/ (npm run build:lib). Rows:
//   imports/<entry>/time       seconds of wall time more than an empty process, median of the differences of neighbours in time
//   imports/<entry>/processor  seconds of processor time likewise
// Empty and importing processes take turns, so that other work on the machine falls on both.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { performance } from 'node:perf_hooks';
import { packageRoot } from '../lib/core/binding.ts';
import type { HostContext } from './domain.ts';
import { summarise } from './statistics.ts';

interface Taken {
  readonly wall: number;
  readonly processor: number;
}

/** Seconds that a process takes from its start to its end; processor time as it counts itself at its end. */
function timed(program: string): Taken {
  const start = performance.now();
  const { stdout, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e',
    `${program}; const { user, system } = process.cpuUsage(); process.stdout.write(String(user + system));`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the process failed: ${stderr}`);
  return { wall: (performance.now() - start) / 1e3, processor: Number(stdout) / 1e6 };
}

/** Entries of the package: '.' is the root. */
function entriesOf(dist: string): string[] {
  return ['.', ...readdirSync(dist).filter((name) => existsSync(join(dist, name, 'index.js'))).sort()];
}

/** The rows of every entry. */
export async function benchmarkImports({ emit, wanted, say, quick }: HostContext): Promise<void> {
  const dist = join(packageRoot(), 'dist');
  if (!existsSync(join(dist, 'index.js'))) {
    say('dist/ is not built: npm run build:lib');
    return;
  }
  for (const entry of entriesOf(dist)) {
    const id = `imports/${entry === '.' ? 'root' : entry}`;
    if (!wanted(`${id}/time`) && !wanted(`${id}/processor`)) continue;
    const program = `await import(${JSON.stringify(pathToFileURL(join(dist, entry, 'index.js')).href)})`;
    const differences = Array.from({ length: quick ? 2 : 25 }, () => {
      const empty = timed('await 0');
      const full = timed(program);
      return { wall: full.wall - empty.wall, processor: full.processor - empty.processor };
    });
    for (const [name, part] of [['time', 'wall'], ['processor', 'processor']] as const) {
      const { median, spread } = summarise(differences.map((each) => each[part]));
      emit({ id: `${id}/${name}`, value: median, unit: 's', spread: Math.abs(spread) });
    }
  }
}

// warploom simulate FILE|NAME: an equation of the user's, or one of the library's, from flags.
import { basename, dirname, extname } from 'node:path';
import { loadJob } from '../jobs/load.ts';
import { LoadedJob } from '../jobs/loaded.ts';
import { runJob } from '../jobs/runner.ts';
import { ExitCode, integerFlag, numberFlag, UsageError, type CommandContext } from './command.ts';
import { resultTable, watcher } from './watch.ts';

const text = { type: 'string' } as const;
const many = { type: 'string', multiple: true } as const;

/** Flags that only equations of one's own take. */
export const equationFlags = {
  shape: text, spacing: text, origin: text, set: many, coefficient: many, unit: many, film: text,
  diffusion: text, sweep: many, again: { type: 'boolean' },
} as const;

/** The flags of an equation. */
export interface EquationValues {
  readonly shape?: string; readonly spacing?: string; readonly origin?: string; readonly set?: string[]; readonly coefficient?: string[];
  readonly unit?: string[]; readonly film?: string; readonly sweep?: string[]; readonly again?: boolean;
  readonly initial?: string[]; readonly boundary?: string; readonly dt?: string; readonly time?: string; readonly steps?: string;
  readonly cfl?: string; readonly diffusion?: string;
  readonly snapshots?: string; readonly precision?: string; readonly variant?: string; readonly out: string; readonly backend?: string;
}

/** NAME=VALUE, split at the first equals sign. */
function pairsOf(flag: string, values: readonly string[] | undefined): [name: string, value: string][] {
  return (values ?? []).map((each) => {
    const at = each.indexOf('=');
    if (at < 1 || at === each.length - 1) throw new UsageError(`--${flag} takes NAME=VALUE, not '${each}'`);
    return [each.slice(0, at), each.slice(at + 1)];
  });
}

function recordOf<T>(
  flag: string, values: readonly string[] | undefined, read: (value: string, name: string) => T,
): Record<string, T> | undefined {
  const pairs = pairsOf(flag, values);
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs.map(([name, value]) => [name, read(value, name)]));
}

function listFlag(name: string, value: string | undefined): number[] | undefined {
  return value?.split(',').map((each) => numberFlag(name, each) ?? NaN);
}

const numberIn = (flag: string) => (value: string, name: string): number => numberFlag(`${flag} ${name}`, value) ?? NaN;

/** A number, a .npy file, or the text of a function. */
function cellsOf(value: string): unknown {
  const isNumber = value.trim() !== '' && Number.isFinite(Number(value));
  return isNumber ? Number(value) : value.endsWith('.npy') ? { file: value } : value;
}

/** A name such as mirror, or conditions as JSON. */
function boundaryOf(value: string | undefined): unknown {
  if (value?.startsWith('{') !== true) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch (error) {
    throw new UsageError(`--boundary takes a name or JSON: ${(error as Error).message}`);
  }
}

/** Whether a target names a file with an equation. */
export const isEquationFile = (target: string): boolean => /^\.[cm]?[jt]s$/.test(extname(target));

/** The time step, or the numbers that steps keep to. */
function dtOf(dt: number | undefined, cfl: number | undefined, diffusion: number | undefined): unknown {
  if (cfl === undefined && diffusion === undefined) return dt;
  const numbers = { cfl, diffusion, most: dt };
  return Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined));
}

function jobOf(target: string, values: EquationValues): object {
  const number = (name: 'dt' | 'time' | 'cfl' | 'diffusion') => numberFlag(name, values[name]);
  const [time, steps] = [number('time'), integerFlag('steps', values.steps, 1, 2 ** 52)];
  if (time !== undefined && steps !== undefined) throw new UsageError('give --time or --steps, not both');
  const name = basename(values.out).replace(/[^A-Za-z0-9_.-]/g, '-').replace(/^[^A-Za-z0-9]+/, '').slice(0, 64);
  const sweep = recordOf('sweep', values.sweep, (list, of) => list.split(',').map((each) => numberIn('sweep')(each, of)));
  const given = {
    kind: 'stencil', name: name === '' ? 'simulation' : name, equation: isEquationFile(target) ? { file: target } : target,
    shape: listFlag('shape', values.shape), spacing: listFlag('spacing', values.spacing), origin: listFlag('origin', values.origin),
    dt: dtOf(number('dt'), number('cfl'), number('diffusion')),
    until: time !== undefined ? { time } : steps !== undefined ? { steps } : undefined,
    snapshots: integerFlag('snapshots', values.snapshots, 1, 100_000),
    initial: recordOf('initial', values.initial, cellsOf), coefficients: recordOf('coefficient', values.coefficient, cellsOf),
    parameters: recordOf('set', values.set, numberIn('set')), units: recordOf('unit', values.unit, String),
    boundary: boundaryOf(values.boundary), precision: values.precision, variant: values.variant, film: values.film,
    sweep: sweep === undefined ? undefined : Object.fromEntries(Object.entries(sweep).map(([of, list]) => [`parameters.${of}`, list])),
  };
  const only = (list: unknown): unknown => (Array.isArray(list) && list.length === 1 ? list[0] : list);
  return Object.fromEntries(Object.entries({ ...given, spacing: only(given.spacing), origin: only(given.origin) })
    .filter(([, value]) => value !== undefined));
}

/** Runs an equation file or an equation of the library; every value of a sweep gets a folder of its own. */
export async function simulateEquation(
  target: string, values: EquationValues, backend: 'auto' | 'cuda' | 'cpu' | 'simt' | undefined, context: CommandContext,
): Promise<ExitCode> {
  const { device, items, folder } = await loadJob(jobOf(target, values), { folder: '.', ...(backend === undefined ? {} : { backend }) });
  const results = dirname(values.out);
  const done = await runJob(new LoadedJob({ name: basename(values.out), device, items, folder }), {
    results, again: values.again === true, followLinks: true, signal: context.signal, onProgress: watcher(context),
  });
  if (context.json) return ExitCode.ok;
  context.out.write(`${resultTable(done, results, context)}\n`);
  for (const { item, files } of done) context.out.write(`${item}: ${files.join(', ')}\n`);
  return ExitCode.ok;
}

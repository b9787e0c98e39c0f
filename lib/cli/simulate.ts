// warploom simulate: simulations from flags, without a job file; here those of the swept equations.
import { openDevice, type Device } from '../core/device.ts';
import { required } from '../core/known.ts';
import { digestInputs, hashItem } from '../jobs/hash.ts';
import { issuesOf, issuesText } from '../jobs/issues.ts';
import { takeFolder } from '../jobs/results-folder.ts';
import { simulateJobSchema } from '../jobs/simulate/schema.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, numberFlag, parseFlags, UsageError, type Command, type CommandContext, type Options,
} from './command.ts';
import { runCommand } from './run.ts';
import { equationFlags, isEquationFile, simulateEquation } from './simulate-equation.ts';
import { simulateHelp } from './simulate-help.ts';
import { formatSeconds } from './table.ts';

const equationNames: Readonly<Record<string, string>> = {
  heat: 'heat', ks: 'kuramoto-sivashinsky', 'kuramoto-sivashinsky': 'kuramoto-sivashinsky', euler: 'euler',
};

const text = { type: 'string' } as const;
const flags = {
  n: text, dx: text, length: text, dt: text, fourier: text, cfl: text, diffusivity: text, gamma: text,
  limiter: { type: 'string', values: ['van-leer', 'minmod', 'mc', 'paper'] },
  initial: { type: 'string', multiple: true },
  boundary: text, left: text, right: text, time: text, steps: text, snapshots: text,
  precision: { type: 'string', values: ['float64', 'float32'] }, variant: text,
  paper: { type: 'boolean' }, warn: { type: 'boolean' },
  out: { type: 'string', short: 'o', default: 'warploom-simulation', takes: 'folder' },
  backend: { type: 'string', values: backendNames }, ...equationFlags,
} as const satisfies Options;

/** Flags that only the swept equations take. */
const sweptFlags = ['n', 'dx', 'length', 'fourier', 'diffusivity', 'gamma', 'limiter', 'left', 'right', 'paper', 'warn'] as const;

/** A named initial condition, one with parameters (kind:key=value,…), or a .npy file. */
function initialFlag(value: string | undefined): unknown {
  if (value === undefined) return undefined;
  if (value.endsWith('.npy')) return { file: value };
  const [kind, rest] = value.split(/:(.*)/s);
  if (rest === undefined) return kind;
  const pairs = rest.split(',').map((pair) => {
    const [key = '', number] = pair.split('=');
    return [key, numberFlag(`initial ${key}`, number ?? '')] as const;
  });
  return { kind, ...Object.fromEntries(pairs) };
}

/** An end; dirichlet:20 holds the value 20. */
function endFlag(value: string | undefined): unknown {
  const [kind, held] = value?.split(':') ?? [];
  return held === undefined ? value : { kind, value: numberFlag('boundary', held) };
}

type Values = { readonly [Name in keyof typeof flags]?: string | boolean | string[] | undefined };

function jobOf(equation: string, values: Values): unknown {
  const number = (name: keyof typeof flags) => numberFlag(name, values[name] as string | undefined);
  const string = (name: keyof typeof flags) => values[name] as string | undefined;
  if ((values.left === undefined) !== (values.right === undefined)) throw new UsageError('--left and --right must be given together');
  const boundary = values.left === undefined ? endFlag(string('boundary'))
    : { left: endFlag(string('left')), right: endFlag(string('right')) };
  const steps = integerFlag('steps', string('steps'), 1, 2 ** 52);
  const time = number('time');
  if ((steps === undefined) === (time === undefined)) throw new UsageError('give --time or --steps');
  const given = {
    kind: 'simulate', name: equation, equation, n: integerFlag('n', string('n'), 3, 2 ** 32 - 1),
    dx: number('dx'), length: number('length'), dt: number('dt'),
    fourier: number('fourier'), cfl: number('cfl'), diffusivity: number('diffusivity'), gamma: number('gamma'),
    limiter: values.limiter, 
    initial: initialFlag((values.initial as string[] | undefined)?.at(-1)), boundary, until: steps === undefined ? { time } : { steps },
    snapshots: integerFlag('snapshots', string('snapshots'), 1, 100_000), precision: values.precision, variant: values.variant,
    paper: values.paper === true, onUnstable: values.warn === true ? 'warn' : 'refuse',
  };
  // Absent flags leave the schema's defaults alone, and other equations' flags out of the way.
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Refuses flags that a target does not take. */
function refuseFlags(values: Values, names: readonly (keyof typeof flags)[], why: string): void {
  const given = names.find((name) => values[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${given} ${why}`);
}

async function simulateSwept(equation: string, values: Values & { readonly out: string }, context: CommandContext): Promise<ExitCode> {
  const backend = choiceFlag('backend', values.backend as string | undefined, backendNames) ?? 'auto';
  const job = jobOf(equation, values);
  const parsed = simulateJobSchema.safeParse(job);
  if (!parsed.success) throw new UsageError(`${equation}: ${issuesText(issuesOf(parsed.error, simulateJobSchema, job))}`);
  const lock = await takeFolder(values.out, { followLinks: true, deep: false });
  const { simulateItem } = await import('../jobs/simulate/item.ts');
  const bar = context.progress();
  let device: Device | undefined;
  try {
    device = await openDevice({ backend });
    const hash = hashItem(parsed.data, await digestInputs(parsed.data, (path) => path));
    const report = await simulateItem(parsed.data, {
      device, input: (path) => path, folder: values.out, signal: context.signal, hash, warn: (note) => context.note(note),
      onProgress: (done, total) => bar.update('simulate', done, total), show: () => undefined,
    });
    bar.clear();
    context.result({ ...report, device: { backend: device.backend, name: device.name }, folder: values.out },
      `${report.summary} on ${device.backend} (${device.name}): ${formatSeconds(required(report.figures['seconds']))}, `
      + `${report.accuracy.meaning} ${report.accuracy.value.toExponential(2)}\nresults in ${values.out}: ${report.files.join(', ')}`);
    for (const note of report.notes ?? []) context.note(note);
    return ExitCode.ok;
  } finally {
    bar.clear();
    await device?.close();
    await lock.release();
  }
}

/** `warploom simulate`. */
export const simulateCommand: Command = {
  name: 'simulate',
  summary: 'step an equation of your own, or one of the library, in one to three dimensions',
  help: simulateHelp,
  options: flags,
  resumes: true,
  async run(argv, context) {
    const { values, positionals } = parseFlags(flags, argv);
    const [target] = positionals;
    if (target === undefined || positionals.length !== 1) throw new UsageError('name one file with an equation, or one equation');
    if (target.endsWith('.json')) {
      const { out, backend, again, ...others } = values;
      refuseFlags({ ...others, out: undefined }, Object.keys(flags) as (keyof typeof flags)[], 'stands in the job file');
      const more = [...(backend === undefined ? [] : ['--backend', backend]), ...(again === true ? ['--again'] : [])];
      return runCommand.run([target, '--results', out, ...more], context);
    }
    const equation = equationNames[target];
    if (equation !== undefined && values.shape === undefined) {
      refuseFlags(values, Object.keys(equationFlags) as (keyof typeof equationFlags)[], `is for equations in files and those with --shape`);
      return simulateSwept(equation, values, context);
    }
    const { libraryHint, libraryNames } = await import('../jobs/stencil/library.ts');
    if (!isEquationFile(target) && !libraryNames.some((name) => name === target)) {
      throw new UsageError(`there is no equation '${target}'; ${libraryHint(target)} (with --shape). Or name a file (.mjs, .js, `
        + '.ts), a job (.json), or heat, ks or euler with --n');
    }
    refuseFlags(values, sweptFlags, `is for heat, ks and euler in one dimension; ${target} takes --shape, --spacing, --set NAME=VALUE`);
    return simulateEquation(target, values, choiceFlag('backend', values.backend, backendNames), context);
  },
};

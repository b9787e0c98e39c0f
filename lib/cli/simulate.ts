// warploom simulate: one simulation from flags, without a job file.
import { openDevice, type Device } from '../core/device.ts';
import { elementAt, required } from '../core/known.ts';
import { digestInputs, hashItem } from '../jobs/hash.ts';
import { takeFolder } from '../jobs/results-folder.ts';
import { simulateJobSchema } from '../jobs/simulate/schema.ts';
import { ExitCode, integerFlag, numberFlag, parseFlags, UsageError, type Command } from './command.ts';
import { ProgressBar } from './progress-bar.ts';
import { formatSeconds } from './table.ts';

const equationNames: Readonly<Record<string, string>> = {
  heat: 'heat', ks: 'kuramoto-sivashinsky', 'kuramoto-sivashinsky': 'kuramoto-sivashinsky', euler: 'euler',
};

const text = { type: 'string' } as const;
const flags = {
  n: text, dx: text, length: text, dt: text, fourier: text, cfl: text, diffusivity: text, gamma: text, limiter: text, initial: text,
  boundary: text, left: text, right: text, time: text, steps: text, snapshots: text, precision: text, variant: text,
  paper: { type: 'boolean' }, warn: { type: 'boolean' }, out: { type: 'string', short: 'o', default: 'warploom-simulation' }, backend: text,
} as const;

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

type Values = { readonly [Name in keyof typeof flags]?: string | boolean | undefined };

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
    kind: 'simulate', name: 'simulate', equation, n: integerFlag('n', string('n'), 3, 2 ** 32 - 1),
    dx: number('dx'), length: number('length'), dt: number('dt'),
    fourier: number('fourier'), cfl: number('cfl'), diffusivity: number('diffusivity'), gamma: number('gamma'),
    limiter: values.limiter, initial: initialFlag(string('initial')), boundary, until: steps === undefined ? { time } : { steps },
    snapshots: integerFlag('snapshots', string('snapshots'), 1, 100_000), precision: values.precision, variant: values.variant,
    paper: values.paper === true, onUnstable: values.warn === true ? 'warn' : 'refuse',
  };
  // Absent flags leave the schema's defaults alone, and other equations' flags out of the way.
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** `warploom simulate`. */
export const simulateCommand: Command = {
  name: 'simulate',
  summary: 'step heat, Kuramoto–Sivashinsky or Euler equations in one dimension',
  help: `Usage: warploom simulate heat|ks|euler --n POINTS (--time T | --steps K) [-o DIR] [options]

  heat   u_t = diffusivity u_xx                       --dt, or --fourier (at most 0.5)
  ks     u_t = -((u²)_x/2 + u_xx + u_xxxx)            --dt
  euler  gas dynamics: density, velocity, pressure    --dt, or --cfl (at most 0.9; 0.55 with limiter paper)

      --n N              points of the domain, at least 3 (heat) or 5
      --dx D, --length L spacing of the points, or length of the domain (default 1; ks: required)
      --time T           end at exactly this time (the last step is shortened if need be)
      --steps K          end after this many steps
      --snapshots S      number of states to keep (default 50)
      --initial I        heat: parabola, ramp, cosine:mode=3; ks: paper, noise:seed=1, mode:waves=3;
                         euler: sod, wave, wave:waves=2; or a .npy file with the state
      --boundary B       periodic, reflective, dirichlet (dirichlet:20 holds 20), outflow
      --left B, --right B   a different boundary at each end
      --diffusivity D    heat, default 1
      --gamma G          euler, default 1.4
      --limiter L        euler: van-leer (default), minmod, mc, paper
      --precision P      float64 (default), float32
      --variant V        auto, classic, classic-graph, shared, hybrid, register, tiled, cpu-classic, cpu-tiled
      --paper            use the set-up of Magee and Niemeyer (2018) for everything that is not given
      --warn             warn about an unstable time step instead of rejecting it
      --backend B        auto, cuda, cpu, simt
  -o, --out DIR          where result.zarr, profile.svg, space-time.png and a checkpoint go
                         (default warploom-simulation); the same command resumes a killed run

Examples
  warploom simulate euler --n 1026 --cfl 0.4 --initial sod --boundary dirichlet --time 0.2 -o sod
  warploom simulate heat --n 501 --fourier 0.4 --initial ramp --time 0.05 -o rod
  warploom simulate ks --n 1024 --dx 0.5 --dt 0.005 --initial noise:seed=1 --time 200 -o flame

Exit codes: 0 success; 1 values became infinite, or another failure; 2 invalid flags; 3 device; 130 interrupted.
`,
  async run(argv, { out, err, signal }) {
    const { values, positionals } = parseFlags({ args: argv, allowPositionals: true, options: flags });
    const equation = equationNames[positionals[0] ?? ''];
    if (equation === undefined || positionals.length !== 1) throw new UsageError('name one equation: heat, ks or euler');
    const backend = (['auto', 'cuda', 'cpu', 'simt'] as const).find((name) => name === (values.backend ?? 'auto'));
    if (backend === undefined) throw new UsageError(`--backend takes auto, cuda, cpu, simt, not '${values.backend}'`);
    const parsed = simulateJobSchema.safeParse(jobOf(equation, values));
    if (!parsed.success) {
      const issue = elementAt(parsed.error.issues, 0);
      const keys = 'keys' in issue ? (issue.keys).join(', ') : '';
      throw new UsageError(`${equation}: ${[...issue.path, keys].filter((part) => part !== '').join('.')}: ${issue.message}`);
    }
    const lock = await takeFolder(values.out, { followLinks: true, deep: false });
    const { simulateItem } = await import('../jobs/simulate/item.ts');
    const bar = new ProgressBar(err);
    let device: Device | undefined;
    try {
      device = await openDevice({ backend });
      const hash = hashItem(parsed.data, await digestInputs(parsed.data, (path) => path));
      const report = await simulateItem(parsed.data, {
        device, input: (path) => path, folder: values.out, signal, hash, warn: (note) => err.write(`${note}\n`),
        onProgress: (done, total) => bar.update('simulate', done, total),
      });
      bar.clear();
      out.write(`${report.summary} on ${device.backend} (${device.name}): ${formatSeconds(required(report.figures['seconds']))}, `
        + `${report.accuracy.meaning} ${report.accuracy.value.toExponential(2)}\nresults in ${values.out}: ${report.files.join(', ')}\n`);
      for (const note of report.notes ?? []) err.write(`${note}\n`);
      return ExitCode.ok;
    } finally {
      bar.clear();
      await device?.close();
      await lock.release();
    }
  },
};

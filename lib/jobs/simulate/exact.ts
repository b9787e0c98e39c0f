// Exact solutions for comparison, if the job has one.
import { elementAt, required } from '../../core/known.ts';
import { exactRiemann, heatSeries } from '../../swept/exact.ts';
import { sod } from '../../swept/initial.ts';
import type { GasState, Setup } from '../../swept/types.ts';
import type { Fields } from './fields.ts';
import type { SimulateJob } from './schema.ts';

/** Values at a position, by field. */
export type Exact = (x: number) => Readonly<Record<string, number>>;

type HeatJob = SimulateJob & { readonly equation: 'heat' };
type GasJob = SimulateJob & { readonly equation: 'euler' };

function exactHeat(job: HeatJob, { n, dx, left, right, diffusivity }: Setup, time: number): Exact | undefined {
  const initial = typeof job.initial === 'string' || job.initial === undefined ? { kind: job.initial ?? 'parabola' } : job.initial;
  if ('file' in initial || left !== right || left === 'dirichlet') return undefined;
  if (initial.kind === 'cosine') {
    const { mode, amplitude = 1 } = initial as { mode: number; amplitude?: number };
    const wavenumber = (Math.PI * mode) / (dx * (left === 'periodic' ? n / 2 : n - 1));
    const factor = amplitude * Math.exp(-diffusivity * wavenumber ** 2 * time);
    return (x) => ({ u: factor * Math.cos(wavenumber * x) });
  }
  if (left !== 'reflective') return undefined;
  const { kind, amplitude } = initial;
  const series = { initial: kind, length: dx * (n - 1), diffusivity, amplitude };
  return (x) => ({ u: heatSeries(x, time, series) });
}

/** The solution of the Riemann problem, valid until a wave reaches an end. */
function exactGas(job: GasJob, { n, dx, gamma, left, right }: Setup, time: number): Exact | undefined {
  const initial = job.initial === 'sod' || job.initial === undefined ? { kind: 'riemann', ...sod } : job.initial;
  if (typeof initial === 'string' || 'file' in initial || initial.kind !== 'riemann' || left === 'periodic') return undefined;
  const states = initial as { left: GasState; right: GasState; diaphragm?: number };
  const { diaphragm = 0.5 } = states;
  const length = dx * (n - Number(left === 'dirichlet') - Number(right === 'dirichlet'));
  let solution;
  try {
    solution = exactRiemann(states.left, states.right, gamma);
  } catch {
    return undefined; // a vacuum
  }
  const reach = solution.fastest * time;
  if (reach > diaphragm * length || reach > (1 - diaphragm) * length) return undefined;
  return (x) => {
    const { density, velocity, pressure } = solution.at((x - diaphragm * length) / time);
    return { density, velocity, pressure, energy: pressure / (gamma - 1) + 0.5 * density * velocity ** 2 };
  };
}

/** The exact solution of a job at its end; undefined if none is known. */
export function exactOf(job: SimulateJob, setup: Setup, time: number): Exact | undefined {
  if (job.equation === 'heat') return exactHeat(job, setup, time);
  return job.equation === 'euler' ? exactGas(job, setup, time) : undefined;
}

/** The exact solution at all positions. */
export function exactFields(x: Float64Array, exact: Exact): Fields {
  const names = Object.keys(exact(elementAt(x, 0)));
  const fields = Object.fromEntries(names.map((name) => [name, new Float64Array(x.length)]));
  x.forEach((place, i) => {
    const values = exact(place);
    for (const name of names) required(fields[name])[i] = required(values[name]);
  });
  return fields;
}

/** dx Σ|computed - exact| for each field, without end cells that hold a fixed state. */
export function l1Errors({ x, setup }: { x: Float64Array; setup: Setup }, computed: Fields, exact: Exact): Record<string, number> {
  const held = (end: string) => Number(setup.equation === 'euler' && end === 'dirichlet');
  const errors: Record<string, number> = {};
  for (let i = held(setup.left); i < x.length - held(setup.right); i += 1) {
    for (const [name, value] of Object.entries(exact(elementAt(x, i)))) {
      errors[name] = (errors[name] ?? 0) + setup.dx * Math.abs(elementAt(required(computed[name]), i) - value);
    }
  }
  return errors;
}

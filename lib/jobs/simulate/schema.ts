// `simulate` jobs: one schema per equation of the domain `swept`.
import { z } from 'zod';
import { boundaries, limiters, variants } from '../../swept/types.ts';
import { common, path, pictureFields, positive, units, zarrFields } from '../fields.ts';

const finite = z.number();
const points = z.number().int().min(3).max(2 ** 32 - 1);
const file = z.strictObject({ file: path.describe('.npy of n float32 or float64 values (euler: 3 n, density, momentum and energy)') });

/** Where the run ends. */
const until = z.union([
  z.strictObject({ time: positive }), z.strictObject({ steps: z.number().int().min(1) }),
]).describe('the time to reach exactly, or the number of steps');

const simulation = {
  ...common, ...zarrFields, ...pictureFields,
  kind: z.literal('simulate'),
  n: points.describe('points of the domain'),
  dx: positive.optional().describe('distance of points; or give length'),
  length: positive.optional(),
  dt: positive.optional().describe('time step'),
  until,
  snapshots: z.number().int().min(1).max(100_000).default(50)
    .describe('states kept after the initial one, at whole steps, evenly spaced; the last at the end'),
  precision: z.enum(['float32', 'float64']).default('float64'),
  variant: z.enum(variants).default('auto').describe('how the steps are computed; all variants produce the same bits'),
  units: units.describe('units for pictures and result.zarr, by name: x, t, u or density, velocity, pressure and energy'),
  paper: z.boolean().default(false).describe('use the set-up of Magee and Niemeyer (2018) for everything that is not given'),
  onUnstable: z.enum(['refuse', 'warn']).default('refuse').describe('what to do about an unstable time step before the run'),
};

/** A boundary: one condition for both ends, or left and right. */
function boundaryOf<T extends z.ZodType>(end: T) {
  return z.union([end, z.strictObject({ left: end, right: end })]).optional();
}

const gas = z.strictObject({ density: positive, velocity: finite, pressure: positive });

/** `simulate` with the heat equation. */
export const heatJobSchema = z.strictObject({
  ...simulation,
  equation: z.literal('heat'),
  diffusivity: positive.optional(),
  fourier: positive.optional().describe('Fourier number diffusivity dt/dx², instead of dt'),
  initial: z.union([
    z.enum(['parabola', 'ramp']),
    z.strictObject({ kind: z.enum(['parabola', 'ramp']), amplitude: finite.optional() }),
    z.strictObject({ kind: z.literal('cosine'), mode: z.number().int().min(0), amplitude: finite.optional() }),
    file,
  ]).optional(),
  boundary: boundaryOf(z.union([
    z.enum(['periodic', 'reflective', 'dirichlet']), z.strictObject({ kind: z.literal('dirichlet'), value: finite.optional() }),
  ])),
});

/** `simulate` with the Kuramoto–Sivashinsky equation. */
export const waveJobSchema = z.strictObject({
  ...simulation,
  equation: z.literal('kuramoto-sivashinsky'),
  initial: z.union([
    z.literal('paper'),
    z.strictObject({ kind: z.literal('mode'), waves: z.number().int().min(0), amplitude: finite.optional() }),
    z.strictObject({ kind: z.literal('noise'), seed: z.number().int().min(0).optional(), amplitude: finite.optional() }),
    file,
  ]).optional(),
  boundary: boundaryOf(z.enum(['periodic', 'dirichlet'])),
});

/** `simulate` with the Euler equations. */
export const gasJobSchema = z.strictObject({
  ...simulation,
  equation: z.literal('euler'),
  gamma: z.number().gt(1).optional(),
  cfl: positive.optional().describe('CFL number dt (|u|+c)/dx of the initial state, instead of dt'),
  limiter: z.enum(limiters).optional(),
  initial: z.union([
    z.enum(['sod', 'wave']),
    z.strictObject({ kind: z.literal('wave'), amplitude: finite.optional(), waves: finite.optional() }),
    z.strictObject({ kind: z.literal('riemann'), left: gas, right: gas, diaphragm: z.number().min(0).max(1).optional() }),
    file,
  ]).optional(),
  boundary: boundaryOf(z.union([
    z.enum(boundaries), z.strictObject({ kind: z.literal('dirichlet'), value: gas.optional() }),
  ])),
});

/** `simulate`: a time-dependent equation in one space dimension. */
export const simulateJobSchema = z.discriminatedUnion('equation', [heatJobSchema, waveJobSchema, gasJobSchema]);
export type SimulateJob = z.infer<typeof simulateJobSchema>;

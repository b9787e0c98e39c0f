// Runs of equations: options are read and copied at the call; what compiles and runs is loaded then.
import { createHash } from 'node:crypto';
import { describeValue } from '../core/arrays.ts';
import { callChecks } from '../core/call.ts';
import { abortSignal, anything, choice, fileName, number, oneOf, requireNumber, truth,
  whole } from '../core/checks.ts';
import { mostSteps } from '../core/clock.ts';
import { briefly } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../core/options.ts';
import { readStep } from './adaptive.ts';
import { readBoundary } from './boundary.ts';
import { mostCells, readCoefficients, readInitial, readParameters, type Places } from './content.ts';
import { requireEquation } from './define.ts';
import type { Inspection, Request } from './request.ts';
import type { Run } from './run.ts';
import { stencilBackends, stencilVariants, type Boundary, type Equation, type RunOptions, type SimulateOptions } from './types.ts';

const simulateOptions = optionsOf('stencil.simulate', {
  shape: needed(anything), spacing: anything, origin: anything, dt: needed(anything), initial: needed(anything), boundary: anything,
  parameters: anything, coefficients: anything, precision: normally(choice(['float32', 'float64'] as const), 'float64'),
  steps: whole(0, mostSteps), until: number(), device: callChecks.device, backend: normally(choice(stencilBackends), 'auto'),
  variant: normally(choice(stencilVariants), 'auto'), depth: whole(1, 64), points: whole(1, 16), tune: normally(truth, false),
    threads: whole(1, 256), resume: fileName,
    signal: abortSignal,
} satisfies ChecksOf<SimulateOptions<string, string, string>>);

const inspectOptions = optionsOf('stencil.inspect', {
  spacing: anything, boundary: anything, precision: normally(choice(['float32', 'float64'] as const), 'float64'),
});

/** A number for each axis, from one or a list. */
function perAxis(given: unknown, dimensions: number, name: string, check: (value: unknown, name: string) => void): readonly number[] {
  if (!Array.isArray(given)) {
    check(given, name);
    return Array<number>(dimensions).fill(given as number);
  }
  if (given.length !== dimensions) throw refusal(name, `${dimensions} numbers, one for each axis`, `${given.length} of them`);
  given.forEach((each, i) => check(each, `${name}[${i}]`));
  return [...given as number[]];
}

const spacingCheck = number({ above: 1e-60, below: 1e60 });

function placesOf(options: { readonly shape: unknown; readonly spacing?: unknown; readonly origin?: unknown }, dimensions: number): Places {
  if (!Array.isArray(options.shape)) throw refusal('shape', 'a list with the cells along each axis', describeValue(options.shape));
  const shape = perAxis(options.shape, dimensions, 'shape', whole(1, mostCells));
  const cells = shape.reduce((a, b) => a * b);
  if (cells > mostCells) throw refusal('shape', `at most ${mostCells} cells`, `${cells}`);
  return {
    shape, cells, spacing: perAxis(options.spacing ?? 1, dimensions, 'spacing', spacingCheck),
    origin: perAxis(options.origin ?? 0, dimensions, 'origin', requireNumber),
  };
}

/** Everything that results depend on besides the state, as a hash. */
function fingerprintOf(request: Omit<Request, 'fingerprint'>): string {
  const { equation, places, rules, members, precision, dt, adaptive } = request;
  const { definition, fields, parameters, coefficients, method, dimensions } = equation;
  const text = (value: unknown): unknown => (typeof value === 'function' ? Function.prototype.toString.call(value) : value);
  const { rate, step, admissible, speed, diffusivity, functions } = definition as unknown as Readonly<Record<string, unknown>>;
  const all = {
    fields, parameters, coefficients, method, dimensions, places, rules, members,
    functions: [rate, step, admissible, ...Object.entries(functions as object)].flat().map(text),
    precision, dt, ...(adaptive === undefined ? {} : { adaptive, limits: [text(speed), text(diffusivity)] }),
    values: Array.from(request.parameters),
  };
  const hash = createHash('sha256').update(JSON.stringify(all, (_, value: unknown) => text(value)));
  const { buffer, byteOffset, byteLength } = request.coefficients;
  return hash.update(new Uint8Array(buffer, byteOffset, byteLength)).digest('hex');
}

/** @internal Reads and copies the options of {@link simulate}. */
export function readRequest(equation: unknown, given: object): Request {
  requireEquation(equation);
  const options = simulateOptions.read(given as SimulateOptions<string, string, string>);
  const { dimensions, fields, parameters: names, coefficients: coefficientNames, definition } = equation;
  const { precision, device, backend, variant, depth, points, tune, threads, resume, signal, steps, until } = options;
  const { dt, adaptive } = readStep(options.dt, equation);
  const places = placesOf(options, dimensions);
  const rules = readBoundary(options.boundary ?? definition.boundary ?? 'periodic', dimensions, fields);
  const { members, parameters } = readParameters(options.parameters, names);
  const numbers = 2 ** 32 - 1;
  if (members * fields.length * places.cells > numbers) {
    throw refusal('shape', `at most ${numbers} numbers in all fields of all members`, `${members * fields.length * places.cells}`);
  }
  oneOf(options, ['steps', 'until']);
  if (device !== undefined && backend !== 'auto' && backend !== 'device') {
    throw refusal('device', `none with backend ${backend}`, describeValue(device));
  }
  const request = {
    equation, places, rules, members, parameters, precision, dt, adaptive, device, backend, variant, depth, points, tune, threads,
    resume, signal, initial: readInitial(options.initial, fields, places, members, precision),
    coefficients: readCoefficients(options.coefficients, coefficientNames, places, precision),
    end: steps !== undefined ? { step: steps } : until !== undefined ? { time: until } : undefined,
  };
  return { ...request, fingerprint: fingerprintOf(request) };
}

let started: Promise<typeof import('./start.ts')> | undefined;
/** Loads what compiles and runs. */
const starting = (): NonNullable<typeof started> => started ??= import('./start.ts');

/**
 * Begins a run of an equation. It is compiled for the grid's spacing and boundary conditions; compiled code is cached. All back ends and
 * variants give the same bits, and for float64 those of the functions themselves in JavaScript (except for Math's transcendental functions,
 * which are the library's own); for float32, every operation is rounded to single precision.
 * @example
 * await using run = await stencil.simulate(heat, { shape: [64, 64], spacing: 1 / 64, dt: 5e-5, initial: { u: (x, y) => x * y },
 * parameters: { D: 1 } });
 * await run.advance(100);
 * const { u } = await run.state();
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming the option; FunctionError (`ERR_WARPLOOM_INVALID_PROGRAM`) with line and
 *   column for functions that cannot be compiled; all as rejections, before any step
 */
export async function simulate<Field extends string, Parameter extends string, Coefficient extends string>(
  equation: Equation<Field, Parameter, Coefficient>, options: RunOptions<Field, Parameter, Coefficient>,
): Promise<Run<Field>> {
  const request = readRequest(equation, options);
  request.signal?.throwIfAborted();
  const { beginRun, prepareRun } = await starting();
  return await beginRun(await prepareRun(request)) as unknown as Run<Field>;
}

/** Options of {@link inspect}. */
export interface InspectOptions<Field extends string = string, Parameter extends string = string> {
  readonly spacing?: number | readonly number[];
  readonly boundary?: Boundary<Field, Parameter>;
  readonly precision?: 'float32' | 'float64';
}

/**
 * Compiles an equation without running it.
 * @throws ArgumentError naming the option; FunctionError (`ERR_WARPLOOM_INVALID_PROGRAM`) with line, column and a hint for functions that
 *   cannot be compiled; as rejections
 */
export async function inspect<Field extends string, Parameter extends string, Coefficient extends string>(
  equation: Equation<Field, Parameter, Coefficient>, options: InspectOptions<Field, Parameter> = {},
): Promise<Inspection> {
  requireEquation(equation);
  const { spacing, boundary, precision } = inspectOptions.read(options);
  const { dimensions, fields, definition } = equation;
  const target = {
    spacing: perAxis(spacing ?? 1, dimensions, 'spacing', spacingCheck), precision,
    rules: readBoundary(boundary ?? definition.boundary ?? 'periodic', dimensions, fields),
  };
  const { inspectEquation } = await starting();
  return briefly('Inspection', inspectEquation(equation, target));
}

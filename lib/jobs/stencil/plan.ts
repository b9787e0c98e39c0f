// What a job of kind `stencil` runs: its fields, and the defaults of an equation file.
import { describeValue, isReal } from '../../core/arrays.ts';
import { hasFields } from '../../core/checks.ts';
import { ArgumentError, refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { didYouMean } from '../../core/similar.ts';
import { define, inspect, type Definition, type Dimensions, type Equation } from '../../stencil/index.ts';
import type { Resolve } from '../kind.ts';
import type { Timing } from '../timetable.ts';
import { loadEquationFile, placed, type EquationFile } from './equation-file.ts';
import { libraryEquation } from './library.ts';
import { stencilJobSchema, type StencilJob } from './schema.ts';

/** The places of an exact solution's arguments. */
export type Exact = (place: Readonly<Record<'x' | 'y' | 'z' | 't', number>>, parameters: Readonly<Record<string, number>>) => number;

/** A run, with everything that has to be known; arrays have not been read or computed yet. */
export interface Plan extends Timing {
  readonly equation: Equation;
  /** Of the equation, for pictures and results. */
  readonly name: string;
  readonly file: EquationFile | undefined;
  readonly shape: readonly number[];
  readonly spacing: readonly number[];
  readonly origin: readonly number[];
  readonly dt: NonNullable<StencilJob['dt']>;
  readonly boundary: unknown;
  readonly parameters: Readonly<Record<string, number>>;
  /** By name: numbers, functions, arrays, texts of functions or files. */
  readonly initial: Readonly<Record<string, unknown>>;
  readonly coefficients: Readonly<Record<string, unknown>>;
  readonly precision: 'float32' | 'float64';
  readonly variant: NonNullable<StencilJob['variant']>;
  readonly units: Readonly<Record<string, string>>;
  /** The field of which a film is made. */
  readonly film: string | undefined;
  readonly exact: Readonly<Record<string, Exact>>;
}

/** Fields that both a job and an equation file may give, name by name. */
const merged = ['initial', 'coefficients', 'parameters', 'units'] as const;

/** Fields of an equation file that a job cannot hold: they may be functions or arrays. */
const free: readonly string[] = ['initial', 'coefficients', 'boundary', 'exact'];

/** Checks what an equation file gives as the job's own fields are checked. */
function checkedDefaults({ options, path }: EquationFile): Partial<StencilJob> {
  for (const field of ['initial', 'coefficients'] as const) {
    const values = options[field];
    const named = hasFields(values) ? Object.entries(values).find(([, value]) => hasFields(value) && !isReal(value)) : undefined;
    if (named !== undefined) {
      throw refusal(`${path}, options.${field}.${named[0]}`, 'a number, a function of the place, the text of one, or an array',
        describeValue(named[1]));
    }
  }
  const plain = Object.fromEntries(Object.entries(options).filter(([name]) => !free.includes(name)));
  const parsed = stencilJobSchema.partial().safeParse(plain);
  if (parsed.success) return { ...options };
  const issue = elementAt(parsed.error.issues, 0);
  const value = issue.path.reduce<unknown>((of, key) => (of as Record<PropertyKey, unknown> | undefined)?.[key], options);
  throw refusal(`${path}, options.${issue.path.join('.')}`, issue.message, describeValue(value));
}

/** An object without its fields that are undefined. */
const present = (of: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(of).filter(([, value]) => value !== undefined));

async function equationOf(job: StencilJob, resolve: Resolve): Promise<{ equation: Equation; name: string; file?: EquationFile }> {
  const { equation } = job;
  if (typeof equation === 'string') {
    if (job.shape === undefined) throw refusal('shape', 'a list with the cells along each axis', 'none');
    return { equation: libraryEquation(equation, job.shape.length as Dimensions), name: equation };
  }
  if ('file' in equation) {
    const file = await loadEquationFile(resolve(equation.file));
    return { equation: file.equation, name: equation.file.split(/[/\\]/).at(-1) ?? equation.file, file };
  }
  return { equation: define(present(equation) as unknown as Definition<string, string, string>), name: job.name };
}

function perAxis(given: number | readonly number[] | undefined, dimensions: number, normal: number, name: string): readonly number[] {
  if (given === undefined || typeof given === 'number') return Array<number>(dimensions).fill(given ?? normal);
  if (given.length !== dimensions) throw refusal(name, `${dimensions} numbers, one for each axis`, `${given.length} of them`);
  return given;
}

function filmOf(film: StencilJob['film'], equation: Equation): string | undefined {
  if (film === undefined || film === false) return undefined;
  if (equation.dimensions === 1) throw refusal('film', 'an equation in two or three dimensions', 'one in one dimension');
  const name = film === true ? elementAt(equation.fields, 0) : film;
  if (!equation.fields.includes(name)) throw refusal('film', `a field, of ${equation.fields.join(', ')}`, name);
  return name;
}

/** The given value of a field that must be given. */
function needed<T>(value: T | undefined, name: string, expected: string, file: EquationFile | undefined): T {
  if (value !== undefined) return value;
  throw refusal(name, expected, file === undefined ? 'none' : `none (neither here nor in the options of ${file.path})`);
}

/** Refuses names that the equation does not have, and names without a value. */
function requireNames(given: object, names: readonly string[], argument: string): void {
  const other = Object.keys(given).find((name) => !names.includes(name));
  if (other !== undefined) {
    const hint = didYouMean(other, names, '');
    const expected = names.length === 0 ? 'nothing' : `one of ${names.join(', ')}${hint === '' ? '' : ` (${hint})`}`;
    throw refusal(`${argument}.${other}`, expected, 'a value');
  }
  const missing = names.find((name) => !Object.hasOwn(given, name));
  if (missing !== undefined) throw refusal(`${argument}.${missing}`, 'a value', 'none');
}

/**
 * Reads and checks a job, and compiles its equation for the boundary conditions.
 * @throws ArgumentError naming the field; FunctionError with the file and the line; FileError
 */
export async function planOf(job: StencilJob, resolve: Resolve): Promise<Plan> {
  const { equation, name, file } = await equationOf(job, resolve);
  const defaults: Partial<StencilJob> & { exact?: unknown } = file === undefined ? {} : checkedDefaults(file);
  const own = present(job) as StencilJob;
  const all = { ...defaults, ...own };
  const [initial, coefficients, parameters, units] = merged.map((field) => ({ ...defaults[field], ...own[field] })) as
    [Plan['initial'], Plan['coefficients'], Plan['parameters'], Plan['units']];
  const shape = needed(all.shape, 'shape', `the cells along each axis (${equation.dimensions} numbers)`, file);
  const { dimensions, definition } = equation;
  if (shape.length !== dimensions) throw refusal('shape', `${dimensions} extents, one for each axis`, `${shape.length} of them`);
  requireNames(parameters, equation.parameters, 'parameters');
  requireNames(initial, equation.fields, 'initial');
  requireNames(coefficients, equation.coefficients, 'coefficients');
  const exact = hasFields(defaults.exact) ? defaults.exact as Plan['exact'] : {};
  const plan: Plan = {
    equation, name, file, shape, initial, coefficients, parameters, units, exact,
    spacing: perAxis(all.spacing, dimensions, 1, 'spacing'), origin: perAxis(all.origin, dimensions, 0, 'origin'),
    dt: needed(all.dt, 'dt', 'the time step', file), until: needed(all.until, 'until', '{ time } or { steps }', file),
    snapshots: all.snapshots ?? 50, boundary: all.boundary ?? definition.boundary ?? 'periodic', precision: all.precision ?? 'float64',
    variant: all.variant ?? 'auto', film: filmOf(all.film, equation),
  };
  if (typeof plan.dt !== 'number' && 'steps' in plan.until) throw refusal('until', '{ time }, with steps that vary', '{ steps }');
  await checked(plan);
  return plan;
}

/** Compiles the equation, and checks its boundary conditions. */
async function checked({ equation, file, spacing, boundary, precision, shape }: Plan): Promise<void> {
  try {
    const { leastShape } = await inspect(equation, { spacing, boundary: boundary as never, precision });
    const axis = shape.findIndex((extent, i) => extent < elementAt(leastShape, i));
    if (axis >= 0) {
      throw refusal(`shape[${axis}]`, `at least ${elementAt(leastShape, axis)} cells, which the boundary conditions read`,
        String(elementAt(shape, axis)));
    }
  } catch (error) {
    if (file === undefined || error instanceof ArgumentError) throw error;
    throw placed(error, file);
  }
}

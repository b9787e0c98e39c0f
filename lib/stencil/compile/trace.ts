// Users' functions as functions of the kernel representation, whose parameters are the numbers that they turn out to read.
import { required } from '../../core/known.ts';
import type { Outliner} from '../../kernel/front/index.ts';
import {
  callFunction, computed, FunctionSource, known, Lowering, record, rules, scopeOf, type Builtin, type Staged,
} from '../../kernel/front/index.ts';
import type { Node } from '../../kernel/front/source.ts';
import {
  binary, compare, convert, f32, get, i32, logic, unary, word, type Body, type Expression, type KernelFunction, type Local,
} from '../../kernel/ir.ts';
import { walkBody } from '../../kernel/visit.ts';
import { axisNames, type Arithmetic } from '../boundary.ts';
import type { MethodStage } from '../methods.ts';

export type Precision = 'f32' | 'f64';

/** A number that a function needs. */
export type Input =
  /** A field of the stage before, and a coefficient, at an offset. */
  | { readonly kind: 'y' | 'c'; readonly index: number; readonly offset: readonly number[] }
  /** A field at the beginning of the step, or the sum of rk4, at the cell itself. */
  | { readonly kind: 'u' | 'a'; readonly index: number }
  /** A field at a distance from the boundary. */
  | { readonly kind: 'inner'; readonly index: number; readonly distance: number }
  | { readonly kind: 'place'; readonly axis: number }
  /** t, dt, h, g; p0, p1, … for parameters. */
  | { readonly kind: 'scalar'; readonly name: string };

/** A function with what its parameters are, in order. */
export interface Traced {
  readonly f: KernelFunction;
  readonly inputs: readonly Input[];
}

/** What all functions of an equation see. */
export interface Names {
  readonly dimensions: number;
  readonly fields: readonly string[];
  readonly parameters: readonly string[];
  readonly coefficients: readonly string[];
  readonly spacing: readonly number[];
  readonly precision: Precision;
  /** Functions that all others may call. */
  readonly functions: ReadonlyMap<string, FunctionSource>;
}

export const mostReach = 4, mostDistance = 7;

/** The parameters of a function, made as it reads them. */
class Inputs {
  readonly #precision: Precision;
  readonly #found = new Map<string, { readonly input: Input; readonly local: Local }>();

  constructor(precision: Precision) {
    this.#precision = precision;
  }

  get(input: Input): Staged {
    const key = Object.values(input).flat().join('_').replaceAll('-', 'm');
    let found = this.#found.get(key);
    if (found === undefined) this.#found.set(key, found = { input, local: { name: `${key}_i`, type: this.#precision } });
    return computed(get(found.local));
  }

  scalar(name: string): Staged {
    return this.get({ kind: 'scalar', name });
  }

  /** Those that a body reads. */
  usedBy(body: Body): readonly { readonly input: Input; readonly local: Local }[] {
    const read = new Set<Local>();
    walkBody(body, { expression: (e) => { if (e.kind === 'get') read.add(e.local); } });
    return [...this.#found.values()].filter(({ local }) => read.has(local));
  }
}

/** One user's function while it is compiled. */
class Tracer {
  readonly names: Names;
  readonly inputs: Inputs;
  readonly lowering: Lowering;
  readonly #source: FunctionSource;
  readonly #readers = new Map<Staged, (offset: readonly number[]) => Staged>();

  constructor(names: Names, argument: string, given: unknown, outliner?: Outliner) {
    this.names = names;
    this.inputs = new Inputs(names.precision);
    this.#source = new FunctionSource(argument, given);
    this.lowering = new Lowering(this.#source, names.precision, rules, [...names.functions.values()]);
    outliner?.watch(this.lowering);
  }

  get node(): Node {
    return this.#source.node;
  }

  call(...args: readonly Staged[]): Staged {
    const { node, argument } = this.#source;
    return callFunction({ node: this.#source.node, scope: scopeOf(this.names.functions), name: argument }, args, node, this.lowering);
  }

  /** A reader of a field or coefficient. */
  reader(name: string, read: (offset: readonly number[]) => Staged): Builtin {
    const { dimensions } = this.names;
    const made: Builtin = { kind: 'builtin', name, apply: (args, at, to) => {
      if (args.length === 0) return read(Array<number>(dimensions).fill(0));
      if (args.length !== dimensions) {
        throw to.error(at, `${name} takes ${dimensions} offset${dimensions === 1 ? '' : 's'} or none, not ${args.length}`,
          `write ${name}(${Array<number>(dimensions).fill(0).join(', ')})`);
      }
      return read(args.map((arg) => {
        const value = to.numeric(arg, at);
        const offset = value.kind === 'known' ? Number(value.value) : NaN;
        if (Number.isInteger(offset) && Math.abs(offset) <= mostReach) return offset + 0;
        throw to.error(at, value.kind === 'known' ? `offset ${offset}` : 'an offset that depends on data',
          `offsets are constant whole numbers from -${mostReach} to ${mostReach}`);
      }));
    } };
    this.#readers.set(made, read);
    return made;
  }

  /** Readers of all fields and coefficients. */
  readers(): Staged {
    const { fields, coefficients } = this.names;
    const each = (names: readonly string[], kind: 'y' | 'c') => names.map((name, index) =>
      [name, this.reader(name, (offset) => this.inputs.get({ kind, index, offset }))] as const);
    return record([...each(fields, 'y'), ...each(coefficients, 'c')]);
  }

  /** Readers of all fields and coefficients that read the cell itself only. */
  cell(): Staged {
    const { fields, coefficients } = this.names;
    const offset = Array<number>(this.names.dimensions).fill(0);
    const each = (names: readonly string[], kind: 'y' | 'c') => names.map((name, index) =>
      [name, { kind: 'builtin', name, apply: (args, at, to) => {
        if (args.length > 0) throw to.error(at, `${name} takes no offsets here`, `write ${name}(): only the cell itself is read`);
        return this.inputs.get({ kind, index, offset });
      } } satisfies Builtin] as const);
    return record([...each(fields, 'y'), ...each(coefficients, 'c')]);
  }

  parameters(): Staged {
    return record(this.names.parameters.map((name, i) => [name, this.inputs.scalar(`p${i}`)]));
  }

  place(): (readonly [string, Staged])[] {
    const { dimensions } = this.names;
    return [...axisNames.slice(0, dimensions).map((name, axis) => [name, this.inputs.get({ kind: 'place', axis })] as const),
      ['t', this.inputs.scalar('t')] as const];
  }

  tools(more: readonly (readonly [string, Staged])[] = []): Staged {
    const { spacing } = this.names;
    return record([...this.place(), ...spacing.map((d, axis) => [`d${required(axisNames[axis])}`, known(d)] as const),
      ['laplacian', this.#laplacian()], ...more]);
  }

  #laplacian(): Builtin {
    return { kind: 'builtin', name: 'laplacian', apply: ([field, ...others], at, to) => {
      const read = field && this.#readers.get(field);
      if (read === undefined || others.length > 0) throw to.error(at, 'laplacian takes one field',
        'write laplacian(u), with u as it was given');
      return laplacianOf(this.names.spacing, read, this.arithmetic(at));
    } };
  }

  /** Arithmetic on values of the function. */
  arithmetic(at: Node = this.node): Arithmetic<Staged> {
    const of = (op: 'add' | 'sub' | 'mul' | 'div') => (a: Staged, b: Staged): Staged => this.lowering.arithmetic(op, a, b, at);
    return { number: known, add: of('add'), sub: of('sub'), mul: of('mul'), div: of('div') };
  }

  /** A number for every field, from an object of the user's. */
  byField(value: Staged, what: string): readonly Staged[] {
    const { fields } = this.names;
    const hint = `return { ${fields.map((name) => `${name}: …`).join(', ')} }`;
    if (value.kind !== 'record') throw this.lowering.error(this.node, `${what} is not an object`, hint);
    const other = [...value.fields.keys()].find((name) => !fields.includes(name));
    if (other !== undefined) throw this.lowering.error(this.node, `${what} has ${other}, which is not a field`, hint);
    return fields.map((name) => {
      const field = value.fields.get(name);
      if (field === undefined) throw this.lowering.error(this.node, `${what} has no ${name}`, hint);
      return this.lowering.numeric(field, this.node);
    });
  }

  finish(name: string, results: readonly Expression[], extra: readonly Local[] = []): Traced {
    const body: Body = [...this.lowering.body, { kind: 'return', values: results }];
    const used = this.inputs.usedBy(body);
    const parameters = [...extra, ...used.map(({ local }) => local)];
    return { f: { name, parameters, results: results.map(({ type }) => type), buffers: [], body }, inputs: used.map(({ input }) => input) };
  }

  expression(value: Staged): Expression {
    return this.lowering.expression(value, this.node);
  }
}

/** The Laplacian; {@link Tools} says in which order. */
export function laplacianOf<T>(spacing: readonly number[], read: (offset: readonly number[]) => T, at: Arithmetic<T>): T {
  const along = (axis: number, by: number): T => read(spacing.map((_, i) => (i === axis ? by : 0)));
  const centre = read(spacing.map(() => 0));
  const factor = (d: number): T => at.number(1 / (d * d));
  const [first = 1] = spacing;
  if (spacing.every((d) => d === first)) {
    const neighbours = spacing.flatMap((_, axis) => [along(axis, -1), along(axis, 1)]);
    const sum = neighbours.reduce((a, b) => at.add(a, b));
    return at.mul(at.sub(sum, at.mul(at.number(2 * spacing.length), centre)), factor(first));
  }
  return spacing.map((d, axis) => at.mul(at.sub(at.add(along(axis, -1), along(axis, 1)), at.mul(at.number(2), centre)), factor(d)))
    .reduce((a, b) => at.add(a, b));
}

/** A stage of a method: the fields after it, then the sums that it collects. `outliner`: makes functions of the calls. */
export function traceRate(
  name: string, rate: unknown, { stage, isFirst }: { readonly stage: MethodStage; readonly isFirst: boolean }, names: Names,
  outliner?: Outliner,
): Traced {
  const tracer = new Tracer(names, 'rate', rate, outliner);
  const { inputs } = tracer;
  const rates = tracer.byField(tracer.call(tracer.readers(), tracer.parameters(), tracer.tools()), 'the result');
  const centre = Array<number>(names.dimensions).fill(0);
  const formulas = stage.sum === undefined ? [stage.value] : [stage.value, stage.sum];
  const results = formulas.flatMap((formula) => rates.map((k, index) => {
    const y = (): Staged => inputs.get({ kind: 'y', index, offset: centre });
    return tracer.expression(formula(tracer.arithmetic(), {
      y, u: () => (isFirst ? y() : inputs.get({ kind: 'u', index })), a: () => inputs.get({ kind: 'a', index }), k,
      h: () => inputs.scalar('h'), g: () => inputs.scalar('g'),
    }));
  }));
  return tracer.finish(name, results);
}

/** A stage of a `step`. */
export function traceStep(
  name: string, { argument, step, isFirst }: { readonly argument: string; readonly step: unknown; readonly isFirst: boolean }, names: Names,
  outliner?: Outliner,
): Traced {
  const tracer = new Tracer(names, argument, step, outliner);
  const centre = Array<number>(names.dimensions).fill(0);
  const before = record(names.fields.map((field, index) => [field, { kind: 'builtin', name: field, apply: (args, at, to) => {
    if (args.length > 0) throw to.error(at, `before.${field} takes no offsets`,
      'only the cell itself is known from the beginning of the step');
    return tracer.inputs.get(isFirst ? { kind: 'y', index, offset: centre } : { kind: 'u', index });
  } } satisfies Builtin]));
  const tools = tracer.tools([['dt', tracer.inputs.scalar('dt')], ['before', before]]);
  const values = tracer.byField(tracer.call(tracer.readers(), tracer.parameters(), tools), 'the result');
  return tracer.finish(name, values.map((value) => tracer.expression(value)));
}

/** The speed of waves along each axis, or the diffusivity, from the numbers of the cell itself. */
export function traceLimit(kind: 'speed' | 'diffusivity', given: unknown, names: Names): Traced {
  const tracer = new Tracer(names, kind, given);
  const { lowering, node } = tracer;
  const value = tracer.call(tracer.cell(), tracer.parameters(), tracer.tools());
  if (value.kind !== 'record' || kind === 'diffusivity') {
    const number = tracer.expression(lowering.numeric(value, node));
    return tracer.finish(kind, kind === 'speed' ? names.spacing.map(() => number) : [number]);
  }
  const axes = axisNames.slice(0, names.dimensions);
  return tracer.finish(kind, axes.map((axis) => {
    const own = value.fields.get(axis);
    if (own === undefined) throw lowering.error(node, `the speed has no ${axis}`, `return a number, or { ${axes.join(', ')} }`);
    return tracer.expression(lowering.numeric(own, node));
  }));
}

/** The number of a boundary condition: a function of a place on the boundary, the time and the parameters. */
export function traceValue(name: string, argument: string, value: unknown, names: Names): Traced {
  const tracer = new Tracer(names, argument, value);
  const result = tracer.call(record(tracer.place()), tracer.parameters());
  return tracer.finish(name, [tracer.expression(tracer.lowering.numeric(result, tracer.node))]);
}

/** What a user's boundary function puts into cell `k` beyond a boundary. */
export function traceGhost(name: string, argument: string, value: unknown, k: number, names: Names): Traced {
  const tracer = new Tracer(names, argument, value);
  const inner = record(names.fields.map((field, index) => [field, { kind: 'builtin', name: field, apply: (args, at, to) => {
    const [arg, ...others] = args;
    const distance = arg === undefined ? known(NaN) : to.numeric(arg, at);
    const number = distance.kind === 'known' ? Number(distance.value) : NaN;
    if (others.length > 0 || !Number.isInteger(number) || number < 0 || number > mostDistance) {
      throw to.error(at, `${field} takes one constant distance from the boundary, from 0 to ${mostDistance}`,
        `write ${field}(0) for the nearest cell`);
    }
    return tracer.inputs.get({ kind: 'inner', index, distance: number });
  } } satisfies Builtin]));
  const result = tracer.call(inner, tracer.parameters(), record([...tracer.place(), ['k', known(k)]]));
  return tracer.finish(name, [tracer.expression(tracer.lowering.numeric(result, tracer.node))]);
}

/** Whether a number is finite, as a condition on its words: comparisons of doubles cost more. */
function isFinite(local: Local): Expression {
  if (local.type === 'f32') return compare('le', unary('abs', get(local)), f32(3.4028234663852886e38));
  const exponent = i32(0x7ff00000);
  return compare('ne', binary('band', word('high', get(local)), exponent), exponent);
}

/** Whether the fields of a cell are finite and admissible, as 0 or 1. */
export function traceCheck(name: string, admissible: unknown, names: Names): Traced {
  const fields = names.fields.map((_, i): Local => ({ name: `q${i}`, type: names.precision }));
  const finite = fields.map(isFinite).reduce((a, b) => logic('and', a, b));
  if (admissible === undefined) {
    return { f: { name, parameters: fields, results: ['i32'], buffers: [], body: [{ kind: 'return', values: [convert('i32', finite)] }] },
      inputs: [] };
  }
  const tracer = new Tracer(names, 'admissible', admissible);
  const state = record(names.fields.map((field, i) => [field, computed(get(required(fields[i])))]));
  const { lowering, node } = tracer;
  const result = lowering.expression(lowering.condition(tracer.call(state, tracer.parameters()), node), node);
  return tracer.finish(name, [convert('i32', logic('and', finite, result))], fields);
}

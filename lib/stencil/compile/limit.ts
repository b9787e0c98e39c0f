// The rate of a cell and the largest of a part of the grid, for steps of varying length.
import { required } from '../../core/known.ts';
import {
  binary, call, compare, constant, exact, forLoop, get, i32, load, logic, select, set, unary, type Body, type Expression,
  type KernelFunction, type Local, type Statement,
} from '../../kernel/ir.ts';
import { rateOf, type RateArithmetic } from '../adaptive.ts';
import type { Equation } from '../types.ts';
import { arithmeticOf } from './ghost.ts';
import type { Buffers, Limit } from './stages.ts';
import { traceLimit, type Input, type Names, type Precision, type Traced } from './trace.ts';

/** The functions of an equation that bound its steps. */
export function limitOf({ definition: { speed, diffusivity } }: Equation, names: Names): Limit {
  return {
    speed: speed === undefined ? undefined : traceLimit('speed', speed, names),
    diffusivity: diffusivity === undefined ? undefined : traceLimit('diffusivity', diffusivity, names),
  };
}

function rateArithmetic(precision: Precision): RateArithmetic<Expression> {
  return { ...arithmeticOf(precision), abs: (a) => unary('abs', a), max: (a, b) => binary('max', a, b) };
}

/** What the functions of a program have in common. */
export interface LimitParts {
  readonly names: Names;
  readonly buffers: Buffers;
  readonly extents: readonly Local[];
  /** Extents, then scalars: the last parameters of every function. */
  readonly common: readonly Local[];
  /** A number that does not come from arrays, at the cell with these indices. */
  readonly scalar: (name: 'h' | 'g') => Expression;
  readonly plain: (input: Input, indices: readonly Local[]) => Expression;
  /** The indices of a row, from its number. */
  readonly rowIndices: (others: readonly Local[], row: Local) => Body;
}

/**
 * `limit_cell` (indices, common): the rate of a cell; `limit_rows` (from, to, first, end, common): the largest of those columns of those
 * rows, at least 0.
 */
export function limitFunctions(limit: Limit, parts: LimitParts): KernelFunction[] {
  const { names: { precision }, extents, common, rowIndices } = parts;
  const local = (name: string, type: Local['type'] = 'i32'): Local => ({ name, type });
  const indices = extents.map((_, i) => local(`i${i}`));
  const rate = local('rate', precision);
  const cell: KernelFunction = {
    name: 'limit_cell', parameters: [...indices, ...common], results: [precision], buffers: [],
    body: [...cellRate(limit, parts, indices, rate), { kind: 'return', values: [get(rate)] }],
  };
  const [from, to, first, end, row] = [local('from'), local('to'), local('first'), local('end'), local('row')];
  const at = extents.map((_, i) => local(`at${i}`));
  const [own, most] = [local('own', precision), local('most', precision)];
  const rows: KernelFunction = {
    name: 'limit_rows', parameters: [from, to, first, end, ...common], results: [precision], buffers: [], body: [
      set(most, constant(precision, 0)),
      forLoop({ name: 'rows' }, row, { from: get(from), to: get(to) }, [
        ...rowIndices(at.slice(0, -1), row),
        forLoop({ name: 'cells' }, required(at.at(-1)), { from: get(first), to: get(end) }, [
          ...cellRate(limit, parts, at, own), set(most, binary('max', get(most), get(own))),
        ]),
      ]),
      { kind: 'return', values: [get(most)] },
    ],
  };
  return [...[limit.speed, limit.diffusivity].flatMap((each) => (each === undefined ? [] : [each.f])), cell, rows];
}

/** Sets `rate` for a cell whose indices these are. */
function cellRate(limit: Limit, { names, buffers, extents, plain, scalar }: LimitParts, at: readonly Local[], rate: Local): Body {
  const cell = at.map(get).reduce<Expression>((sum, index, axis) =>
    (axis === 0 ? index : exact('add', exact('mul', sum, get(required(extents[axis]))), index)), i32(0));
  const read = (input: Input): Expression => (input.kind === 'y' || input.kind === 'c'
    ? load(required(buffers[input.kind][input.index]), cell) : plain(input, at));
  return rateStatements(limit, names, { read, scalar }, rate);
}

/** Sets `rate` from what `read` gives of the cell: infinite if it is not a finite number. */
export function rateStatements(
  limit: Limit, { precision, spacing }: Names,
  { read, scalar }: { readonly read: (input: Input) => Expression; readonly scalar: (name: 'h' | 'g') => Expression }, rate: Local,
): Body {
  const body: Statement[] = [];
  const called = (traced: Traced | undefined): readonly Expression[] | undefined => {
    if (traced === undefined) return undefined;
    const results = traced.f.results.map((type, i): Local => ({ name: `${traced.f.name}_${i}`, type }));
    body.push(call(traced.f.name, traced.inputs.map(read), results));
    return results.map(get);
  };
  const [speeds, diffusivity] = [called(limit.speed), called(limit.diffusivity)];
  const made = rateOf(rateArithmetic(precision), spacing, { speeds, diffusivity: diffusivity?.[0], h: () => scalar('h'),
    g: () => scalar('g') });
  const raw: Local = { name: 'raw', type: precision };
  const largest = precision === 'f32' ? 3.4028234663852886e38 : Number.MAX_VALUE;
  const isRate = logic('and', compare('ge', get(raw), constant(precision, 0)), compare('le', get(raw), constant(precision, largest)));
  return [...body, set(raw, made), set(rate, select(isRate, get(raw), constant(precision, Infinity)))];
}

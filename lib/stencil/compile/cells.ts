// Bodies that load what a cell reads, compute it and store it.
import { lastOf, required } from '../../core/known.ts';
import {
  branch, call, exact, get, i32, load, set, store, type Body, type Buffer, type Expression, type KernelFunction, type Local,
  type Statement,
} from '../../kernel/ir.ts';
import { cascadeOf } from './cascade.ts';
import type { Link } from './links.ts';
import type { CellParts, Stage, StencilProgram } from './stages.ts';
import type { Input, Traced } from './trace.ts';

/** The elements at which rows begin, by the offsets of the other axes; `centre`: the row itself, for loops along it. */
export type Bases = Map<string, Local>;

/** The element at indices, which are inside. */
export function indexOf(extents: readonly Local[], indices: readonly Expression[]): Expression {
  return indices.reduce((sum, index, axis) => exact('add', exact('mul', sum, get(required(extents[axis]))), index));
}

/** The element at which the row begins that is so many rows on, moved by `least`. */
export function baseOf(extents: readonly Local[], indices: readonly Local[], rows: readonly number[], least: number): Expression {
  if (rows.length === 0) return i32(least);
  const moved = rows.map((by, axis) => exact('add', get(required(indices[axis])), i32(by)));
  return exact('add', indexOf(extents, [...moved, i32(0)]), i32(least));
}

/** How cells are read. */
interface Reading {
  /** Whether all neighbours are inside; an expression: as it says at run time. */
  readonly isInner: boolean | Expression;
  readonly bases?: Bases | undefined;
  /** Whether the cell itself may be outside. */
  readonly mayBeOutside?: boolean;
}

/** The element of the cell itself. */
function ownElement({ extents }: CellParts, indices: readonly Local[], bases: Bases | undefined): Expression {
  const base = bases?.get('centre');
  return base === undefined ? indexOf(extents, indices.map(get)) : exact('add', get(base), get(required(indices.at(-1))));
}

/** The numbers that a function reads; statements that load them go to `body`. */
function valuesOf(
  parts: CellParts, inputs: readonly Input[], indices: readonly Local[], { isInner, bases = new Map(), mayBeOutside = false }: Reading,
  body: Statement[],
): Expression[] {
  const { buffers, common, names: { precision } } = parts;
  const loads: Statement[] = [], calls: Statement[] = [];
  const own = (buffer: Buffer): Expression => load(buffer, ownElement(parts, indices, bases));
  const values = inputs.map((input): Expression => {
    switch (input.kind) {
      case 'u': return own(required(buffers.u[input.index]));
      case 'a': return own(required(buffers.a[input.index]));
      case 'y': case 'c': {
        const buffer = required(buffers[input.kind][input.index]);
        if (!mayBeOutside && input.offset.every((by) => by === 0)) return own(buffer);
        const neighbour = (): Expression => neighbourOf(parts, inputs, { buffer, offset: input.offset }, indices, bases, body);
        if (isInner === true) return neighbour();
        const value = parts.local(precision);
        const places = indices.map((index, axis) => exact('add', get(index), i32(required(input.offset[axis]))));
        // A number of its own: on devices the call takes its address, and waits for the load if that is the same number.
        const read = isInner === false ? value : parts.local(precision);
        calls.push(call(`read_${buffer.name}_${indices.length}`, [...places, ...common.map(get)], [read]));
        if (isInner !== false) {
          calls.push(set(value, get(read)));
          loads.push(set(value, neighbour()));
        }
        return get(value);
      }
      default: return parts.plain(input, indices);
    }
  });
  body.push(...typeof isInner === 'boolean' ? calls : [branch(isInner, loads, calls)]);
  return values;
}

/** A neighbour that is inside. New bases are made. */
function neighbourOf(
  { extents, local }: CellParts, inputs: readonly Input[],
  { buffer, offset }: { readonly buffer: Buffer; readonly offset: readonly number[] }, indices: readonly Local[], bases: Bases,
  body: Statement[],
): Expression {
  const last = required(offset.at(-1));
  const rows = offset.slice(0, -1);
  const key = rows.join();
  // A row's least offset belongs to its base: what is added to it must not be negative.
  const least = Math.min(...inputs.flatMap((input) =>
    ((input.kind === 'y' || input.kind === 'c') && input.offset.slice(0, -1).join() === key ? [required(input.offset.at(-1))] : [])));
  let base = bases.get(key);
  if (base === undefined) {
    bases.set(key, base = local('i32', 'base'));
    body.push(set(base, baseOf(extents, indices, rows, least)));
  }
  return load(buffer, exact('add', get(base), get(required(indices.at(-1)))), last - least);
}

/** What a stage does with a cell: `point` gets the numbers given, then its inputs. */
interface Work {
  readonly stage: Stage;
  readonly isLast: boolean;
  readonly point: Traced;
  readonly given: readonly Expression[];
}

/** Loads, computes and stores a cell; sets `good` if it is given, 1 before the last stage. */
export function cellBody(
  parts: CellParts, { stage, isLast, point, given }: Work, indices: readonly Local[],
  { good, ...reading }: Reading & { readonly good: Local | undefined },
): Body {
  const { buffers, names: { fields: { length: fields } } } = parts;
  const body: Statement[] = [];
  const args = [...given, ...valuesOf(parts, point.inputs, indices, reading, body)];
  const results = point.f.results.map((type) => parts.local(type));
  body.push(call(point.f.name, args, results));
  const at = ownElement(parts, indices, reading.bases);
  results.forEach((result, i) => {
    const to = i >= fields ? buffers.a[i - fields] : buffers[stage.to === 'start' ? 'u' : 'o'][i];
    body.push(store(required(to), at, get(result)));
  });
  if (good !== undefined) body.push(isLast ? parts.checked(results.slice(0, fields).map(get), good) : set(good, i32(1)));
  return body;
}

/**
 * For a stage whose cells share work (./cascade.ts): `linkK_S` (indices, inside, common, numbers) returns what link K makes for a cell,
 * which may lie outside. `end_S` (the same arguments) makes the cell and returns whether it is good.
 */
export function sharingFunctions({ parts, stages }: Pick<StencilProgram, 'parts' | 'stages'>, s: number): readonly KernelFunction[] {
  const stage = required(stages[s]);
  const cascade = cascadeOf(stage, s);
  if (cascade === undefined) return [];
  const { indices } = parts;
  const inside: Local = { name: 'inside', type: 'bool' };
  const parametersOf = ({ f, takes }: Link): readonly Local[] =>
    [...indices, inside, ...parts.common, ...f.parameters.slice(0, takes.length)];
  const numbersOf = ({ f, takes }: Link): readonly Expression[] => f.parameters.slice(0, takes.length).map(get);
  const makers = cascade.links.slice(0, -1), finish = lastOf(cascade.links);
  const good = parts.local('i32', 'good');
  const end = cellBody(parts, { stage, isLast: s === stages.length - 1, point: finish, given: numbersOf(finish) }, indices,
    { isInner: reachesOut(finish) ? get(inside) : true, good });
  return [...cascade.callees, ...cascade.links.map(({ f }) => f), ...makers.map((link, k): KernelFunction => {
    const body: Statement[] = [];
    const values = valuesOf(parts, link.inputs, indices, { isInner: get(inside), mayBeOutside: true }, body);
    const made = link.f.results.map((type) => parts.local(type));
    return {
      name: `link${k}_${s}`, parameters: parametersOf(link), results: made.map(({ type }) => type), buffers: [],
      body: [...body, call(link.f.name, [...numbersOf(link), ...values], made), { kind: 'return', values: made.map(get) }],
    };
  }), {
    name: `end_${s}`, parameters: parametersOf(finish), results: ['i32'], buffers: [],
    body: [...end, { kind: 'return', values: [get(good)] }],
  }];
}

const reachesOut = ({ inputs }: Traced): boolean =>
  inputs.some((input) => (input.kind === 'y' || input.kind === 'c') && input.offset.some((by) => by !== 0));

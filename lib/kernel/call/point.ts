// A user's function, compiled for the kinds of its arguments.
import { describeValue } from '../../core/arrays.ts';
import { hasFields } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { Latest } from '../../core/latest.ts';
import { FunctionSource, pointFunction, type PointFunction, type Staged } from '../front/index.ts';
import {
  binary, call, convert, get, set, unary, type Expression, type KernelFunction, type Local, type ScalarType, type Statement, type Type,
} from '../ir.ts';
import type { Operand } from './operands.ts';
import type { KernelElement } from './types.ts';

export const scalarTypes: Readonly<Record<KernelElement, ScalarType>> = { float32: 'f32', float64: 'f64', int32: 'i32' };
export const elementNames: Readonly<Record<ScalarType, KernelElement>> = { f32: 'float32', f64: 'float64', i32: 'int32' };

/** The kind of an argument: a number that is given at each call, or elements of an array. */
export type Kind = KernelElement | 'number';

export function kindsOf(operands: readonly Operand[]): Kind[] {
  return operands.map((operand) => (typeof operand === 'number' ? 'number' : operand.type));
}

/** The precision of a function: single if all arrays are float32. Numbers do not matter. */
export function precisionOf(kinds: readonly Kind[]): 'f32' | 'f64' {
  const arrays = kinds.filter((kind) => kind !== 'number');
  return arrays.length > 0 && arrays.every((kind) => kind === 'float32') ? 'f32' : 'f64';
}

/** How the values of a result are arranged. */
export type Arrangement =
  | { readonly kind: 'value' }
  | { readonly kind: 'list'; readonly items: readonly Arrangement[] }
  | { readonly kind: 'record'; readonly fields: readonly (readonly [string, Arrangement])[] };

function arrangementOf(value: Staged): Arrangement {
  if (value.kind === 'tuple') return { kind: 'list', items: value.items.map(arrangementOf) };
  if (value.kind === 'record') {
    return { kind: 'record', fields: [...value.fields].map(([name, field]) => [name, arrangementOf(field)] as const) };
  }
  return { kind: 'value' };
}

/** The values in their arrangement. */
export function arrange(arrangement: Arrangement, values: readonly unknown[]): unknown {
  let next = 0;
  const build = (of: Arrangement): unknown => {
    if (of.kind === 'value') return values[next++];
    if (of.kind === 'list') return of.items.map(build);
    return Object.fromEntries(of.fields.map(([name, field]) => [name, build(field)]));
  };
  return build(arrangement);
}

/** The given values for each of an arrangement's, in order; `name`: of the whole, for messages. */
export function spread(arrangement: Arrangement, given: unknown, name: string): { readonly name: string; readonly value: unknown }[] {
  if (arrangement.kind === 'value') return [{ name, value: given }];
  const isList = arrangement.kind === 'list';
  const names = isList ? arrangement.items.map((_, i) => String(i)) : arrangement.fields.map(([field]) => field);
  const parts = isList ? arrangement.items : arrangement.fields.map(([, field]) => field);
  const fits = typeof given === 'object' && given !== null && !ArrayBuffer.isView(given) && Array.isArray(given) === isList
    && Object.keys(given).length === names.length && names.every((key) => Object.hasOwn(given, key));
  if (!fits) throw refusal(name, isList ? `a list of ${names.length} arrays` : `an object with ${names.join(', ')}`, 'another arrangement');
  return parts.flatMap((part, i) => spread(part, (given as Record<string, unknown>)[elementAt(names, i)],
    isList ? `${name}[${i}]` : `${name}.${elementAt(names, i)}`));
}

/** A function for given kinds of arguments. */
export interface Point {
  readonly kinds: readonly Kind[];
  readonly precision: 'f32' | 'f64';
  readonly f: KernelFunction;
  readonly arrangement: Arrangement;
}

const sourcesOf = new WeakMap<object, FunctionSource>();
const texts = new Latest<FunctionSource>(256);

/**
 * The parsed function. Each text is parsed once: a function that is written in a loop is a new one in every iteration. `argument`: its name
 * in messages.
 */
export function sourceOf(given: unknown, argument = 'f'): FunctionSource {
  const known = typeof given === 'function' && argument === 'f' ? sourcesOf.get(given) : undefined;
  if (known !== undefined) return known;
  const text = typeof given === 'function' ? Function.prototype.toString.call(given) : given;
  if (typeof text !== 'string') return new FunctionSource(argument, given); // throws
  const source = texts.get(`${argument} ${text}`, () => new FunctionSource(argument, given));
  if (typeof given === 'function' && argument === 'f') sourcesOf.set(given, source);
  return source;
}

const functionName = /^(?!(?:Math|Number|NaN|Infinity|undefined)$)[A-Za-z_$][\w$]*$/;

/** The functions that a function may call, by name. */
export function functionsOf(given: unknown): ReadonlyMap<string, FunctionSource> {
  if (given === undefined) return new Map();
  if (!hasFields(given)) throw refusal('functions', 'an object of functions by name', describeValue(given));
  return new Map(Object.entries(given).map(([name, f]) => {
    if (!functionName.test(name)) throw refusal('functions', 'names of functions, other than Math and Number', `'${name}'`);
    return [name, sourceOf(f, `functions.${name}`)] as const;
  }));
}

/** Compiles a function. Throws FunctionError, ArgumentError for another number of inputs. */
export function pointOf(source: FunctionSource, kinds: readonly Kind[], functions: ReadonlyMap<string, FunctionSource> = new Map()): Point {
  const count = source.node.params.length;
  if (count === 0) throw source.error(source.node, 'a function without parameters', 'give it at least one');
  if (count !== kinds.length) {
    throw refusal('inputs', `${count} of them, one for each parameter of the function`, `${kinds.length}`);
  }
  const precision = precisionOf(kinds);
  const { f, shape }: PointFunction = pointFunction('point', source, { precision, count, functions });
  if (f.results.length === 0) throw source.error(source.node, 'a function that returns nothing', 'return a number or several');
  return { kinds, precision, f, arrangement: arrangementOf(shape) };
}

/** What happens to a value before it is stored or combined. */
export type Preparation = 'none' | 'abs' | 'square';

function converted(e: Expression, to: Type): Expression {
  if (e.type === to) return e;
  return e.type === 'bool' && to !== 'i32' ? convert(to, convert('i32', e)) : convert(to, e);
}

/**
 * The function on elements as they are stored: its parameters are elements of the arrays, and doubles for numbers; its results have the
 * given types.
 */
export function itemFunction(point: Point, results: readonly ScalarType[], preparation: Preparation = 'none'): KernelFunction {
  const { f, kinds, precision } = point;
  const parameters = kinds.map((kind, i): Local => ({ name: `x${i}`, type: kind === 'number' ? 'f64' : scalarTypes[kind] }));
  const made = f.results.map((type, i): Local => ({ name: `y${i}`, type }));
  const args = parameters.map((local) => converted(get(local), precision));
  const body: Statement[] = [call(f.name, args, made)];
  const values = made.map((local, i) => {
    const value = converted(get(local), elementAt(results, i));
    if (preparation === 'none') return value;
    if (preparation === 'abs') return unary('abs', value);
    const wide: Local = { name: `w${i}`, type: value.type };
    body.push(set(wide, value));
    return binary('mul', get(wide), get(wide));
  });
  body.push({ kind: 'return', values });
  return { name: 'item', parameters, results, buffers: [], body };
}

/** Types of results if none are asked for: truth values are int32. */
export function resultTypes(point: Point, asked: ScalarType | undefined): ScalarType[] {
  return point.f.results.map((type) => (type === 'bool' ? 'i32' : asked ?? required<ScalarType>(point.precision)));
}

// Functions of the same shape are generated once: if they differ only in constants and buffers, these become parameters. The
// compile time of the printed code then grows with the number of different shapes, not of functions.
import {
  constant, exact, forLoop, get, valueOf, type Body, type Buffer, type Expression, type ExpressionOf, type KernelFunction, type Label,
  type Local, type Program, type ScalarType, type Statement,
} from '../ir.ts';
import { functionText } from '../text.ts';
import { localsOf, mapBody, Names, walkBody } from '../visit.ts';
import { elementAt, required } from '../../core/known.ts';
import { renameBody } from './clone.ts';

/** The call that replaces a call of the original function. */
export interface SharedCall {
  readonly callee: string;
  /** Arguments that follow those of the function itself. */
  readonly args: readonly ExpressionOf<'constant'>[];
  /** For each placeholder buffer of the callee: the actual buffer. */
  readonly buffers: ReadonlyMap<Buffer, Buffer>;
}

export interface SharedFunctions {
  /** One function for each shape that occurs several times; other functions unchanged. */
  readonly functions: readonly KernelFunction[];
  /** Placeholder buffers: external ones, supplied by the caller. */
  readonly buffers: readonly Buffer[];
  /** By name of each original function. */
  readonly calls: ReadonlyMap<string, SharedCall>;
}

/** More parameters than this cost more than they save, unless the caller puts them elsewhere. */
const mostParameters = 48;

/** Visits the parts in which functions of the same shape may differ. */
interface Slots {
  readonly number: (type: ScalarType, value: number) => Expression;
  /** For buffers that do not belong to the function. */
  readonly buffer: (buffer: Buffer) => Buffer;
}

function indexed(index: Expression, offset: number, { number }: Slots): { readonly index: Expression; readonly offset: number } {
  const add = number('i32', offset);
  const x = valueOf(add);
  return x === undefined ? { index: exact('add', index, add), offset: 0 } : { index, offset: x };
}

/** The body with its slots replaced. They are visited in an order that depends on the shape only. */
function mapSlots(body: Body, slots: Slots): Body {
  const bufferOf = (buffer: Buffer): Buffer => (buffer.role === 'local' ? buffer : slots.buffer(buffer));
  return mapBody(body, {
    expression: (e) => {
      if (e.kind === 'constant' && e.type !== 'bool') return slots.number(e.type as ScalarType, e.value);
      return e.kind === 'load' ? { ...e, buffer: bufferOf(e.buffer), ...indexed(e.index, e.offset, slots) } : e;
    },
    statement: (s): Statement => {
      switch (s.kind) {
        case 'store': return { ...s, buffer: bufferOf(s.buffer), ...indexed(s.index, s.offset, slots) };
        case 'copy': return { ...s, to: bufferOf(s.to), from: bufferOf(s.from) };
        case 'fill': return { ...s, buffer: bufferOf(s.buffer) };
        // The maximum number of iterations may differ.
        case 'for': return forLoop(s.label, s.counter, s, s.body);
        default: return s;
      }
    },
  });
}

/** A function's shape as text, and the contents of its slots. */
interface Taken {
  readonly f: KernelFunction;
  readonly key: string;
  readonly numbers: readonly ExpressionOf<'constant'>[];
  /** Buffers that do not belong to it, in order of appearance. */
  readonly buffers: readonly Buffer[];
}

function isWritable({ role, isReadOnly }: Buffer): boolean {
  return role !== 'constant' && isReadOnly !== true;
}

/** What functions of one shape have in common, as far as it is found in little time. No shape's text is the same. */
function formOf({ parameters, results, buffers, body }: KernelFunction): string {
  const kinds: string[] = [];
  walkBody(body, { statement: ({ kind }) => { kinds.push(kind); } });
  return [parameters.length, results.length, buffers.length, ...kinds].join();
}

/** The function with neutral names and without the contents of its slots. */
function taken(f: KernelFunction): Taken {
  const numbers: ExpressionOf<'constant'>[] = [];
  const placeholders = new Map<Buffer, Buffer>();
  const standIn = (buffer: Buffer): Buffer => {
    let found = placeholders.get(buffer);
    if (found === undefined) {
      const name = `b${placeholders.size}_${isWritable(buffer) ? buffer.element : `const_${buffer.element}`}`;
      placeholders.set(buffer, found = { name, element: buffer.element, role: 'external', length: undefined });
    }
    return found;
  };
  const body = mapSlots(f.body, {
    number: (type, value) => {
      numbers.push(constant(type, value));
      return constant(type, 0);
    },
    buffer: standIn,
  });
  const locals = new Map<Local, Local>(localsOf(f).map((local, i) => [local, { name: `l${i}`, type: local.type }]));
  const labels = new Map<Label, Label>();
  walkBody(body, { statement: (s) => { if ('label' in s && !labels.has(s.label)) labels.set(s.label, { name: `n${labels.size}` }); } });
  const own = new Map<Buffer, Buffer>(f.buffers.map((buffer, i) => [buffer, { ...buffer, name: `a${i}` }]));
  const renamed = renameBody(body, { locals: new Map([...locals].map(([from, to]) => [from, get(to)])), labels, buffers: own });
  const key = functionText({
    name: 'f', parameters: f.parameters.map((local) => required(locals.get(local))), results: f.results, buffers: [...own.values()],
    body: renamed,
  });
  return { f, key, numbers, buffers: [...placeholders.keys()] };
}

/** A slot of all functions of a shape: its contents in each, and the parameter for it if they differ. */
interface Parameter<Place, By> {
  readonly at: Place;
  readonly by: By;
}

/** A body without the ranges of locals, which may not hold for the other functions. */
function withoutRanges(f: KernelFunction, body: Body): Body {
  const ranged = localsOf(f).filter(({ range }) => range !== undefined);
  return renameBody(body, { locals: new Map(ranged.map((local) => [local, get({ name: local.name, type: local.type })])) });
}

/** Merges the functions of one shape. Undefined if that takes too many parameters. */
function joined(name: string, members: readonly Taken[], names: Names, most: number): SharedFunctions | undefined {
  const [first] = members as [Taken];
  const numbers = new Map<string, Parameter<number, Local>>();
  const buffers = new Map<Buffer, Parameter<number, Buffer>>();
  first.buffers.forEach((buffer, at) => {
    if (members.every((each) => each.buffers[at] === buffer)) return;
    const { element } = buffer;
    const by: Buffer = { name: `${name}_b${at}`, element, role: 'external', length: undefined, isReadOnly: !isWritable(buffer) };
    buffers.set(buffer, { at, by });
  });
  let next = 0;
  const body = mapSlots(first.f.body, {
    number: (type, value) => {
      const at = next++;
      const values = members.map((each) => required(each.numbers[at]).value);
      if (values.every((each) => Object.is(each, value))) return constant(type, value);
      const key = `${type} ${values.map((each) => (Object.is(each, -0) ? '-0' : String(each))).join(' ')}`;
      let parameter = numbers.get(key);
      if (parameter === undefined) numbers.set(key, parameter = { at, by: { name: names.make('y'), type } });
      return get(parameter.by);
    },
    buffer: (buffer) => buffers.get(buffer)?.by ?? buffer,
  });
  if (numbers.size + buffers.size > most) return undefined;
  const parameters = [...numbers.values()];
  const calls = members.map((each): readonly [string, SharedCall] => [each.f.name, {
    callee: name, args: parameters.map(({ at }) => required(each.numbers[at])),
    buffers: new Map([...buffers.values()].map(({ at, by }) => [by, required(each.buffers[at])])),
  }]);
  const f = {
    ...first.f, name, parameters: [...first.f.parameters, ...parameters.map(({ by }) => by)], body: withoutRanges(first.f, body),
  };
  return { functions: [f], buffers: [...buffers.values()].map(({ by }) => by), calls: new Map(calls) };
}

/**
 * Merges functions of the same shape. They must not call other functions; `calls` says what to call instead of each. `prefix`: for the
 * names of the merged functions; `most`: parameters that a merged function may take beyond its own.
 */
export function shareFunctions(
  program: Program, functions: readonly KernelFunction[], prefix: string, most = mostParameters,
): SharedFunctions {
  const classes = new Map<string, Taken[]>();
  const forms = functions.map(formOf);
  const seen = new Set<string>(), several = new Set(forms.filter((form) => seen.size === seen.add(form).size));
  for (const [i, f] of functions.entries()) {
    const form = elementAt(forms, i);
    const each = !several.has(form) ? { f, key: form, numbers: [], buffers: [] } : taken(f);
    const known = classes.get(each.key);
    if (known === undefined) classes.set(each.key, [each]);
    else known.push(each);
  }
  const made = { functions: [] as KernelFunction[], buffers: [] as Buffer[], calls: [] as (readonly [string, SharedCall])[] };
  for (const members of classes.values()) {
    const shared = members.length < 2 ? undefined
      : joined(`${prefix}_${made.functions.length}`, members, Names.of(program, required(members[0]).f), most);
    made.functions.push(...shared?.functions ?? members.map(({ f }) => f));
    made.buffers.push(...shared?.buffers ?? []);
    made.calls.push(...shared?.calls ?? members.map(({ f: { name } }) => [name, { callee: name, args: [], buffers: new Map() }] as const));
  }
  return { functions: made.functions, buffers: made.buffers, calls: new Map(made.calls) };
}

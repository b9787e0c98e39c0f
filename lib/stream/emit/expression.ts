// Expressions of the intermediate representation as text of the target language; what is known already is worked out.
import { binaryOf, conversionOf, mathOf, unaryOf } from '../interpret/arithmetic.ts';
import { vectorSizes } from '../interpret/values.ts';
import type { IrExpression, IrType, ScalarName, StateVariable, Variable } from '../ir.ts';
import type { Context } from './context.ts';
import { countsOf, fieldOf, kindOf, kindOfType, kinds, placesOf } from '../plan/layout.ts';
import { explode, loadValue, spill, storeValue } from './memory.ts';
import { rangeOf } from './ranges.ts';
import { isPlace, sizeOfType, type Binding, type Ex, type Place, type Slot, type Val } from './value.ts';
import { complexCall, vectorOperator } from './vectors.ts';
import { Retry } from './writer.ts';

type Of<K extends IrExpression['kind']> = Extract<IrExpression, { kind: K }>;
export const comparisons = new Set(['==', '!=', '<', '<=', '>', '>=']);

export function nameOf(type: IrType): ScalarName {
  if (type.kind !== 'scalar') throw new Error(`${type.kind} is no scalar`);
  return type.name;
}

/** The value of an expression. Values in memory may change when later code runs. */
export function evaluate(c: Context, e: IrExpression): Val {
  switch (e.kind) {
    case 'constant': return constantValue(c, e);
    case 'variable': return bound(c, e);
    case 'state': return state(c, e);
    case 'element': return element(c, e);
    case 'field': return field(c, e);
    case 'part': return [parts(c, e.vector)[e.part]!];
    case 'compose': return evaluateAll(c, e.parts).map((part) => scalarOf(part));
    case 'call': return c.options.writing.call(c, e);
    case 'math': return math(c, e);
    case 'pop': return input(c).pop();
    case 'peek': return input(c).peek(scalar(c, e.index), rangeOf(c, e.index));
    case 'iter': return [c.options.iteration()];
    case 'unary': return unary(c, e);
    case 'binary': return e.type.kind === 'vector' ? vector(c, e) : [binary(c, e)];
    case 'conditional': return conditional(c, e);
    case 'convert': return convert(c, e);
  }
}

/** The value of a scalar expression. */
export function scalar(c: Context, e: IrExpression): Ex {
  return scalarOf(evaluate(c, e));
}

export function scalarOf(value: Val): Ex {
  if (isPlace(value)) throw new Error('a scalar cannot lie in memory');
  return value[0]!;
}

/** The scalars of a value, in memory order. */
export function parts(c: Context, e: IrExpression): readonly Ex[] {
  const value = evaluate(c, e);
  return isPlace(value) ? explode(c.w, value, e.type) : value;
}

/** Values from left to right: where a later one takes statements, earlier ones are kept. */
export function evaluateAll(c: Context, list: readonly IrExpression[]): Val[];
/** Some of them are made by `make`, and taken as they are. */
export function evaluateAll(c: Context, list: readonly IrExpression[],
  make: (e: IrExpression, i: number) => Binding | undefined): (Val | Binding)[];
export function evaluateAll(c: Context, list: readonly IrExpression[],
  make?: (e: IrExpression, i: number) => Binding | undefined): (Val | Binding)[] {
  const { analysis } = c.options;
  let lastEffect = -1;
  list.forEach((e, i) => { if (analysis.hasEffects(e)) lastEffect = i; });
  return list.map((e, i) => {
    const made = make?.(e, i);
    if (made !== undefined) return made;
    const value = evaluate(c, e);
    if (i >= lastEffect) return value;
    if (!isPlace(value)) return value.map((part) => c.w.stable(part));
    return analysis.assignedBy(list[lastEffect]!).size > 0 ? spill(c.w, value, e.type) : c.w.stablePlace(value);
  });
}

function input(c: Context) {
  if (c.options.input === undefined) throw new Error('this filter has no input');
  return c.options.input;
}

function constantValue(c: Context, e: Of<'constant'>): Val {
  const { numbers } = e.value;
  if (sizeOfType(e.type) > 64) throw new Error('large constants are tables');
  return placesOf(e.type).map(({ kind }, i) => c.w.literal(kind, numbers[i] ?? 0));
}

function bound(c: Context, e: Of<'variable'>): Val {
  const binding = c.binding(e.variable);
  return binding.kind === 'memory' ? loadValue(c.w, binding.place, e.type) : binding.slots.map(({ ex }) => ex);
}

function state(c: Context, e: Of<'state'>): Val {
  if (e.variable.role !== 'constant') return bound(c, e as unknown as Of<'variable'>);
  if (e.type.kind === 'array' || e.type.kind === 'struct') return c.table(e.variable);
  return placesOf(e.type).map(({ kind }, i) => c.w.literal(kind, e.variable.initial.numbers[i] ?? 0));
}

/** The part of a constant field that an expression means, by place in memory order; undefined where it is not known. */
function constantPart(c: Context, e: IrExpression): { variable: StateVariable; at: number } | undefined {
  if (e.kind === 'state') return e.variable.role === 'constant' ? { variable: e.variable, at: 0 } : undefined;
  if (e.kind === 'field') {
    const outer = constantPart(c, e.object);
    return outer === undefined ? undefined : { ...outer, at: outer.at + fieldOf(e.object.type, e.field).at };
  }
  if (e.kind !== 'element' || e.array.type.kind !== 'array') return undefined;
  const outer = constantPart(c, e.array);
  const range = outer === undefined ? undefined : rangeOf(c, e.index);
  if (outer === undefined || range === undefined || range[0] !== range[1] || c.options.analysis.hasEffects(e.index)) return undefined;
  if (range[0] < 0 || range[0] >= e.array.type.length) return undefined;
  return { variable: outer.variable, at: outer.at + range[0] * sizeOfType(e.type) };
}

/** An index, checked unless it is proved to lie inside. */
export function index(c: Context, e: Of<'element'>): Ex {
  const at = scalar(c, e.index);
  const length = e.array.type.kind === 'array' ? e.array.type.length : 0;
  if (at.known !== undefined && at.known >= 0 && at.known < length) return at;
  const range = rangeOf(c, e.index);
  if (e.safe || (range !== undefined && range[0] >= 0 && range[1] < length)) return at;
  return { text: c.dialect.within(at.text, String(length), c.site('index', e.span, length)), kind: 'i', stable: false };
}

function element(c: Context, e: Of<'element'>): Val {
  const fixed = e.type.kind === 'scalar' ? constantPart(c, e) : undefined;
  if (fixed !== undefined) return [c.w.literal(kindOfType(e.type), fixed.variable.initial.numbers[fixed.at] ?? 0)];
  if (c.options.analysis.hasEffects(e.index)) return effectfulElement(c, e);
  const array = evaluate(c, e.array);
  const at = index(c, e);
  if (isPlace(array)) return loadValue(c.w, movedPlace(c, array, at, e.type), e.type);
  const size = sizeOfType(e.type);
  if (at.known !== undefined && (at.known + 1) * size <= array.length) return array.slice(at.known * size, (at.known + 1) * size);
  const root = rootVariable(e.array);
  if (root !== undefined) throw new Retry('memory', c.owner(root));
  return loadValue(c.w, movedPlace(c, spill(c.w, array, e.array.type), c.w.stable(at), e.type), e.type);
}

function effectfulElement(c: Context, e: Of<'element'>): Val {
  const at = c.w.stable(index(c, e));
  const array = evaluate(c, e.array);
  return loadValue(c.w, movedPlace(c, isPlace(array) ? array : spill(c.w, array, e.array.type), at, e.type), e.type);
}

function rootVariable(e: IrExpression): Variable | undefined {
  if (e.kind === 'variable' || e.kind === 'state') return e.variable;
  if (e.kind === 'element') return rootVariable(e.array);
  return e.kind === 'field' ? rootVariable(e.object) : undefined;
}

/** The place of an element. */
export function movedPlace(c: Context, place: Place, at: Ex, type: IrType): Place {
  const counts = countsOf(type);
  const index = kinds.filter((kind) => counts[kind] > 0).length > 1 ? c.w.stable(at) : at;
  const move = (kind: 'i' | 'f' | 'd') => (counts[kind] === 0 ? place.at[kind] : c.w.sum(place.at[kind], c.w.times(index, counts[kind])));
  return { ...place, at: { i: move('i'), f: move('f'), d: move('d') } };
}

/** The place of a field. */
export function fieldPlace(c: Context, place: Place, object: IrType, name: string): { place: Place; type: IrType } {
  const { type, before } = fieldOf(object, name);
  const move = (kind: 'i' | 'f' | 'd') => c.w.plus(place.at[kind], before[kind]);
  return { type, place: { ...place, at: { i: move('i'), f: move('f'), d: move('d') } } };
}

function field(c: Context, e: Of<'field'>): Val {
  const object = evaluate(c, e.object);
  if (isPlace(object)) return loadValue(c.w, fieldPlace(c, object, e.object.type, e.field).place, e.type);
  const { at } = fieldOf(e.object.type, e.field);
  return object.slice(at, at + sizeOfType(e.type));
}

function fold(c: Context, type: IrType, x: number): Ex {
  return c.w.literal(kindOfType(type), x);
}

function math(c: Context, e: Of<'math'>): Val {
  if (e.name === 'random') return [random(c, e)];
  const first = e.args[0]!.type;
  if (first.kind === 'vector') return complexCall(c, e.name, parts(c, e.args[0]!));
  const args = evaluateAll(c, e.args).map((arg) => scalarOf(arg));
  const known = args.map((arg) => arg.known);
  if (!known.includes(undefined)) return [fold(c, e.type, mathOf(e.name, nameOf(first))!(...known as number[]))];
  return [{ text: c.dialect.math(e.name, kindOfType(e.type), args.map(({ text }) => text)), kind: kindOfType(e.type), stable: false }];
}

function random(c: Context, e: Of<'math'>): Ex {
  const range = e.args[0] === undefined ? undefined : c.w.stable(scalar(c, e.args[0]));
  const name = c.options.random();
  c.w.emit(`${name} = ${c.dialect.binary('+', 'i', name, String(0x6d2b79f5), undefined)};`);
  const bits = c.dialect.mix(name);
  if (range === undefined) return c.w.stable({ text: `wl_unit(${bits})`, kind: 'f', stable: false });
  const site = c.site('random', e.span);
  return c.w.stable({ text: `wl_range(${bits}, ${range.text}, ${site})`, kind: 'i', stable: false });
}

function unary(c: Context, e: Of<'unary'>): Val {
  if (e.type.kind === 'vector') {
    return parts(c, e.operand).map((part) => ({ text: c.dialect.negate('f', part.text), kind: 'f' as const, stable: false }));
  }
  const operand = scalar(c, e.operand);
  const name = nameOf(e.operand.type);
  const kind = kindOfType(e.type);
  if (operand.known !== undefined) return [fold(c, e.type, unaryOf(e.operator, name)!(operand.known))];
  if (e.operator === '!') {
    const text = operand.condition === undefined ? c.dialect.compare('==', operand.text, '0') : `(!${operand.condition})`;
    return [{ text: c.dialect.fromCondition(text), kind, stable: false, condition: text }];
  }
  const text = e.operator === '-' ? c.dialect.negate(kind, operand.text) : name === 'bit' ? `(${operand.text} ^ 1)` : `(~${operand.text})`;
  return [{ text, kind, stable: false }];
}

function vector(c: Context, e: Of<'binary'>): Val {
  const [left, right] = evaluateAll(c, [e.left, e.right]).map((each) => (isPlace(each) ? explode(c.w, each, e.type) : each));
  return vectorOperator(c, e.operator, e.type.kind === 'vector' && e.type.name === 'complex', [left!, right!]);
}

/** A scalar as a condition. */
export function conditionOf(c: Context, ex: Ex): string {
  return ex.condition ?? c.dialect.compare('!=', ex.text, c.dialect.literal(ex.kind, 0));
}

function binary(c: Context, e: Of<'binary'>): Ex {
  if (e.operator === '&&' || e.operator === '||') return lazy(c, e);
  const [a, b] = evaluateAll(c, [e.left, e.right]).map((each) => scalarOf(each)) as [Ex, Ex];
  const name = nameOf(e.left.type);
  const isDivision = kindOf(name) === 'i' && (e.operator === '/' || e.operator === '%');
  if (a.known !== undefined && b.known !== undefined && !(isDivision && b.known === 0)) {
    return fold(c, e.type, binaryOf(e.operator, name)!(a.known, b.known));
  }
  if (comparisons.has(e.operator)) {
    const condition = c.dialect.compare(e.operator, a.text, b.text);
    return { text: c.dialect.fromCondition(condition), kind: 'i', stable: false, condition };
  }
  const site = isDivision && (b.known === undefined || b.known === 0) ? c.site(e.operator === '/' ? 'divide' : 'remainder', e.span)
    : undefined;
  const isExact = (e.operator === '+' || e.operator === '-' || e.operator === '*') && kindOf(name) === 'i' && rangeOf(c, e) !== undefined;
  const text = isExact ? c.dialect.exact(e.operator, a.text, b.text) : c.dialect.binary(e.operator, kindOf(name), a.text, b.text, site);
  return { text, kind: kindOf(name), stable: false };
}

function lazy(c: Context, e: Of<'binary'>): Ex {
  const left = scalar(c, e.left);
  const isAnd = e.operator === '&&';
  if (left.known !== undefined) {
    if ((left.known !== 0) !== isAnd) return c.w.int(isAnd ? 0 : 1);
    const right = scalar(c, e.right);
    if (right.known !== undefined) return c.w.int(right.known === 0 ? 0 : 1);
    const condition = conditionOf(c, right);
    return { text: c.dialect.fromCondition(condition), kind: 'i', stable: false, condition };
  }
  if (!c.options.analysis.hasEffects(e.right)) {
    const mark = c.w.lines.length;
    const right = scalar(c, e.right);
    if (c.w.lines.length === mark) {
      const condition = `(${conditionOf(c, left)} ${e.operator} ${conditionOf(c, right)})`;
      return { text: c.dialect.fromCondition(condition), kind: 'i', stable: false, condition };
    }
    // It took statements, which may stand in a branch only.
    c.w.lines.length = mark;
  }
  const yes = (): Val => [scalar(c, e.right)];
  const no = (): Val => [c.w.int(isAnd ? 0 : 1)];
  return scalarOf(choose(c, left, { type: e.type, then: isAnd ? yes : no, otherwise: isAnd ? no : yes, of: [e.right] }));
}

interface Choice {
  readonly type: IrType;
  readonly then: () => Val;
  readonly otherwise: () => Val;
  readonly of: readonly IrExpression[];
}

/** One of two values by statements. */
function choose(c: Context, condition: Ex, choice: Choice): Val {
  const { w } = c;
  const { analysis, input: end } = c.options;
  const test = w.stable({ text: conditionText(c, condition), kind: 'i', stable: false });
  for (const e of choice.of) c.materialise(analysis.assignedBy(e));
  const moves = choice.of.map((e) => analysis.count({ kind: 'evaluate', value: e }, 'pop'));
  const pushes = choice.of.map((e) => analysis.count({ kind: 'evaluate', value: e }, 'push'));
  if (pushes.some((each) => each !== 0)) c.options.output?.makeDynamic();
  const isEven = choice.of.length === 2 ? moves[0] === moves[1] && moves[0] !== undefined : moves[0] === 0;
  if (!isEven) end?.makeDynamic();
  const result = c.variables(choice.type);
  const mark = end?.enterBranches(isEven ? moves[0]! : 0, false);
  w.open(`if (${c.dialect.compare('!=', test.text, '0')}) {`);
  ++c.level;
  assignSlots(c, result, choice.then(), choice.type);
  if (mark !== undefined) end!.nextBranch(mark);
  w.close('} else {');
  ++w.depth;
  assignSlots(c, result, choice.otherwise(), choice.type);
  --c.level;
  w.close();
  if (mark !== undefined) end!.endBranches(mark);
  return result.map(({ ex }) => ({ ...ex, stable: true }));
}

function conditionText(c: Context, ex: Ex): string {
  return ex.condition === undefined ? ex.text : c.dialect.fromCondition(ex.condition);
}

export function assignSlots(c: Context, slots: readonly Slot[], value: Val, type: IrType): void {
  const given = isPlace(value) ? explode(c.w, value, type) : value;
  const all = given.length > 1 ? given.map((part) => c.w.stable(part)) : given;
  slots.forEach((slot, i) => c.set(slot, all[i]!));
}

function conditional(c: Context, e: Of<'conditional'>): Val {
  const { analysis } = c.options;
  const test = scalar(c, e.condition);
  if (test.known !== undefined) return evaluate(c, test.known !== 0 ? e.then : e.otherwise);
  const branches = [e.then, e.otherwise];
  const size = sizeOfType(e.type);
  if (e.type.kind === 'scalar' && !branches.some((each) => analysis.hasEffects(each))) {
    const mark = c.w.lines.length;
    const [a, b] = [scalar(c, e.then), scalar(c, e.otherwise)];
    if (c.w.lines.length === mark) return [{ text: `(${conditionOf(c, test)} ? ${a.text} : ${b.text})`, kind: a.kind, stable: false }];
    c.w.lines.length = mark;
  }
  const choice = { type: e.type, then: () => evaluate(c, e.then), otherwise: () => evaluate(c, e.otherwise), of: branches };
  if (size <= 64) return choose(c, test, choice);
  const place = c.w.local(countsOf(e.type));
  const store = (make: () => Val) => (): Val => {
    storeValue(c.w, place, make(), e.type);
    return [];
  };
  choose(c, test, { ...choice, type: { kind: 'void' }, then: store(choice.then), otherwise: store(choice.otherwise) });
  return place;
}

function convert(c: Context, e: Of<'convert'>): Val {
  const operand = scalar(c, e.operand);
  if (e.type.kind === 'vector') {
    return Array.from({ length: vectorSizes[e.type.name] }, (_, i) => (i === 0 ? operand : c.w.literal('f', 0)));
  }
  const [from, to] = [nameOf(e.operand.type), nameOf(e.type)];
  if (operand.known !== undefined) return [fold(c, e.type, conversionOf(from, to)(operand.known))];
  if (from === to) return [operand];
  if (kindOf(to) === 'i' && operand.condition !== undefined) return [operand];
  return [{ text: c.dialect.convert(from, to, operand.text), kind: kindOf(to), stable: operand.stable && kindOf(to) === operand.kind
    && to === 'int' }];
}

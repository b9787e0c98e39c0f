// Lowers expressions of stream programs to the kernel representation. Known values are folded. Anything that can fault or has effects
// becomes statements that precede the expression.
import { elementAt, required } from '../../core/known.ts';
import { compare, get, i32, isInside, set, type Body, type Expression } from '../../kernel/ir.ts';
import { countsOf, fieldOf, kindOf, kindOfType, kinds, placesOf } from '../plan/layout.ts';
import { mathOf } from '../interpret/arithmetic.ts';
import { binaryOf, conversionOf, unaryOf } from '../interpret/operators.ts';
import { vectorSizes } from '../interpret/values.ts';
import type { IrExpression, IrType, ScalarName, StateVariable, Variable } from '../ir.ts';
import {
  belowOf, both, choice, comparisons, compareOf, complement, conditionOf, conversion, fromCondition, mathematics, negate, nextState,
  operate, opposite, randomBits, unitOf,
} from './arithmetic.ts';
import type { Context } from './context.ts';
import type { End } from './ends.ts';
import { explode, loadValue, spill, storeValue } from './memory.ts';
import { rangeOf } from './ranges.ts';
import { settle } from './settle.ts';
import {
  indexOf, isPlace, known, placeOfBinding, plus, sizeOfType, slotsOf, sum, times, type Binding, type Ex, type Index, type Place,
  type Slot, type Val,
} from './value.ts';
import { complexCall, vectorOperator } from './vectors.ts';

type Of<K extends IrExpression['kind']> = Extract<IrExpression, { kind: K }>;

export function nameOf(type: IrType): ScalarName {
  if (type.kind !== 'scalar') throw new Error(`${type.kind} is no scalar`);
  return type.name;
}

function made(e: Expression): Ex {
  return { e, stable: e.kind === 'constant' };
}

/** The value of an expression. A value in memory may be changed by later code. */
export function evaluate(c: Context, e: IrExpression): Val {
  switch (e.kind) {
    case 'constant': return constantValue(c, e);
    case 'variable': return bound(c, e.variable, e.type);
    case 'state': return state(c, e);
    case 'element': return element(c, e);
    case 'field': return field(c, e);
    case 'part': return [elementAt(parts(c, e.vector), e.part)];
    case 'compose': return evaluateAll(c, e.parts).map((part) => scalarOf(part));
    case 'call': return c.options.lowering.call(c, e);
    case 'math': return math(c, e);
    case 'pop': return inputOf(c).pop();
    case 'peek': return inputOf(c).peek(scalar(c, e.index), rangeOf(c, e.index));
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
  return elementAt(value, 0);
}

/** The scalars of a value, in memory order. */
export function parts(c: Context, e: IrExpression): readonly Ex[] {
  const value = evaluate(c, e);
  return isPlace(value) ? explode(c.w, value, e.type) : value;
}

/** Values from left to right. Earlier ones are saved if a later one needs statements. */
export function evaluateAll(c: Context, list: readonly IrExpression[]): Val[];
/** As above. Values that `make` returns are used as they are. */
export function evaluateAll(
  c: Context, list: readonly IrExpression[], make: (e: IrExpression, i: number) => Binding | undefined,
): (Val | Binding)[];
export function evaluateAll(
  c: Context, list: readonly IrExpression[], make?: (e: IrExpression, i: number) => Binding | undefined,
): (Val | Binding)[] {
  const { analysis } = c.options;
  const lastEffect = list.findLastIndex((e) => analysis.hasEffects(e));
  return list.map((e, i) => {
    const ready = make?.(e, i);
    if (ready !== undefined) return ready;
    const value = evaluate(c, e);
    if (i >= lastEffect) return value;
    if (!isPlace(value)) return value.map((part) => c.w.stable(part));
    return analysis.assignedBy(elementAt(list, lastEffect)).size > 0 ? spill(c.w, value, e.type) : c.w.stablePlace(value);
  });
}

function inputOf(c: Context): End {
  if (c.options.input === undefined) throw new Error('this filter has no input');
  return c.options.input;
}

function constantValue(c: Context, e: Of<'constant'>): Val {
  const { numbers } = e.value;
  if (sizeOfType(e.type) > 64) throw new Error('large constants are tables');
  return placesOf(e.type).map(({ kind }, i) => c.w.literal(kind, numbers[i] ?? 0));
}

function bound(c: Context, variable: Variable, type: IrType): Val {
  const binding = c.binding(variable);
  return slotsOf(binding)?.map(({ ex }) => ex) ?? loadValue(c.w, placeOfBinding(binding), type);
}

function state(c: Context, { variable, type }: Of<'state'>): Val {
  if (variable.role !== 'constant') return bound(c, variable, type);
  if (type.kind === 'array' || type.kind === 'struct') return c.table(variable);
  return placesOf(type).map(({ kind }, i) => c.w.literal(kind, variable.initial.numbers[i] ?? 0));
}

/** The part of a constant field that an expression denotes, as an index in memory order; undefined if it is not known. */
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

/** An index, checked at run time unless it is proved to be in bounds. */
export function index(c: Context, e: Of<'element'>): Ex {
  const at = scalar(c, e.index);
  const length = e.array.type.kind === 'array' ? e.array.type.length : 0;
  const fixed = known(at);
  if (fixed !== undefined && fixed >= 0 && fixed < length) return at;
  const range = rangeOf(c, e.index);
  if (e.safe || (range !== undefined && range[0] >= 0 && range[1] < length)) return at;
  const checked = c.w.stable(at);
  c.w.guard(isInside(checked.e, i32(length)), c.site('index', e.span, length), checked.e);
  return checked;
}

function element(c: Context, e: Of<'element'>): Val {
  const fixed = e.type.kind === 'scalar' ? constantPart(c, e) : undefined;
  if (fixed !== undefined) return [c.w.literal(kindOfType(e.type), fixed.variable.initial.numbers[fixed.at] ?? 0)];
  if (c.options.analysis.hasEffects(e.index)) return effectfulElement(c, e);
  const array = evaluate(c, e.array);
  const at = index(c, e);
  if (isPlace(array)) return loadValue(c.w, movedPlace(c, array, at, e.type), e.type);
  const size = sizeOfType(e.type);
  const x = known(at);
  if (x !== undefined && (x + 1) * size <= array.length) return array.slice(x * size, (x + 1) * size);
  return loadValue(c.w, movedPlace(c, inMemory(c, e.array, array), at, e.type), e.type);
}

/** The place of an evaluated array. If it belongs to a variable, that stays in memory from now on. */
function inMemory(c: Context, e: IrExpression, array: Val): Place {
  if (isPlace(array)) return array;
  const binding = bindingOf(c, e);
  if (binding === undefined) return spill(c.w, array, e.type);
  c.toMemory(binding);
  return placeOfBinding(binding);
}

/** The binding of an array expression, if it is a variable kept in scalars, or a part of one at a known place. */
function bindingOf(c: Context, e: IrExpression): Binding | undefined {
  if (e.kind === 'variable' || e.kind === 'state') return c.bindings.get(e.variable);
  const outer = e.kind === 'element' ? bindingOf(c, e.array) : e.kind === 'field' ? bindingOf(c, e.object) : undefined;
  if (outer === undefined) return undefined;
  if (e.kind === 'field') return { ...outer, skip: outer.skip + fieldOf(e.object.type, e.field).at, type: e.type };
  const range = e.kind === 'element' ? rangeOf(c, e.index) : undefined;
  if (range === undefined || range[0] !== range[1]) return undefined;
  return { ...outer, skip: outer.skip + range[0] * sizeOfType(e.type), type: e.type };
}

function effectfulElement(c: Context, e: Of<'element'>): Val {
  const at = c.w.stable(index(c, e));
  const array = evaluate(c, e.array);
  return loadValue(c.w, movedPlace(c, inMemory(c, e.array, array), at, e.type), e.type);
}

/** The place of an element. */
export function movedPlace(c: Context, place: Place, at: Ex, type: IrType): Place {
  const counts = countsOf(type);
  const isShared = kinds.filter((kind) => counts[kind] > 0).length > 1;
  const index = indexOf(isShared ? c.w.stable(at) : at);
  const move = (kind: 'i' | 'f' | 'd'): Index => (counts[kind] === 0 ? place.at[kind] : sum(place.at[kind], times(index, counts[kind])));
  return { ...place, at: { i: move('i'), f: move('f'), d: move('d') } };
}

/** The place of a field. */
export function fieldPlace(place: Place, object: IrType, name: string): { place: Place; type: IrType } {
  const { type, before } = fieldOf(object, name);
  const move = (kind: 'i' | 'f' | 'd'): Index => plus(place.at[kind], before[kind]);
  return { type, place: { ...place, at: { i: move('i'), f: move('f'), d: move('d') } } };
}

function field(c: Context, e: Of<'field'>): Val {
  const object = evaluate(c, e.object);
  if (isPlace(object)) return loadValue(c.w, fieldPlace(object, e.object.type, e.field).place, e.type);
  const { at } = fieldOf(e.object.type, e.field);
  return object.slice(at, at + sizeOfType(e.type));
}

function literal(c: Context, type: IrType, x: number): Ex {
  return c.w.literal(kindOfType(type), x);
}

function math(c: Context, e: Of<'math'>): Val {
  if (e.name === 'random') return [random(c, e)];
  const first = elementAt(e.args, 0).type;
  if (first.kind === 'vector') return complexCall(c.w, e.name, parts(c, elementAt(e.args, 0)));
  const args = evaluateAll(c, e.args).map((arg) => scalarOf(arg));
  const values = args.map(known);
  if (!values.includes(undefined)) return [literal(c, e.type, required(mathOf(e.name, nameOf(first)))(...values as number[]))];
  return [made(mathematics(e.name, args.map((arg) => arg.e)))];
}

function random(c: Context, e: Of<'math'>): Ex {
  const { w } = c;
  const range = e.args[0] === undefined ? undefined : w.stable(scalar(c, e.args[0]));
  const local = c.options.random();
  w.emit(set(local, nextState(get(local))));
  const keep = (x: Expression): Expression => w.stable(made(x)).e;
  const bits = randomBits(get(local), keep);
  if (range === undefined) return w.stable(made(unitOf(bits)));
  w.guard(compare('gt', range.e, i32(0)), c.site('random', e.span), range.e);
  return w.stable(made(belowOf(keep(bits), range.e)));
}

function unary(c: Context, e: Of<'unary'>): Val {
  if (e.type.kind === 'vector') return parts(c, e.operand).map((part) => made(negate(part.e)));
  const operand = scalar(c, e.operand);
  const name = nameOf(e.operand.type);
  const x = known(operand);
  if (x !== undefined) return [literal(c, e.type, required(unaryOf(e.operator, name))(x))];
  if (e.operator === '-') return [made(negate(operand.e))];
  if (e.operator === '~') return [made(complement(operand.e, name))];
  return [fromCondition(opposite(conditionOf(operand)))];
}

function vector(c: Context, e: Of<'binary'>): Val {
  const [left, right] = evaluateAll(c, [e.left, e.right]).map((each) => (isPlace(each) ? explode(c.w, each, e.type) : each));
  return vectorOperator(c.w, e.operator, e.type.kind === 'vector' && e.type.name === 'complex', [required(left), required(right)]);
}

function binary(c: Context, e: Of<'binary'>): Ex {
  const { operator } = e;
  if (operator === '&&' || operator === '||') return lazy(c, e);
  const [a, b] = evaluateAll(c, [e.left, e.right]).map((each) => scalarOf(each)) as [Ex, Ex];
  const [x, y] = [known(a), known(b)];
  const name = nameOf(e.left.type);
  const isInt = kindOf(name) === 'i';
  const isDivision = isInt && (operator === '/' || operator === '%');
  if (x !== undefined && y !== undefined && !(isDivision && y === 0)) return literal(c, e.type, required(binaryOf(operator, name))(x, y));
  if (comparisons[operator] !== undefined) return fromCondition(compareOf(operator, a.e, b.e));
  if (isDivision) return divide(c, e, a, b);
  const isExact = isInt && (operator === '+' || operator === '-' || operator === '*') && rangeOf(c, e) !== undefined;
  const result = made(operate(operator, a.e, b.e, isExact));
  return isExact && operator !== '*' ? withSum(c, e, result, a, y) : result;
}

/** Records the sum of a non-negative value and a constant as an index. */
function withSum(c: Context, e: Of<'binary'>, result: Ex, a: Ex, add: number | undefined): Ex {
  if (add === undefined || (rangeOf(c, e.left)?.[0] ?? -1) < 0) return result;
  return { ...result, sum: plus(indexOf(a), e.operator === '+' ? add : -add) };
}

function divide(c: Context, e: Of<'binary'>, a: Ex, b: Ex): Ex {
  const y = known(b);
  if (y !== undefined && y !== 0) return made(operate(e.operator, a.e, b.e));
  const [left, right] = [c.w.stable(a), c.w.stable(b)];
  c.w.guard(compareOf('!=', right.e, i32(0)), c.site(e.operator === '/' ? 'divide' : 'remainder', e.span), left.e);
  // The code after a guard that always traps is unreachable.
  return y === 0 ? c.w.int(0) : made(operate(e.operator, left.e, right.e));
}

function lazy(c: Context, e: Of<'binary'>): Ex {
  const left = scalar(c, e.left);
  const isAnd = e.operator === '&&';
  const x = known(left);
  if (x !== undefined) {
    if ((x !== 0) !== isAnd) return c.w.int(isAnd ? 0 : 1);
    return fromCondition(conditionOf(scalar(c, e.right)));
  }
  const value = (right: Ex): Ex => fromCondition(both(isAnd ? 'and' : 'or', conditionOf(left), conditionOf(right)));
  if (!c.options.analysis.hasEffects(e.right)) {
    settle(c, e.right);
    let right: Ex | undefined;
    const before = c.w.inside(() => { right = scalar(c, e.right); });
    if (before.length === 0) return value(required(right));
    const result = c.w.variable(i32(isAnd ? 0 : 1));
    c.w.emit({
      kind: 'if', condition: isAnd ? conditionOf(left) : compareOf('==', left.e, i32(0)),
      then: [...before, set(result, required(right).e)], otherwise: [],
    });
    return { e: get(result), stable: true };
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

/** Selects one of two values, using statements. */
function choose(c: Context, condition: Ex, { type, then, otherwise, of }: Choice): Val {
  const { w } = c;
  const { analysis, input, output } = c.options;
  const test = w.stable({ e: condition.e, stable: false });
  for (const e of of) {
    settle(c, e);
    c.materialise(analysis.assignedBy(e));
  }
  const moves = of.map((e) => analysis.count({ kind: 'evaluate', value: e }, 'pop'));
  const pushes = of.map((e) => analysis.count({ kind: 'evaluate', value: e }, 'push'));
  if (pushes.some((each) => each !== 0)) output?.makeDynamic();
  const isEven = of.length === 2 ? moves[0] === moves[1] && moves[0] !== undefined : moves[0] === 0;
  if (!isEven) input?.makeDynamic();
  const result = c.variables(type);
  const mark = input?.enterBranches(isEven ? required(moves[0]) : 0);
  ++c.level;
  const yes = w.inside(() => { assignSlots(c, result, then(), type); });
  const assigned = of.flatMap((e) => [...analysis.assignedBy(e)]);
  c.forget(assigned);
  if (mark !== undefined) required(input).nextBranch(mark);
  const no = w.inside(() => { assignSlots(c, result, otherwise(), type); });
  --c.level;
  c.forget(assigned);
  w.emit({ kind: 'if', condition: conditionOf(test), then: yes, otherwise: no });
  if (mark !== undefined) required(input).endBranches(mark);
  return result.map(({ ex }) => ({ ...ex, stable: true }));
}

export function assignSlots(c: Context, slots: readonly Slot[], value: Val, type: IrType): void {
  const given = isPlace(value) ? explode(c.w, value, type) : value;
  const all = given.length > 1 ? given.map((part) => c.w.stable(part)) : given;
  slots.forEach((slot, i) => { c.set(slot, elementAt(all, i)); });
}

function conditional(c: Context, e: Of<'conditional'>): Val {
  const { analysis } = c.options;
  const test = scalar(c, e.condition);
  const x = known(test);
  if (x !== undefined) return evaluate(c, x !== 0 ? e.then : e.otherwise);
  const branches = [e.then, e.otherwise];
  if (e.type.kind === 'scalar' && !branches.some((each) => analysis.hasEffects(each))) return plainConditional(c, e, test);
  const size = sizeOfType(e.type);
  const choice = { type: e.type, then: () => evaluate(c, e.then), otherwise: () => evaluate(c, e.otherwise), of: branches };
  if (size <= 64) return choose(c, test, choice);
  const place = c.w.place(countsOf(e.type));
  const store = (make: () => Val) => (): Val => {
    storeValue(c.w, place, make(), e.type);
    return [];
  };
  choose(c, test, { ...choice, type: { kind: 'void' }, then: store(choice.then), otherwise: store(choice.otherwise) });
  return place;
}

/** Selects one of two scalars whose evaluation has no effects except faults. */
function plainConditional(c: Context, e: Of<'conditional'>, test: Ex): Val {
  settle(c, e.then);
  settle(c, e.otherwise);
  const values: Ex[] = [];
  const bodies: readonly Body[] = [e.then, e.otherwise].map((each) => c.w.inside(() => { values.push(scalar(c, each)); }));
  const [yes, no] = bodies as [Body, Body];
  const [a, b] = values as [Ex, Ex];
  if (yes.length === 0 && no.length === 0) return [made(choice(conditionOf(test), a.e, b.e))];
  const result = c.w.variable(c.w.literal(kindOfType(e.type), 0).e);
  c.w.emit({ kind: 'if', condition: conditionOf(test), then: [...yes, set(result, a.e)], otherwise: [...no, set(result, b.e)] });
  return [{ e: get(result), stable: true }];
}

function convert(c: Context, e: Of<'convert'>): Val {
  const operand = scalar(c, e.operand);
  if (e.type.kind === 'vector') {
    return Array.from({ length: vectorSizes[e.type.name] }, (_, i) => (i === 0 ? operand : c.w.literal('f', 0)));
  }
  const [from, to] = [nameOf(e.operand.type), nameOf(e.type)];
  const x = known(operand);
  if (x !== undefined) return [literal(c, e.type, conversionOf(from, to)(x))];
  if (from === to || (kindOf(to) === 'i' && operand.condition !== undefined)) return [operand];
  const result = conversion(from, to, operand);
  return [result.e === operand.e ? operand : result];
}

// Compiles expressions of the intermediate representation to closures.
import { required } from '../../core/known.ts';
import type { Span } from '../ast.ts';
import type { ConstantData, IrBinary, IrExpression, IrType } from '../ir.ts';
import { complexMath, mathOf, vectorBinary } from './arithmetic.ts';
import { binaryOf, conversionOf, unaryOf } from './operators.ts';
import { Fault } from './fault.ts';
import type { Evaluate, Machine, Places } from './machine.ts';
import { copyValue, fromConstant, scalarCount, vectorSizes, zero, type Value } from './values.ts';

/** A run-time fault: an index out of bounds. */
export function outside(index: number, length: number, span: Span | undefined): Fault {
  return new Fault('S5001', `index ${index} is outside an array of ${length}`, span);
}

export function fieldIndex(type: IrType, field: string): number {
  const index = type.kind === 'struct' ? type.fields.findIndex(({ name }) => name === field) : -1;
  if (index < 0) throw new Error(`no field ${field}`);
  return index;
}

/** Whether the expression creates a new value, which nothing else refers to. */
export function isFresh(expression: IrExpression): boolean {
  if (expression.type.kind === 'scalar' || expression.type.kind === 'void') return true;
  return ['call', 'math', 'pop', 'unary', 'binary', 'compose', 'convert'].includes(expression.kind);
}

/** Evaluates to a value that the receiver may keep. */
export function owned(places: Places, expression: IrExpression): Evaluate {
  const run = compileExpression(places, expression);
  if (isFresh(expression)) return run;
  const cost = scalarCount(expression.type) >> 3;
  return (m) => {
    m.charge(cost, expression.span);
    return copyValue(run(m));
  };
}

const materialised = new WeakMap<ConstantData, Value>();
function constantValue(data: ConstantData): Value {
  if (data.type.kind === 'scalar') return data.numbers[0] ?? 0;
  let value = materialised.get(data);
  if (value === undefined) materialised.set(data, value = fromConstant(data));
  return value;
}

/** Compiles an expression to a closure. Values of arrays, vectors and structs may be shared: see {@link owned}. */
export function compileExpression(places: Places, e: IrExpression): Evaluate {
  switch (e.kind) {
    case 'constant': {
      const value = constantValue(e.value);
      return () => value;
    }
    case 'variable': {
      const slot = places.slot(e.variable);
      return (m) => required(m.frame[slot]);
    }
    case 'state': {
      const slot = places.machine.fieldSlot(e.variable);
      return (m) => required(m.fields[slot]);
    }
    case 'element': return element(places, e);
    case 'field': {
      const object = compileExpression(places, e.object);
      const index = fieldIndex(e.object.type, e.field);
      return (m) => required((object(m) as Value[])[index]);
    }
    case 'part': {
      const vector = compileExpression(places, e.vector);
      return (m) => required((vector(m) as Float32Array)[e.part]);
    }
    case 'compose': {
      const parts = e.parts.map((part) => compileExpression(places, part));
      return (m) => Float32Array.from(parts, (part) => part(m) as number);
    }
    case 'call': return call(places, e);
    case 'math': return math(places, e);
    case 'pop': return (m) => required(m.tape).pop(e.span);
    case 'peek': {
      const index = compileExpression(places, e.index);
      return (m) => required(m.tape).peek(index(m) as number, e.span);
    }
    case 'iter': return (m) => m.iteration | 0;
    case 'unary': return unary(places, e);
    case 'binary': return binary(places, e);
    case 'conditional': {
      const [condition, then, otherwise] = [e.condition, e.then, e.otherwise].map((part) => compileExpression(places, part)) as
        [Evaluate, Evaluate, Evaluate];
      return (m) => (condition(m) !== 0 ? then(m) : otherwise(m));
    }
    case 'convert': return convert(places, e);
  }
}

function element(places: Places, e: Extract<IrExpression, { kind: 'element' }>): Evaluate {
  const array = compileExpression(places, e.array);
  const index = compileExpression(places, e.index);
  const length = e.array.type.kind === 'array' ? e.array.type.length : 0;
  return (m) => {
    const row = array(m) as Value[];
    const at = index(m) as number;
    if (at < 0 || at >= length) throw outside(at, length, e.span);
    return required(row[at]);
  };
}

function call(places: Places, e: Extract<IrExpression, { kind: 'call' }>): Evaluate {
  const args = e.args.map((arg) => (arg.type.kind === 'array' ? compileExpression(places, arg) : owned(places, arg)));
  const callable = places.callable(e.function);
  const result = e.type;
  return (m) => {
    const frame = new Array<Value>(callable.frameSize).fill(0);
    for (let i = 0; i < args.length; ++i) frame[required(callable.slots[i])] = required(args[i])(m);
    const outer = m.frame;
    m.charge(4, e.span);
    m.enter(callable.frameBytes, e.span);
    m.frame = frame;
    m.returned = 0;
    const flow = callable.body(m);
    m.frame = outer;
    m.leave(callable.frameBytes);
    return flow === 3 ? m.returned : zero(result);
  };
}

function random(m: Machine, range: number | undefined, span: Span | undefined): number {
  const bits = m.nextRandom();
  if (range === undefined) return (bits >>> 8) / 16777216;
  if (range <= 0) throw new Fault('S5003', `random(${range}) has no value: the range must be positive`, span);
  return Math.floor(bits / 4294967296 * range);
}

function math(places: Places, e: Extract<IrExpression, { kind: 'math' }>): Evaluate {
  const args = e.args.map((arg) => compileExpression(places, arg));
  if (e.name === 'random') {
    const range = args[0];
    return (m) => random(m, range === undefined ? undefined : range(m) as number, e.span);
  }
  const first = required(e.args[0]).type;
  const [a, b] = args as [Evaluate, Evaluate | undefined];
  if (first.kind === 'vector') return (m) => required(complexMath(e.name, a(m) as Float32Array));
  const f = first.kind === 'scalar' ? mathOf(e.name, first.name) : undefined;
  if (f === undefined) throw new Error(`${e.name} has no meaning for these operands`);
  return b === undefined ? (m) => f(a(m) as number) : (m) => f(a(m) as number, b(m) as number);
}

function unary(places: Places, e: Extract<IrExpression, { kind: 'unary' }>): Evaluate {
  const operand = compileExpression(places, e.operand);
  if (e.type.kind === 'vector') return (m) => (operand(m) as Float32Array).map((x) => -x);
  const f = e.operand.type.kind === 'scalar' ? unaryOf(e.operator, e.operand.type.name) : undefined;
  if (f === undefined) throw new Error(`no operator ${e.operator} for this operand`);
  return (m) => f(operand(m) as number);
}

/** Whether evaluating can change a variable that an earlier operand has read by reference. */
function mayWrite(e: IrExpression): boolean {
  if (e.kind === 'call') return true;
  return Object.values(e).some((part: unknown) => Array.isArray(part)
    ? part.some((one: unknown) => isExpression(one) && mayWrite(one)) : isExpression(part) && mayWrite(part));
}

function isExpression(value: unknown): value is IrExpression {
  return typeof value === 'object' && value !== null && 'kind' in value && 'type' in value;
}

function binary(places: Places, e: Extract<IrExpression, { kind: 'binary' }>): Evaluate {
  const right = compileExpression(places, e.right);
  if (e.type.kind === 'vector') {
    const left = mayWrite(e.right) ? owned(places, e.left) : compileExpression(places, e.left);
    const { name } = e.type;
    return (m) => required(vectorBinary(e.operator, name, left(m) as Float32Array, right(m) as Float32Array));
  }
  const left = compileExpression(places, e.left);
  if (e.operator === '&&') return (m) => (left(m) !== 0 && right(m) !== 0 ? 1 : 0);
  if (e.operator === '||') return (m) => (left(m) !== 0 || right(m) !== 0 ? 1 : 0);
  const operands = e.left.type.kind === 'scalar' ? e.left.type.name : undefined;
  const f = operands === undefined ? undefined : binaryOf(e.operator, operands);
  if (f === undefined) throw new Error(`no operator ${e.operator} for these operands`);
  if (operands === 'int' && (e.operator === '/' || e.operator === '%')) return divide(left, right, f, e.operator, e.span);
  return (m) => f(left(m) as number, right(m) as number);
}

function divide(left: Evaluate, right: Evaluate, f: (a: number, b: number) => number, operator: IrBinary,
  span: Span | undefined): Evaluate {
  return (m) => {
    const a = left(m) as number;
    const b = right(m) as number;
    if (b === 0) throw new Fault('S5002', `${a} ${operator} 0: an integer cannot be divided by zero`, span);
    return f(a, b);
  };
}

function convert(places: Places, e: Extract<IrExpression, { kind: 'convert' }>): Evaluate {
  const operand = compileExpression(places, e.operand);
  const from = e.operand.type;
  if (e.type.kind === 'vector') {
    const size = vectorSizes[e.type.name];
    return (m) => {
      const vector = new Float32Array(size);
      vector[0] = operand(m) as number;
      return vector;
    };
  }
  if (e.type.kind !== 'scalar' || from.kind !== 'scalar') throw new Error('conversion between values that are not scalars');
  const f = conversionOf(from.name, e.type.name);
  return (m) => f(operand(m) as number);
}

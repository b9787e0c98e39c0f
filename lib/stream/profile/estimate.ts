// Estimates the cost of a firing by counting its operations: for schedules before anything has been measured.
import type { GraphNode, StreamGraph } from '../graph.ts';
import type { FilterCode, IrExpression, IrStatement, MathName, Variable } from '../ir.ts';
import { elementAt, lastOf } from '../../core/known.ts';
import { counterOf, type Counter as LoopCounter } from '../elaborate/loops.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import { binaryOf } from '../interpret/operators.ts';
import { isScalar, known } from '../interpret/values.ts';
import { someStatement } from '../interpret/walk.ts';
import { withGraph } from '../require.ts';

/** Microseconds of one operation, roughly: a nanosecond, as compiled code takes on a core of 2.5 GHz. */
const microsecondsPerOperation = 1e-3;
/** Turns of a loop that stops by a condition of which nothing is known. */
const unknownTrips = 8;
/** Values of a counter that are tried for the loops inside whose turns depend on it. */
const triedValues = 8;
/** Turns up to which a counter is followed; beyond, its values are taken to lie at equal distances. */
const followedTurns = 4096;

const cheap: ReadonlySet<MathName> = new Set(['abs', 'max', 'min', 'floor', 'ceil', 'rint', 'round', 'sqrt']);

type Loop = Extract<IrStatement, { kind: 'loop' }>;

const isOpen = (s: IrStatement): boolean => s.kind === 'loop' && s.trips === undefined;

/** Places among `trips` turns, spread evenly from both ends, so that the mean of what grows evenly is exact. */
function spread(trips: number): number[] {
  if (trips <= triedValues) return Array.from({ length: trips }, (_, turn) => turn);
  const half = Array.from({ length: triedValues / 2 }, (_, at) => Math.round((at + 0.5) / triedValues * trips - 0.5));
  return [...half, ...half.map((turn) => trips - 1 - turn)];
}

/** Counts the operations of one filter's code. */
class Counter {
  readonly #functions: ReadonlyMap<string, number>;
  /** Operations of the longest turn of a loop that stops by a condition. */
  longestTurn = 0;
  /** Counters of the loops around, where those inside depend on them. */
  readonly #values = new Map<Variable, number>();

  constructor(functions: ReadonlyMap<string, number>) {
    this.#functions = functions;
  }

  /** The value of an int expression of constants and counters. */
  #valueOf(e: IrExpression): number | undefined {
    if (e.kind === 'variable') return this.#values.get(e.variable);
    if (e.kind !== 'binary' || !isScalar(e.type, 'int')) return known(e);
    const [left, right] = [this.#valueOf(e.left), this.#valueOf(e.right)];
    const apply = binaryOf(e.operator, 'int');
    const isUndefined = right === undefined || ((e.operator === '/' || e.operator === '%') && right === 0);
    return left === undefined || isUndefined || apply === undefined ? undefined : apply(left, right);
  }

  /** Values of a counter at some of its turns. */
  #valuesAt({ variable, first, last, trips }: LoopCounter, [change]: readonly IrStatement[], turns: readonly number[]): number[] {
    if (trips > followedTurns) return turns.map((turn) => first + Math.round(turn * (last - first) / (trips - 1)));
    const all = [first];
    while (all.length < trips) {
      this.#values.set(variable, lastOf(all));
      all.push(change?.kind === 'assign' ? this.#valueOf(change.value) ?? first : first);
    }
    this.#values.delete(variable);
    return turns.map((turn) => elementAt(all, turn));
  }

  /** One turn of a loop with a counter; the mean of several where turns of loops inside depend on it. */
  #turn(s: Loop, counter: LoopCounter | undefined): number {
    const once = (): number => 1 + (s.condition === undefined ? 0 : this.expression(s.condition)) + this.statement(s.body)
      + this.statements(s.step);
    if (counter === undefined || counter.trips === 0 || !someStatement(s.body, isOpen)) return once();
    const values = this.#valuesAt(counter, s.step, spread(counter.trips));
    const sum = values.reduce((total, value) => {
      this.#values.set(counter.variable, value);
      return total + once();
    }, 0);
    this.#values.delete(counter.variable);
    return sum / values.length;
  }

  #loop(s: Loop): number {
    const counter = counterOf(s, (e) => this.#valueOf(e));
    const turn = this.#turn(s, counter);
    if (s.trips === undefined) this.longestTurn = Math.max(this.longestTurn, turn);
    return this.statements(s.initial) + (s.trips ?? counter?.trips ?? unknownTrips) * turn;
  }

  expression(e: IrExpression): number {
    const sum = (list: readonly IrExpression[]) => list.reduce((total, part) => total + this.expression(part), 0);
    switch (e.kind) {
      case 'constant': case 'variable': case 'state': case 'iter': return 0;
      case 'pop': return 1;
      case 'peek': return 1 + this.expression(e.index);
      case 'element': return 1 + this.expression(e.array) + this.expression(e.index);
      case 'field': return this.expression(e.object);
      case 'part': return this.expression(e.vector);
      case 'compose': return sum(e.parts);
      case 'call': return 2 + sum(e.args) + (this.#functions.get(e.function) ?? 0);
      case 'math': return (cheap.has(e.name) ? 2 : 20) + sum(e.args);
      case 'unary': case 'convert': return 1 + this.expression(e.operand);
      case 'binary': return (e.operator === '/' || e.operator === '%' ? 5 : 1) + this.expression(e.left) + this.expression(e.right);
      case 'conditional': return 1 + this.expression(e.condition) + Math.max(this.expression(e.then), this.expression(e.otherwise));
    }
  }

  statements(list: readonly IrStatement[]): number {
    return list.reduce((total, statement) => total + this.statement(statement), 0);
  }

  statement(s: IrStatement): number {
    switch (s.kind) {
      case 'block': return this.statements(s.statements);
      case 'declare': return s.value === undefined ? 0 : this.expression(s.value);
      case 'assign': return 1 + this.expression(s.target) + this.expression(s.value);
      case 'evaluate': return this.expression(s.value);
      case 'push': return 1 + this.expression(s.value);
      case 'if': {
        const otherwise = s.otherwise === undefined ? 0 : this.statement(s.otherwise);
        return 1 + this.expression(s.condition) + (this.statement(s.then) + otherwise) / 2;
      }
      case 'loop': return this.#loop(s);
      case 'return': return s.value === undefined ? 0 : this.expression(s.value);
      case 'print': return 200;
      case 'message': return 20;
      case 'break': case 'continue': return 0;
    }
  }
}

function countingOf(code: FilterCode): Counter {
  const functions = new Map<string, number>();
  const counter = new Counter(functions);
  // Functions may call those before and after them, never themselves: as many rounds as there are functions settle all.
  for (let round = 0; round < Math.min(code.functions.length, 8); ++round) {
    for (const { name, body } of code.functions) functions.set(name, counter.statement(body));
  }
  return counter;
}

function operationsOf(code: FilterCode): number {
  return 2 + countingOf(code).statement(code.work.body);
}

/** Microseconds of one firing of a filter, as {@link estimateCosts} counts. */
export function costOf(code: FilterCode): number {
  return operationsOf(code) * microsecondsPerOperation;
}

/** Microseconds of the longest turn of a loop that stops by a condition, as {@link estimateCosts} counts; 0 where there is no such loop. */
export function longestTurn(graph: StreamGraph): number {
  let longest = 0;
  for (const code of new Set(graph.nodes.flatMap((node) => (node.kind === 'filter' ? [node.code] : [])))) {
    const counter = countingOf(code);
    for (const part of [code.work, code.prework]) if (part !== undefined) counter.statement(part.body);
    longest = Math.max(longest, counter.longestTurn);
  }
  return longest * microsecondsPerOperation;
}

function movedItems(node: GraphNode): number {
  const ports = Math.max(node.inputs.length, node.outputs.length);
  if (node.kind === 'duplicate') return node.outputs.length;
  if (node.kind === 'splitter') return ratesOf(node, 0).pop;
  return node.kind === 'joiner' ? ratesOf(node, 0).push : ports;
}

/**
 * Microseconds of one firing of each node on one core, by id: a nanosecond for each operation, the mean turns of loops that depend on the
 * counters around them, loops of which nothing is known counted eight times, the mean of both branches of a condition. Right to a small
 * factor; `profile` measures.
 */
export function estimateCosts(graph: StreamGraph): number[] {
  return withGraph(graph, () => countedCosts(graph));
}

/** As {@link estimateCosts}, of a graph that is known to be whole. */
export function countedCosts(graph: StreamGraph): number[] {
  const known = new Map<FilterCode, number>();
  return graph.nodes.map((node) => {
    if (node.kind !== 'filter') return movedItems(node) * microsecondsPerOperation;
    let operations = known.get(node.code);
    if (operations === undefined) known.set(node.code, operations = operationsOf(node.code));
    return operations * microsecondsPerOperation;
  });
}

// Unroll-and-jam for filters, and dead firings. In sums over long loops every step waits for the previous one; interleaving several firings
// hides that latency. Firings whose items the next filter discards need not run at all.
import { elementAt } from '../../core/known.ts';
import { known } from '../elaborate/fold.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { expressionsOf, hasOrder, operands, someExpression, someStatement } from '../interpret/walk.ts';
import type { FilterCode, IrExpression, IrStatement, Variable } from '../ir.ts';
import { type Analysis, leaves } from './analysis.ts';
import type { SteadyState } from '../schedule/index.ts';
import type { SdfGraph } from '../sdf.ts';

/** The minimum trip count of a loop for which interleaving pays off. */
const leastTurns = 8;
/** The use of items is tracked over at most this many items per period. */
const mostItems = 4096;

const worthwhile = new WeakMap<FilterCode, boolean>();

/** Whether to interleave several firings of a filter. */
export function isJammed(code: FilterCode, analysis: Analysis): boolean {
  let found = worthwhile.get(code);
  if (found === undefined) worthwhile.set(code, found = isFree(code, analysis) && hasSum(code.work.body));
  return found;
}

/** Whether a firing depends only on its input and moves items in a statically known way. */
function isFree(code: FilterCode, analysis: Analysis): boolean {
  const { body } = code.work;
  if (code.stateful || analysis.usesIteration || code.functions.length > 0 || leaves(body)) return false;
  if (analysis.count(body, 'pop') === undefined || analysis.count(body, 'push') === undefined) return false;
  return !hasOrder(body);
}

/** Whether a float is accumulated over a long loop. */
function hasSum(body: IrStatement): boolean {
  return someStatement(body, (s) => s.kind === 'loop' && s.trips !== undefined && s.trips >= leastTurns && sumsUp(s.body));
}

function sumsUp(body: IrStatement): boolean {
  const own = new Set<Variable>();
  return someStatement(body, (s) => {
    if (s.kind === 'declare') own.add(s.variable);
    if (s.kind !== 'assign' || s.target.kind !== 'variable' || s.target.type.kind !== 'scalar') return false;
    const { variable } = s.target;
    if (own.has(variable) || (s.target.type.name !== 'float' && s.target.type.name !== 'double')) return false;
    return someExpression(s.value, (e) => e.kind === 'variable' && e.variable === variable);
  });
}

/** The firings whose items are used, out of every `period` consecutive firings of a filter. */
export interface LiveFirings {
  readonly period: number;
  readonly live: readonly number[];
}

const all: LiveFirings = { period: 1, live: [0] };

/** How often nodes fire, and what channels carry. */
interface FiringRates {
  readonly graph: StreamGraph;
  readonly sdf: SdfGraph;
  readonly steady: SteadyState;
}

/** The steady-state firings of a node whose items the next filter uses. */
export function liveFirings({ graph, sdf, steady }: FiringRates, node: GraphNode): LiveFirings {
  const [channel] = node.outputs;
  if (node.outputs.length !== 1 || channel === undefined || elementAt(steady.residual, channel) > 0) return all;
  const { to, push, pop, peek } = elementAt(sdf.channels, channel);
  const reader = elementAt(graph.nodes, to);
  if (reader.kind !== 'filter' || push === 0 || peek !== pop || pop % push !== 0 || pop > mostItems) return all;
  const used = usedItems(reader.code, pop);
  const period = pop / push;
  const live = used === undefined ? [] : Array.from({ length: period }, (_, i) => i)
    .filter((firing) => Array.from({ length: push }, (_, i) => firing * push + i).some((item) => used.has(item)));
  return used === undefined || live.length === period ? all : { period, live };
}

/** The items of a firing's input that are not just discarded; undefined if that is not known. */
function usedItems(code: FilterCode, pop: number): ReadonlySet<number> | undefined {
  const uses = new Uses();
  return uses.statement(code.work.body) && uses.at === pop ? uses.used : undefined;
}

class Uses {
  readonly used = new Set<number>();
  at = 0;

  statement(s: IrStatement): boolean {
    if (this.at > mostItems) return false;
    if (s.kind === 'block') return s.statements.every((part) => this.statement(part));
    if (s.kind === 'evaluate' && s.value.kind === 'pop') {
      ++this.at;
      return true;
    }
    if (s.kind === 'loop') return this.#loop(s);
    if (s.kind === 'if') return !touches(s);
    return (s.kind === 'declare' || s.kind === 'assign' || s.kind === 'push') && expressionsOf(s).every((e) => this.#expression(e));
  }

  #loop(s: Extract<IrStatement, { kind: 'loop' }>): boolean {
    if (s.trips === undefined || s.trips > mostItems || leaves(s.body) || [...s.initial, ...s.step].some(touches)) return false;
    if (s.condition !== undefined && !isApart(s.condition)) return false;
    for (let turn = 0; turn < s.trips; ++turn) if (!this.statement(s.body)) return false;
    return true;
  }

  #expression(e: IrExpression): boolean {
    if (e.kind === 'call') return false;
    if (e.kind === 'conditional' || (e.kind === 'binary' && (e.operator === '&&' || e.operator === '||'))) return isApart(e);
    if (e.kind === 'peek') {
      const index = known(e.index);
      if (index !== undefined) this.used.add(this.at + index);
      return index !== undefined;
    }
    if (e.kind === 'pop') this.used.add(this.at++);
    return operands(e).every((part) => this.#expression(part));
  }
}

/** Whether an expression is independent of the input. */
function isApart(e: IrExpression): boolean {
  return !someExpression(e, ({ kind }) => kind === 'pop' || kind === 'peek' || kind === 'call');
}

function touches(s: IrStatement): boolean {
  return someStatement(s, (part) => !expressionsOf(part).every(isApart) || leaves(part));
}

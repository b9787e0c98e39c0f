// Loops whose variables are declared outside of them, such as while: a variable with a known value must count their trips.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import { assignedIn, nodesOf } from './assigned.ts';
import { evaluate } from './expressions.ts';
import type { Context } from './lowering.ts';
import { known, Scope } from './values.ts';

export type CountedLoop = acorn.WhileStatement | acorn.DoWhileStatement | acorn.ForStatement;

/** A loop that a variable counts. */
export interface Counted {
  readonly name: string;
  /** What the variable holds in each trip, and after the last. */
  readonly values: readonly number[];
  readonly end: number;
  readonly body: readonly acorn.Statement[];
}

const hint = 'count in a variable: let k = 0; while (k < 10) { …; k += 1; }, with bounds that are known while it is compiled';

/** What has a continue of its own. */
const inner: ReadonlySet<string> = new Set(['ForStatement', 'ForOfStatement', 'WhileStatement', 'DoWhileStatement']);

const statementsOf = (node: acorn.Statement): readonly acorn.Statement[] => (node.type === 'BlockStatement' ? node.body : [node]);

/** The step of a variable: k++, k += 2. */
interface Update {
  readonly name: string;
  readonly by: acorn.Expression | 1;
  readonly op: string;
}

function updateOf(node: acorn.Expression | null | undefined): Update | undefined {
  if (node?.type === 'UpdateExpression' && node.argument.type === 'Identifier') {
    return { name: node.argument.name, by: 1, op: node.operator === '++' ? '+=' : '-=' };
  }
  if (node?.type !== 'AssignmentExpression' || node.left.type !== 'Identifier') return undefined;
  return ['+=', '-=', '*=', '/='].includes(node.operator) ? { name: node.left.name, by: node.right, op: node.operator } : undefined;
}

/** Reads a loop; throws FunctionError where its trips are not known. */
export function countedLoop(node: CountedLoop, { scope, to, frame, loops }: Context, mostTrips: number): Counted {
  const wrong = (): never => { throw to.error(node, 'a loop without constant bounds', hint); };
  const { test } = node;
  if (!test) return wrong();
  const all = statementsOf(node.body);
  const last = all.at(-1);
  const isOwn = node.type === 'ForStatement' && Boolean(node.update);
  const update = node.type === 'ForStatement' && node.update ? updateOf(node.update)
    : last?.type === 'ExpressionStatement' ? updateOf(last.expression) : undefined;
  if (update === undefined) return wrong();
  const body = isOwn ? all : all.slice(0, -1);
  const { name, by, op } = update;
  const counter = scope.find(name);
  const constant = counter?.owner === frame ? counter.constant : undefined;
  // In a loop that is compiled once, the variable has its first value in the first trip only.
  if (constant?.loops !== loops.length || body.some((each) => assignedIn(each).has(name))) return wrong();
  if (!isOwn && body.some((each) => [...nodesOf(each, inner)].some(({ type }) => type === 'ContinueStatement'))) {
    throw to.error(node, 'continue in a loop that counts in its last statement', 'use for (let k = 0; k < 10; k += 1)');
  }
  const valueOf = (e: acorn.Expression, at: number): number | boolean => {
    const inner = new Scope(scope);
    inner.declare(name, { value: known(at), isVariable: false, owner: inner });
    const value = evaluate(e, inner, to);
    return value.kind === 'known' ? value.value : wrong();
  };
  const values: number[] = [];
  let value = constant.value;
  for (let isFirst = node.type === 'DoWhileStatement'; isFirst || valueOf(test, value) === true; isFirst = false) {
    values.push(value);
    if (values.length > mostTrips) throw to.error(node, `a loop of more than ${mostTrips} trips`, 'use shorter loops');
    const step = by === 1 ? 1 : Number(valueOf(by, value));
    value = elementAt([value + step, value - step, value * step, value / step], ['+=', '-=', '*=', '/='].indexOf(op));
  }
  return { name, values, end: value, body };
}

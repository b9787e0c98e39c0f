// Loops whose variables are declared outside of them, such as while: a variable with a known value must count their trips.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import { assignedIn, assigns, nodesOf, redeclares } from './assigned.ts';
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

/** The statements of a body; what minifiers join by commas is several. */
function statementsOf(node: acorn.Statement): readonly acorn.Statement[] {
  if (node.type === 'BlockStatement') return node.body.flatMap((each) => (each.type === 'BlockStatement' ? [each] : statementsOf(each)));
  if (node.type !== 'ExpressionStatement' || node.expression.type !== 'SequenceExpression') return [node];
  return node.expression.expressions.map((expression) => ({ ...node, expression, start: expression.start, end: expression.end }));
}

/** Minifiers move conditions that end a loop into its test: those that do not name the counter go back into the body. */
export function withPlainTest<T extends acorn.ForStatement | acorn.WhileStatement>(node: T, counter: string | undefined): T {
  const { test, body } = node;
  if (test?.type !== 'LogicalExpression' || test.operator !== '&&' || counter === undefined) return node;
  const parts = conjuncts(test);
  const own = parts.find((part) => [...nodesOf(part)].some((each) => each.type === 'Identifier' && each.name === counter));
  if (own === undefined) return node;
  const ends = parts.filter((part) => part !== own).map((argument): acorn.IfStatement => {
    const { start, end } = argument;
    const denied: acorn.UnaryExpression = { type: 'UnaryExpression', operator: '!', prefix: true, argument, start, end };
    return { type: 'IfStatement', test: denied, consequent: { type: 'BreakStatement', start, end }, start, end };
  });
  return { ...node, test: own, body: { type: 'BlockStatement', body: [...ends, ...statementsOf(body)], start: body.start, end: body.end } };
}

const conjuncts = (node: acorn.Expression): acorn.Expression[] => (node.type === 'LogicalExpression' && node.operator === '&&'
  ? [...conjuncts(node.left), ...conjuncts(node.right)] : [node]);

/** The variable that a loop counts, as far as its text says. */
export function counterOf(node: CountedLoop): string | undefined {
  const last = statementsOf(node.body).at(-1);
  if (node.type === 'ForStatement' && node.update) return updateOf(node.update)?.name;
  return last?.type === 'ExpressionStatement' ? updateOf(last.expression)?.name : undefined;
}

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
  const isChanged = (part: acorn.Statement): boolean => assignedIn(part).has(name) || (frame.hoisted.has(name) && redeclares(part, name));
  if (constant?.loops !== loops.length || body.some(isChanged)) return wrong();
  if (!isOwn && body.some((each) => [...nodesOf(each, inner)].some(({ type }) => type === 'ContinueStatement'))) {
    throw to.error(node, 'continue in a loop that counts in its last statement', 'use for (let k = 0; k < 10; k += 1)');
  }
  const valueOf = (e: acorn.Expression, at: number): number | boolean => {
    if (assigns(e)) return wrong();
    const inner = new Scope(scope);
    inner.declare(name, { value: known(at), isVariable: false, owner: inner });
    const value = evaluate(e, inner, to);
    return value.kind === 'known' ? value.value : wrong();
  };
  const values: number[] = [];
  let value = constant.value;
  for (let isFirst = node.type === 'DoWhileStatement'; isFirst || valueOf(test, value) === true; isFirst = false) {
    values.push(value);
    to.spend(node);
    if (values.length > mostTrips) throw to.error(node, `a loop of more than ${mostTrips} trips`, 'use shorter loops');
    const step = by === 1 ? 1 : Number(valueOf(by, value));
    value = elementAt([value + step, value - step, value * step, value / step], ['+=', '-=', '*=', '/='].indexOf(op));
  }
  return { name, values, end: value, body };
}

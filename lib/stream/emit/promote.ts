// An element of a local array that a loop reads and writes in every turn, such as a sum of products, kept in a variable while the loop
// runs. C++ compilers do it by themselves.
import { eachExpression, eachStatement, expressionsOf } from '../interpret/walk.ts';
import type { IrExpression, IrPlace, IrStatement, Variable } from '../ir.ts';
import { leaves } from './analysis.ts';
import type { Context } from './context.ts';
import { rangeOf } from './ranges.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;
type Element = Extract<IrPlace, { kind: 'element' }>;

/** What takes the loop's place. */
export interface Promoted {
  readonly before: IrStatement;
  readonly loop: Loop;
  readonly after: IrStatement;
}

function rootOf(e: IrExpression): Variable | undefined {
  return e.kind === 'variable' ? e.variable : e.kind === 'element' ? rootOf(e.array) : undefined;
}

const plain: ReadonlySet<IrExpression['kind']> = new Set(['constant', 'variable', 'binary', 'unary', 'convert']);

/** Whether the element is the same one in every turn, and certainly in its array. */
function isFixed(c: Context, e: IrExpression, changed: ReadonlySet<Variable>): boolean {
  if (e.kind !== 'element') return e.kind === 'variable';
  const range = rangeOf(c, e.index);
  if (e.array.type.kind !== 'array' || range === undefined || range[0] < 0 || range[1] >= e.array.type.length) return false;
  let found = true;
  eachExpression(e.index, (part) => { found &&= plain.has(part.kind) && !(part.kind === 'variable' && changed.has(part.variable)); });
  return found && isFixed(c, e.array, changed);
}

function isSame(a: IrExpression, b: IrExpression): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === 'element' && b.kind === 'element') return isSame(a.array, b.array) && isSame(a.index, b.index);
  if (a.kind === 'variable' && b.kind === 'variable') return a.variable === b.variable;
  if (a.kind === 'constant' && b.kind === 'constant') {
    return a.value.type.kind === 'scalar' && Object.is(a.value.numbers[0], b.value.numbers[0]);
  }
  if (a.kind === 'binary' && b.kind === 'binary') {
    return a.operator === b.operator && isSame(a.left, b.left) && isSame(a.right, b.right);
  }
  return false;
}

/** Everything that the loop executes in its turns. */
function parts({ body, step }: Loop): readonly IrStatement[] {
  return [body, ...step];
}

function declaredIn(s: Loop): Set<Variable> {
  const found = new Set<Variable>();
  for (const part of parts(s)) eachStatement(part, (each) => { if (each.kind === 'declare') found.add(each.variable); });
  return found;
}

/** Whether the loop knows the array by this element alone. */
function isAlone(s: Loop, target: Element): boolean {
  const root = rootOf(target);
  const visit = (e: IrExpression): boolean => {
    if (isSame(e, target)) return true;
    if (e.kind === 'variable') return e.variable !== root;
    return children(e).every(visit);
  };
  let found = s.condition === undefined || visit(s.condition);
  for (const part of parts(s)) eachStatement(part, (each) => { found &&= expressionsOf(each).every(visit); });
  return found;
}

const isExpression = (x: unknown): x is IrExpression => typeof x === 'object' && x !== null && 'kind' in x && 'type' in x;

function children(e: IrExpression): readonly IrExpression[] {
  return Object.values(e).flatMap((part: unknown) => (Array.isArray(part) ? part.filter(isExpression) : isExpression(part) ? [part] : []));
}

/** A copy of a statement or expression in which the element is the variable. */
function replaced<T>(x: T, target: Element, by: IrPlace): T {
  if (Array.isArray(x)) return x.map((part: unknown) => replaced(part, target, by)) as T;
  if (typeof x !== 'object' || x === null || !('kind' in x)) return x;
  if (isExpression(x) && isSame(x, target)) return by as T;
  const isInner = (key: string): boolean => key !== 'type' && key !== 'variable' && key !== 'span';
  const entries = Object.entries(x).map(([key, part]: [string, unknown]) => [key, isInner(key) ? replaced(part, target, by) : part]);
  return Object.fromEntries(entries) as T;
}

/** What a loop becomes that keeps an element in a variable; undefined where there is none to keep. */
export function promote(all: readonly Context[], s: Loop): Promoted | undefined {
  const [c] = all as readonly [Context];
  if (c.dialect.name !== 'js' || s.trips === undefined || s.trips < 2 || leaves(s.body)) return undefined;
  const { analysis, code } = c.options;
  const lent = new Set([...code.functions, ...code.handlers].flatMap(({ parameters }) => parameters));
  const changed = new Set([...analysis.assigned(s), ...declaredIn(s)]);
  for (const part of s.body.kind === 'block' ? s.body.statements : [s.body]) {
    if (part.kind !== 'assign' || part.target.kind !== 'element' || part.target.type.kind !== 'scalar') continue;
    const { target } = part;
    const root = rootOf(target);
    if (root === undefined || lent.has(root) || declaredIn(s).has(root)) continue;
    if (!all.every((each) => each.bindings.get(root)?.kind === 'memory') || !isFixed(c, target, changed) || !isAlone(s, target)) continue;
    const variable: Variable = { name: 'kept', type: target.type };
    const by: IrPlace = { kind: 'variable', variable, type: target.type, span: target.span };
    return {
      before: { kind: 'declare', variable, value: target, span: s.span },
      loop: { ...s, body: replaced(s.body, target, by), step: replaced(s.step, target, by) },
      after: { kind: 'assign', target, value: by, span: s.span },
    };
  }
  return undefined;
}

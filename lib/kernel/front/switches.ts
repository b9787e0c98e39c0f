// switch, as conditions.
import type * as acorn from 'acorn';
import { elementAt } from '../../core/known.ts';
import { nodesOf } from './assigned.ts';
import type { Node } from './source.ts';
import type { Services } from './values.ts';

/** The name of what is compared: no variable can have it. */
export const switchSubject = ' switch';

/** Cases with one body. */
interface Group {
  readonly tests: acorn.Expression[];
  isDefault: boolean;
  readonly body: acorn.Statement[];
}

function groupsOf(node: acorn.SwitchStatement): Group[] {
  const groups: Group[] = [];
  let open: Group | undefined;
  for (const each of node.cases) {
    if (open === undefined || open.body.length > 0) groups.push(open = { tests: [], isDefault: false, body: [] });
    if (each.test) open.tests.push(each.test);
    else open.isDefault = true;
    const isBlock = each.consequent.length === 1 && each.consequent[0]?.type === 'BlockStatement';
    open.body.push(...isBlock ? (each.consequent[0] as acorn.BlockStatement).body : each.consequent);
  }
  return groups;
}

/** The statements of a group, without the break at their end. */
function bodyOf(node: acorn.SwitchStatement, groups: readonly Group[], i: number, to: Pick<Services, 'error'>): readonly acorn.Statement[] {
  const { body } = elementAt(groups, i);
  const last = body.at(-1);
  const isEnd = last?.type === 'BreakStatement' || last?.type === 'ReturnStatement' || last?.type === 'ContinueStatement';
  if (!isEnd && i + 1 < groups.length) {
    throw to.error(last ?? node, 'a case that goes on with the next one', 'end it with break or return');
  }
  const own = last?.type === 'BreakStatement' && !last.label ? body.slice(0, -1) : body;
  const isBreak = own.some((each) => [...nodesOf(each)].some(({ type }) => type === 'BreakStatement'));
  if (isBreak) throw to.error(node, 'break inside a case', 'use if');
  return own;
}

/** switch as conditions; every case but the last must end with break or return. */
export function conditionsOf(node: acorn.SwitchStatement, to: Pick<Services, 'error'>): acorn.Statement | null {
  const subject = (at: Node): acorn.Identifier => ({ type: 'Identifier', name: switchSubject, start: at.start, end: at.end });
  const groups = groupsOf(node);
  const bodies = groups.map((_, i) => bodyOf(node, groups, i, to));
  const fallback = groups.findIndex(({ isDefault }) => isDefault);
  if (fallback >= 0 && (fallback + 1 < groups.length || elementAt(groups, fallback).tests.length > 0)) {
    throw to.error(node, 'a default that is not a case of its own, at the end', 'move it to the end');
  }
  const block = (body: readonly acorn.Statement[]): acorn.BlockStatement =>
    ({ type: 'BlockStatement', body: [...body], start: node.start, end: node.end });
  return groups.reduceRight<acorn.Statement | null>((otherwise, { tests, isDefault }, i) => {
    if (isDefault) return block(elementAt(bodies, i));
    const conditions = tests.map((right): acorn.Expression =>
      ({ type: 'BinaryExpression', operator: '===', left: subject(right), right, start: right.start, end: right.end }));
    const test = conditions.reduce((left, right): acorn.Expression =>
      ({ type: 'LogicalExpression', operator: '||', left, right, start: left.start, end: right.end }));
    return { type: 'IfStatement', test, consequent: block(elementAt(bodies, i)), alternate: otherwise, start: node.start, end: node.end };
  }, null);
}

// Calls: which function a name means, and whether the arguments fit.
import { elementAt } from '../../core/known.ts';
import type { Expression, FunctionDeclaration } from '../ast.ts';
import { didYouMean } from '../../core/similar.ts';
import { mathNames } from '../ir.ts';
import { arityOf, isMath, otherFunctions, signatureOf } from './builtins.ts';
import type { Context } from './check-context.ts';
import type { Expressions, Frame } from './check-frame.ts';
import { checkRules } from './check-rules.ts';
import type { Callee, Type } from './checked.ts';
import { basic, describe, isComplex } from './types.ts';

type Call = Extract<Expression, { kind: 'call' }>;

/** Words for a number of things: 'one argument', '3 arguments'. */
export const counted = (count: number, what: string): string => (count === 1 ? `one ${what}` : `${count === 0 ? 'no' : count} ${what}s`);

/** The function of this filter or package that a name means. */
function ownFunction(context: Context, name: string, { place }: Frame): Extract<Callee, { kind: 'function' }> | undefined {
  const { owner } = place;
  if (owner.kind !== 'filter' && owner.kind !== 'helpers') return undefined;
  const declaration = context.ownFunctions(owner).get(name);
  return declaration === undefined ? undefined : { kind: 'function', declaration, owner };
}

function requireCount(checker: Expressions, node: Call, expected: number): void {
  const found = node.args.length;
  if (found === expected) return;
  checker.context.report(checkRules.argumentCount, node.span,
    { name: node.name, expected: counted(expected, 'argument'), found: found === 0 ? 'none' : found });
}

function callFunction(checker: Expressions, node: Call, frame: Frame, callee: Extract<Callee, { kind: 'function' }>): Type {
  const { context } = checker;
  const { declaration, owner } = callee;
  context.callees.set(node, callee);
  if (frame.place.function !== undefined) {
    const calls = context.calls.get(frame.place.function) ?? new Map<FunctionDeclaration, Expression['span']>();
    context.calls.set(frame.place.function, calls);
    if (!calls.has(declaration)) calls.set(declaration, node.span);
  } else context.calledOutside.add(declaration);
  if (owner.kind === 'helpers') context.reachFunction(declaration, owner);
  requireCount(checker, node, declaration.parameters.length);
  node.args.forEach((argument, index) => {
    const parameter = declaration.parameters[index];
    checker.convert(argument, parameter === undefined ? basic.unknown : context.resolveType(parameter.type), frame);
  });
  return declaration.result === undefined ? basic.void : context.resolveType(declaration.result);
}

function callMath(checker: Expressions, node: Call, frame: Frame, name: (typeof mathNames)[number]): Type {
  const types = node.args.map((argument) => checker.value(argument, frame));
  // `random(n)` is an int below n.
  if (name === 'random' && types.length === 1) {
    checker.requireConversion(elementAt(node.args, 0), elementAt(types, 0), basic.int);
    checker.context.callees.set(node, { kind: 'math', name, operand: basic.int });
    return basic.int;
  }
  requireCount(checker, node, arityOf(name));
  if (types.length !== arityOf(name)) return basic.unknown;
  const signature = signatureOf(name, types);
  if (signature === undefined) {
    checker.context.report(checkRules.operator, node.span,
      { operator: node.name, types: types.map(describe).join(' and '), hint: 'it takes numbers' });
    return basic.unknown;
  }
  for (const argument of node.args) checker.meet(argument, signature.operand);
  checker.context.callees.set(node, { kind: 'math', name, operand: signature.operand });
  return signature.result;
}

function callPrint(checker: Expressions, node: Call, frame: Frame): Type {
  const newline = node.name === 'println';
  checker.context.callees.set(node, { kind: 'print', newline });
  if (!newline || node.args.length > 1) requireCount(checker, node, 1);
  for (const argument of node.args) {
    const type = checker.value(argument, frame);
    if (type.kind === 'array' || type.kind === 'struct' || type.kind === 'portal') {
      const values = { expected: 'a number or a string', found: describe(type) };
      checker.context.report(checkRules.mismatch, argument.span, values, 'print its parts');
    }
  }
  return basic.void;
}

/** `init_array_1D_int("file", count)`. */
function callLoad(checker: Expressions, node: Call, frame: Frame): Type {
  const element = node.name.endsWith('int') ? 'int' : 'float';
  checker.context.callees.set(node, { kind: 'load', element });
  requireCount(checker, node, 2);
  const [file, count] = node.args;
  if (file !== undefined) checker.convert(file, basic.string, frame);
  if (count !== undefined) checker.convert(count, basic.int, frame);
  return { kind: 'array', element: basic[element], length: count };
}

/** The type of a call; notes what it calls. */
export function checkCall(checker: Expressions, node: Call, frame: Frame): Type {
  const { context } = checker;
  const { name } = node;
  const own = ownFunction(context, name, frame);
  if (own !== undefined) return callFunction(checker, node, frame, own);
  const packaged = context.packaged.get(name);
  if (packaged !== undefined) return callFunction(checker, node, frame, { kind: 'function', ...packaged });
  if (name === 'print' || name === 'println') return callPrint(checker, node, frame);
  if (name === 'init_array_1D_int' || name === 'init_array_1D_float') return callLoad(checker, node, frame);
  const bare = name.slice(name.indexOf('.') + 1);
  const native = context.natives.get(name);
  if (isMath(bare) && (bare === name || name.startsWith('Math.') || native !== undefined)) {
    const power = bare === 'pow' ? context.packaged.get('Math.complexPow') : undefined;
    const isComplexPower = power !== undefined && node.args.some((argument) => isComplex(checker.value(argument, frame)));
    return isComplexPower ? callFunction(checker, node, frame, { kind: 'function', ...power }) : callMath(checker, node, frame, bare);
  }
  for (const argument of node.args) checker.value(argument, frame);
  if (native !== undefined) {
    context.report(checkRules.native, node.span, { name });
    context.callees.set(node, { kind: 'native', declaration: native });
    return context.resolveType(native.result);
  }
  const { owner } = frame.place;
  const nearby = owner.kind === 'filter' || owner.kind === 'helpers' ? owner.functions.filter(({ kind }) => kind === 'helper') : [];
  const known = [...nearby.map((one) => one.name), ...context.packaged.keys(), ...mathNames, ...otherFunctions];
  const what = { ...node.span, end: node.span.start + name.length };
  context.report(checkRules.function, what, { name }, didYouMean(name, known, checkRules.function.hint));
  return basic.unknown;
}

// Functions: parameters, rates, bodies, recursion.
import { lastOf, required } from '../../core/known.ts';
import type { FunctionDeclaration, HelperDeclaration, Rate, StaticDeclaration, StreamDeclaration } from '../ast.ts';
import type { Context, Place } from './check-context.ts';
import type { ExpressionChecker } from './check-expressions.ts';
import type { Frame } from './check-frame.ts';
import { endsOfStream } from './infer-ends.ts';
import { checkRules } from './check-rules.ts';
import type { StatementChecker } from './check-statements.ts';
import { byNeed, Scope } from './scope.ts';
import { basic, constantOf, describe } from './types.ts';

function checkRate(expressions: ExpressionChecker, rate: Rate, frame: Frame): void {
  const { context } = expressions;
  const parts = rate.kind === 'static' ? [rate.value] : [rate.low, rate.high];
  for (const part of parts) {
    if (part === undefined) continue;
    expressions.whole(part, frame, checkRules.rateType);
    if ((constantOf(part) ?? 0) < 0) context.report(checkRules.rateNegative, part.span);
  }
  if (rate.kind !== 'dynamic') return;
  const [low, high] = [constantOf(rate.low), constantOf(rate.high)];
  if (low !== undefined && high !== undefined && low > high) context.report(checkRules.rateBounds, rate.span, { low, high });
}

/** Rates of a filter's function: whole, not negative, and only where there is a channel. */
function checkRates(expressions: ExpressionChecker, declaration: FunctionDeclaration, frame: Frame): void {
  const { context } = expressions;
  const { owner } = frame.place;
  for (const name of ['push', 'pop', 'peek'] as const) {
    const rate = declaration.rates[name];
    if (rate === undefined) continue;
    checkRate(expressions, rate, frame);
    if (owner.kind !== 'filter') continue;
    const ends = endsOfStream(context, owner);
    if ((name === 'push' ? ends.output : ends.input).kind !== 'void') continue;
    if (rate.kind === 'static' && constantOf(rate.value) === 0) continue;
    context.report(checkRules.rateVoid, rate.span, { rate: name, end: name === 'push' ? 'output' : 'input' });
  }
}

/** Checks a function whose owner's names are in `outer`. */
export function checkFunction(
  statements: StatementChecker, declaration: FunctionDeclaration, owner: StreamDeclaration | StaticDeclaration | HelperDeclaration,
  outer: Scope,
): void {
  const { context, expressions } = statements;
  const kind = owner.kind === 'static' ? 'static' : declaration.kind;
  const place: Place = { kind, owner, function: declaration, loops: [] };
  const scope = new Scope(outer, owner);
  const frame: Frame = { scope, place };
  checkRates(expressions, declaration, { scope: outer, place: { ...place, kind: 'rates' } });
  for (const parameter of byNeed(declaration.parameters)) {
    const { name } = parameter;
    const type = expressions.written(parameter.type, frame);
    statements.requireVariableType(type, parameter, false);
    context.declare(scope, { kind: 'argument', name, type, declaration: parameter, owner }, scope.lookup(name));
  }
  const result = declaration.result === undefined ? basic.void : expressions.written(declaration.result, frame);
  const reached = statements.block(declaration.body.statements, frame);
  if (declaration.kind !== 'helper' || !reached || result.kind === 'void' || result.kind === 'unknown') return;
  context.fallsOff.add(declaration);
  const { end, file } = declaration.body.span;
  context.report(checkRules.fallsOff, { file, start: end - 1, end }, { name: declaration.name, expected: describe(result) });
}

/** Reports functions that call themselves, directly or through others. */
export function checkRecursion(context: Context): void {
  const done = new Set<FunctionDeclaration>();
  for (const root of context.calls.keys()) {
    if (done.has(root)) continue;
    const path: FunctionDeclaration[] = [root];
    const inPath = new Set(path);
    const rest = [[...(context.calls.get(root) ?? [])]];
    while (path.length > 0) {
      const next = lastOf(rest).shift();
      if (next === undefined) {
        const last = required(path.pop());
        done.add(last);
        inPath.delete(last);
        rest.pop();
        continue;
      }
      const [called, span] = next;
      if (inPath.has(called)) {
        const names = [...path.slice(path.indexOf(called)), called].map(({ name, kind }) => name || kind);
        const shown = names.length > 8 ? [...names.slice(0, 4), '…', ...names.slice(-3)] : names;
        context.reportOnce(called, checkRules.recursion, span, { name: called.name, path: shown.join(' → ') });
      } else if (!done.has(called)) {
        path.push(called);
        inPath.add(called);
        rest.push([...(context.calls.get(called) ?? [])]);
      }
    }
  }
}

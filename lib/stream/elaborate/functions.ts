// Helper functions: translated once for each set of argument types, with arguments that lengths depend on as constants.
import type { Expression, FunctionDeclaration, Parameter, Span } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import { withCounts } from '../front/types.ts';
import { Fault } from '../interpret/fault.ts';
import { typeText } from '../interpret/values.ts';
import type { IrExpression, IrFunction, IrStatement, IrType, Variable } from '../ir.ts';
import { known } from './fold.ts';
import { Scope } from './session.ts';
import { translateBlock } from './translate-statement.ts';
import type { Translator } from './translate.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Arguments as values, each with what its parameter is bound to. */
interface Bound {
  readonly symbol: NameSymbol;
  readonly value: IrExpression;
  /** A number that is known and matters for lengths. */
  readonly fixed: boolean;
}

function bindArguments(translator: Translator, declaration: FunctionDeclaration, args: readonly Expression[], span: Span): Bound[] {
  const { session } = translator;
  if (args.length !== declaration.parameters.length) {
    throw new Fault('S4022', `${declaration.name} takes ${declaration.parameters.length} arguments, not ${args.length}`, span);
  }
  const lengths = session.usage.lengths(declaration);
  const changed = session.usage.assigned(declaration.body);
  const values = translator.ordered(declaration.parameters.map((parameter, i) => () => argument(translator, parameter, args[i]!)));
  return declaration.parameters.map((parameter, i) => {
    const symbol = session.checked.symbolOfDeclaration(parameter);
    const value = values[i]!;
    return { symbol, value, fixed: lengths.has(symbol) && known(value) !== undefined && !changed.has(symbol) };
  });
}

/** An argument as its parameter takes it; arrays come with the length that they have. */
function argument(translator: Translator, parameter: Parameter, arg: Expression): IrExpression {
  const type = translator.session.checked.typeOfNode(parameter.type);
  if (type.kind !== 'array' || arg.kind === 'array-literal') {
    return translator.as(arg, translator.typeFor(withCounts(type, arg), parameter.span));
  }
  const value = translator.expression(arg);
  if (value.type.kind !== 'array') throw new Fault('S4007', `a value of ${typeText(value.type)} cannot stand where an array is wanted`,
    arg.span);
  return value;
}

/** The call of a function of the program, its translation made if there is none yet for such arguments. */
export function callFunction(translator: Translator, declaration: FunctionDeclaration, args: readonly Expression[],
  span: Span): IrExpression {
  const bound = bindArguments(translator, declaration, args, span);
  const key = `${translator.session.idOf(declaration)}(${
    bound.map(({ value, fixed }) => typeText(value.type) + (fixed ? `=${known(value)}` : '')).join()})`;
  const made = translator.functions.get(key) ?? translateFunction(translator, declaration, bound, key);
  return {
    kind: 'call', function: made.name, args: bound.filter(({ fixed }) => !fixed).map(({ value }) => value), type: made.result, span,
  };
}

function translateFunction(translator: Translator, declaration: FunctionDeclaration, bound: readonly Bound[], key: string): IrFunction {
  const { session, namer } = translator;
  if (translator.functions.size >= 1024) throw new Fault('S4023', 'too many variants of functions', declaration.span, { fatal: true });
  const outer = translator.scope;
  const scope = new Scope((symbol) => outer.find(symbol));
  const parameters: Variable[] = [];
  for (const { symbol, value, fixed } of bound) {
    if (fixed && value.kind === 'constant') {
      scope.set(symbol, { kind: 'constant', data: value.value });
      continue;
    }
    const variable = { name: namer.unique(symbol.name), type: value.type };
    parameters.push(variable);
    scope.set(symbol, { kind: 'variable', variable });
  }
  return withBody(translator, declaration, scope, (result) => {
    const made: Writable<IrFunction> = { name: namer.unique(declaration.name), parameters, result,
      body: { kind: 'block', statements: [] } };
    // Known before its body is translated, which may call it again.
    translator.functions.set(key, made);
    session.deeper(declaration.span, () => {
      const body = translateBlock(translator, declaration.body) as IrFunction['body'];
      made.body = session.checked.fallsOff(declaration) ? endedByZero(translator, body, result) : body;
    });
    return made;
  });
}

/** The body of a function that can end without a result: zero then. */
function endedByZero(translator: Translator, body: IrFunction['body'], type: IrType): IrFunction['body'] {
  const variable = { name: translator.namer.unique('nothing'), type };
  return {
    ...body, statements: [...body.statements, { kind: 'declare', variable, value: undefined },
      { kind: 'return', value: { kind: 'variable', variable, type } }],
  };
}

/** Runs `make` with the translator set up for the body of a function, and puts everything back. */
export function withBody<T>(
  translator: Translator, declaration: FunctionDeclaration, scope: Scope, make: (result: IrType) => T,
): T {
  const { checked } = translator.session;
  const { scope: outer, assigned, result, before } = translator;
  translator.scope = scope;
  translator.assigned = translator.session.usage.assigned(declaration.body);
  translator.before = [] as IrStatement[];
  try {
    translator.result = declaration.result === undefined ? { kind: 'void' }
      : translator.typeFor(checked.typeOfNode(declaration.result), declaration.result.span);
    return make(translator.result);
  } finally {
    translator.scope = outer;
    translator.assigned = assigned;
    translator.result = result;
    translator.before = before;
  }
}

// Helper functions: translated once for each combination of argument types; arguments that array lengths depend on become constants.
import { elementAt } from '../../core/known.ts';
import type { Expression, FunctionDeclaration, Parameter, Span } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import { withCounts } from '../front/types.ts';
import { Fault } from '../interpret/fault.ts';
import { known, typeText } from '../interpret/values.ts';
import type { IrExpression, IrFunction, IrPlace, IrStatement, IrType, Variable } from '../ir.ts';
import { place, steady } from './assign.ts';
import { rootOf } from './loops.ts';
import { Scope } from './session.ts';
import { translateBlock } from './translate-statement.ts';
import type { Translation } from './translation.ts';
import { rootName } from './usage.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Arguments as values, each with its parameter. */
interface Bound {
  readonly symbol: NameSymbol;
  readonly value: IrExpression;
  /** A known number that array lengths depend on. */
  readonly fixed: boolean;
  /** An array that the function changes. */
  readonly changed: boolean;
}

function bindArguments(translator: Translation, declaration: FunctionDeclaration, args: readonly Expression[], span: Span): Bound[] {
  const { session } = translator;
  if (args.length !== declaration.parameters.length) {
    throw new Fault('S4022', `${declaration.name} takes ${declaration.parameters.length} arguments, not ${args.length}`, span);
  }
  const lengths = session.usage.lengths(declaration);
  const changed = session.usage.assigned(declaration.body);
  const changes = session.usage.changedParameters(declaration);
  const values = translator.ordered(
    declaration.parameters.map((parameter, i) => () => (
      argument(translator, parameter, elementAt(args, i), changes.has(i) ? declaration : undefined))),
    (position, value) => (value.type.kind === 'array' && rootOf(value) !== undefined ? steady(translator, value as IrPlace,
      (index) => index.kind !== 'constant', position) : translator.storedAt(position, value, 'operand')));
  return declaration.parameters.map((parameter, i) => {
    const symbol = session.checked.symbolOfDeclaration(parameter);
    const value = elementAt(values, i);
    return { symbol, value, fixed: lengths.has(symbol) && known(value) !== undefined && !changed.has(symbol),
      changed: changes.has(i) };
  });
}

/**
 * An argument, converted for its parameter; arrays are passed as they are, with their own length. `by`: the function, if it changes the
 * array.
 */
function argument(translator: Translation, parameter: Parameter, arg: Expression, by: FunctionDeclaration | undefined): IrExpression {
  const type = translator.session.checked.typeOfNode(parameter.type);
  if (type.kind !== 'array' || arg.kind === 'array-literal') {
    const made = translator.as(arg, translator.typeFor(withCounts(type, arg), parameter.span));
    return by === undefined ? made : translator.storedAt(translator.before.length, made, 'row');
  }
  const value = by === undefined ? translator.expression(arg) : changeable(translator, arg, by);
  if (value.type.kind !== 'array') throw new Fault('S4007', `a value of ${typeText(value.type)} cannot be used where an array is expected`,
    arg.span);
  return value;
}

/**
 * An array that a function changes: a variable or field, or a part of one. Any other array is kept in a variable until the call is over.
 */
function changeable(translator: Translation, arg: Expression, by: FunctionDeclaration): IrExpression {
  if (rootName(arg) !== undefined) {
    return place(translator, arg, `changed by ${by.name}`);
  }
  if (arg.kind === 'conditional') throw new Fault('S4027', `${by.name} changes this array, so a variable is required here`, arg.span);
  const value = translator.expression(arg);
  return translator.storedAt(translator.before.length, value, 'row');
}

/** Calls a function of the program; translates it if it has not been translated yet for such arguments. */
export function callFunction(translator: Translation, declaration: FunctionDeclaration, args: readonly Expression[],
  span: Span): IrExpression {
  const bound = bindArguments(translator, declaration, args, span);
  const key = `${translator.session.idOf(declaration)}(${
    bound.map(({ value, fixed }) => typeText(value.type) + (fixed ? `=${known(value)}` : '')).join()})`;
  const made = translator.functions.get(key) ?? translateFunction(translator, declaration, bound, key);
  const passed = bound.filter(({ fixed }) => !fixed);
  return {
    kind: 'call', function: made.name, args: passed.map(({ value }) => value), type: made.result, span,
    changes: passed.flatMap(({ changed }, i) => (changed ? [i] : [])),
  };
}

function translateFunction(translator: Translation, declaration: FunctionDeclaration, bound: readonly Bound[], key: string): IrFunction {
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
    // Registered before its body is translated, because the function may call itself.
    translator.functions.set(key, made);
    session.deeper(declaration.span, () => {
      const body = translateBlock(translator, declaration.body) as IrFunction['body'];
      made.body = session.checked.fallsOff(declaration) ? endedByZero(translator, body, result) : body;
    });
    return made;
  });
}

/** The body of a function that may end without a result; it returns zero in that case. */
function endedByZero(translator: Translation, body: IrFunction['body'], type: IrType): IrFunction['body'] {
  const variable = { name: translator.namer.unique('nothing'), type };
  return {
    ...body, statements: [...body.statements, { kind: 'declare', variable, value: undefined },
      { kind: 'return', value: { kind: 'variable', variable, type } }],
  };
}

/** Runs `make` with the translator set up for the body of a function, and restores its state afterwards. */
export function withBody<T>(
  translator: Translation, declaration: FunctionDeclaration, scope: Scope, make: (result: IrType) => T,
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

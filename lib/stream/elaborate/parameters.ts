// Values from the caller for the parameters of the main stream.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import type { StreamDeclaration } from '../ast.ts';
import type { NameSymbol, Type } from '../front/checked.ts';
import { byNeed } from '../front/scope.ts';
import { Fault } from '../interpret/fault.ts';
import { normalise, typeText, vectorSizes } from '../interpret/values.ts';
import type { ConstantData, IrType, ScalarName } from '../ir.ts';
import type { BoundParameter } from './pieces.ts';
import { Runner } from './runner.ts';
import type { Entity, Session } from './session.ts';
import { staticEntity } from './statics.ts';

/** A value for a parameter: a number, a boolean, a string, or an array of values (typed arrays too). */
export type ParameterValue = number | boolean | string | ArrayLike<number> | readonly ParameterValue[];
/** Values by the names of parameters. */
export type ParameterValues = Readonly<Record<string, ParameterValue>>;

/** The hint in the message about a missing value. */
const howToGive = (name: string): string =>
  `give it: the option parameters: { ${name}: … }, or --param ${name}=… on the command line`;

/**
 * The parameters of `entry` with the given values.
 * @throws ArgumentError `parameters.NAME` if a value does not fit
 */
export function givenParameters(session: Session, entry: StreamDeclaration, values: ParameterValues): BoundParameter[] {
  const known = entry.parameters.map(({ name }) => name);
  for (const name of Object.keys(values)) {
    if (known.includes(name)) continue;
    const expected = known.length === 0 ? `no parameters: ${entry.name} has none` : `one of ${known.join(', ')}`;
    throw refusal(`parameters.${name}`, expected, 'another name');
  }
  const bound = new Map<NameSymbol, Entity>();
  const find = (symbol: NameSymbol): Entity | undefined => bound.get(symbol) ?? staticEntity(session, symbol);
  for (const parameter of byNeed(entry.parameters)) {
    const { name } = parameter;
    const symbol = session.checked.symbolOfDeclaration(parameter);
    if (!Object.hasOwn(values, name)) {
      const message = `the program begins with ${entry.name}, whose parameter '${name}' has no value`;
      throw new Fault('S4053', message, parameter.span, { hint: howToGive(name) });
    }
    const length = new Runner(session, find);
    bound.set(symbol, entityOf(symbol, values[name], (type) => session.sized(type, (e) => length.int(e), parameter.span)));
  }
  return [...bound].map(([symbol, entity]) => ({ symbol, entity }));
}

function entityOf({ name, type }: NameSymbol, value: ParameterValue | undefined, sized: (type: Type) => IrType): Entity {
  const argument = `parameters.${name}`;
  if (type.kind === 'string') {
    if (typeof value !== 'string') throw refusal(argument, 'a text', describeValue(value));
    return { kind: 'text', text: value };
  }
  if (type.kind === 'portal' || type.kind === 'struct') {
    throw refusal(argument, `nothing: a ${type.kind} cannot be given from outside`, describeValue(value));
  }
  const isOpen = type.kind === 'array' && type.length === undefined && type.count === undefined;
  const whole = sized(isOpen ? { ...type, count: (value as ArrayLike<number> | null | undefined)?.length ?? 0 } : type);
  const numbers: number[] = [];
  collect(argument, value, whole, numbers);
  const data: ConstantData = { type: whole, numbers };
  return { kind: 'constant', data, name };
}

/** Appends the scalars of a value in memory order. */
function collect(argument: string, value: ParameterValue | undefined, type: IrType, into: number[]): void {
  if (type.kind === 'scalar') {
    into.push(scalarOf(argument, value, type.name));
    return;
  }
  const [element, length] = type.kind === 'array' ? [type.element, type.length] as const
    : [{ kind: 'scalar', name: 'float' } as const, type.kind === 'vector' ? vectorSizes[type.name] : 0];
  const fits = (Array.isArray(value) || ArrayBuffer.isView(value)) && (value as ArrayLike<number>).length === length;
  if (!fits) throw refusal(argument, `an array of ${length} for ${typeText(type)}`, describeValue(value));
  for (let i = 0; i < length; ++i) collect(`${argument}[${i}]`, (value as readonly ParameterValue[])[i], element, into);
}

function scalarOf(argument: string, value: ParameterValue | undefined, name: ScalarName): number {
  if (name === 'boolean') {
    if (typeof value !== 'boolean') throw refusal(argument, 'true or false', describeValue(value));
    return Number(value);
  }
  const isWhole = name === 'int' || name === 'bit';
  const fits = typeof value === 'number' && (isWhole ? normalise(name, value) === value : !Number.isNaN(value));
  if (!fits) throw refusal(argument, isWhole ? `a whole number that fits ${name}` : 'a number', describeValue(value));
  return normalise(name, value);
}

// Definitions of equations: what can be checked without compiling anything.
import { describeValue } from '../core/arrays.ts';
import { anything, choice, hasFields, requireList } from '../core/checks.ts';
import { displayed } from '../core/display.ts';
import { refusal } from '../core/errors.ts';
import { needed, optionsOf, type ChecksOf } from '../core/options.ts';
import { methods, type Definition, type Equation, type Method } from './types.ts';

/** The maximum number of fields, parameters, coefficients and stages. */
const most = { fields: 8, parameters: 64, coefficients: 16, stages: 16, functions: 64 } as const;

const definitionOptions = optionsOf('stencil.define', {
  dimensions: needed(choice([1, 2, 3] as const)), fields: needed(anything), parameters: anything, coefficients: anything, rate: anything,
  step: anything, method: choice(methods), boundary: anything, admissible: anything,
  speed: anything, diffusivity: anything, functions: anything,
} satisfies ChecksOf<Definition<string, string, string>>);

/** Names that tools of point functions have, and what no field of an object may be called. */
const taken = new Set(['__proto__', 'constructor', 'prototype']);

function namesOf(value: unknown, argument: 'fields' | 'parameters' | 'coefficients', least: number): readonly string[] {
  if (value === undefined && least === 0) return [];
  if (!Array.isArray(value)) throw refusal(argument, 'a list of names', describeValue(value));
  if (value.length < least || value.length > most[argument]) {
    throw refusal(argument, `${least} to ${most[argument]} names`, `${value.length} of them`);
  }
  value.forEach((each: unknown, i) => {
    if (typeof each !== 'string' || !/^[A-Za-z_$][\w$]*$/.test(each) || taken.has(each)) {
      throw refusal(`${argument}[${i}]`, 'a name that can be a variable', describeValue(each));
    }
    if (value.indexOf(each) < i) throw refusal(`${argument}[${i}]`, 'a name that does not stand before', describeValue(each));
  });
  return [...value as string[]];
}

/** A function or the text of one. */
function requireFunction(value: unknown, name: string): void {
  if (typeof value !== 'function' && typeof value !== 'string') throw refusal(name, 'a function or the text of one', describeValue(value));
}

function stepsOf(step: unknown): readonly unknown[] {
  if (!Array.isArray(step)) {
    requireFunction(step, 'step');
    return [step];
  }
  requireList(step, 'step');
  if (step.length === 0 || step.length > most.stages) throw refusal('step', `1 to ${most.stages} stages`, `${step.length} of them`);
  step.forEach((each, i) => requireFunction(each, `step[${i}]`));
  return [...step as unknown[]];
}

/** The functions that others may call, by name. */
function functionsOf(given: unknown): Readonly<Record<string, unknown>> {
  if (given === undefined) return {};
  if (!hasFields(given) || Array.isArray(given)) throw refusal('functions', 'an object of functions by name', describeValue(given));
  const entries = Object.entries(given);
  if (entries.length > most.functions) throw refusal('functions', `at most ${most.functions} functions`, `${entries.length} of them`);
  for (const [name, each] of entries) {
    if (!/^(?!(?:Math|Number|NaN|Infinity|undefined)$)[A-Za-z_$][\w$]*$/.test(name) || taken.has(name)) {
      throw refusal('functions', 'names of functions, other than Math and Number', `'${name}'`);
    }
    requireFunction(each, `functions.${name}`);
  }
  return Object.fromEntries(entries);
}

/**
 * Defines an equation by ordinary functions. They are called with readers of the fields (and coefficients), the parameters, and tools: the
 * place, the time, the spacing, `laplacian`. Runs compile their text, so they can use their arguments, `Math`, and what they declare
 * themselves, and the functions given as `functions`, but no other variables. `stencil.inspect` compiles an equation without running it.
 * @example
 * const heat = stencil.define({
 *   dimensions: 2, fields: ['u'], parameters: ['D'],
 *   rate: ({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) }),
 *   method: 'euler',
 * });
 *
 * @throws ArgumentError (`ERR_WARPLOOM_INVALID_ARGUMENT`) naming what is wrong. Functions that cannot be compiled are refused by
 *   `inspect` and `simulate` with a FunctionError.
 */
export function define<
  const Field extends string, const Parameter extends string = never, const Coefficient extends string = never,
>(given: Definition<Field, Parameter, Coefficient>): Equation<Field, Parameter, Coefficient> {
  const options = definitionOptions.read(given);
  const fields = namesOf(options.fields, 'fields', 1) as readonly Field[];
  const parameters = namesOf(options.parameters, 'parameters', 0) as readonly Parameter[];
  const coefficients = namesOf(options.coefficients, 'coefficients', 0) as readonly Coefficient[];
  const both = coefficients.findIndex((name) => (fields as readonly string[]).includes(name));
  if (both >= 0) throw refusal(`coefficients[${both}]`, 'a name that is not that of a field', describeValue(coefficients[both]));
  const { rate, step } = options as Readonly<Record<'rate' | 'step', unknown>>;
  if ((rate === undefined) === (step === undefined)) {
    throw refusal(rate === undefined ? 'rate' : 'step', 'rate or step', rate === undefined ? 'neither' : 'both');
  }
  if (rate !== undefined) requireFunction(rate, 'rate');
  const steps = step === undefined ? undefined : stepsOf(step);
  if (step !== undefined && options.method !== undefined) throw refusal('method', 'none with step', describeValue(options.method));
  for (const name of ['admissible', 'speed', 'diffusivity'] as const) {
    const given: unknown = options[name];
    if (given !== undefined) requireFunction(given, name);
  }
  const functions = functionsOf(options.functions);
  const method: Method | undefined = step === undefined ? options.method ?? 'ssprk3' : undefined;
  const definition = { ...options, fields, parameters, coefficients, method, functions, ...(steps === undefined ? {} : { step: steps }) };
  const { dimensions } = options;
  const text = (): string => `Equation { ${dimensions}D, fields: ${fields.join(', ')}`
    + (parameters.length === 0 ? '' : `, parameters: ${parameters.join(', ')}`)
    + `${coefficients.length === 0 ? '' : `, coefficients: ${coefficients.join(', ')}`}, ${method ?? 'own step'} }`;
  const equation = Object.freeze(displayed({
    dimensions, fields, parameters, coefficients, method, definition: Object.freeze(definition) as Definition<Field, Parameter,
      Coefficient>,
  }, { text }));
  defined.add(equation);
  return equation;
}

const defined = new WeakSet<object>();

/** @throws ArgumentError for anything but what {@link define} returned */
export function requireEquation(value: unknown): asserts value is Equation {
  if (typeof value === 'object' && value !== null && defined.has(value)) return;
  throw refusal('equation', 'an equation made by stencil.define', describeValue(value));
}

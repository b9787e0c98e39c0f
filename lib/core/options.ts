// Options of functions: a table of checks and defaults, compiled once, reads the options of each call. The rules come from the operations'
// metadata (parametersOf) and from the domains. Reading a call's options takes a fraction of a microsecond; file schemas (zod) would take
// longer than a small call.
import { describeValue } from './arrays.ts';
import { abortSignal, anything, callback, choice, hasFields, number, truth, whole, type Check, type Rule } from './checks.ts';
import { ArgumentError, refusal } from './errors.ts';
import { choices, parameters, type OperationName } from './operations.gen.ts';
import { didYouMean } from './similar.ts';

/** A check with the default for a value that is omitted. */
export interface WithDefault<T> extends Check<T> {
  readonly normal: T;
}

/** The checks of a function's options by name. */
export type Checks = Readonly<Record<string, Check & { readonly normal?: unknown; readonly required?: true }>>;

/** Makes sure that a table of checks matches the declared options: `optionsOf('f', { … } satisfies ChecksOf<Options>)`. */
export type ChecksOf<Declared> = { readonly [Name in keyof Declared]-?: Check<Exclude<Declared[Name], undefined>> };

type Defaulted<Table> = { [Name in keyof Table]: Table[Name] extends { readonly normal: unknown } ? Name : never }[keyof Table];

/** The given options, with defaults filled in. */
export type Taken<Given, Table> = Given & {
  readonly [Name in Defaulted<Table> & keyof Given]-?: Exclude<Given[Name], undefined>;
};

/** The check of an option that defaults to `value`. */
export function normally<T>(check: Check<T>, value: NoInfer<T>): WithDefault<T> {
  return Object.assign((each: unknown, name: string) => check(each, name), check, { normal: value });
}

/** The check of an option that must be given. */
export function needed<T>(check: Check<T>): Check<T> & { readonly required: true } {
  return Object.assign((each: unknown, name: string) => check(each, name), check, { required: true as const });
}

/** How an option is checked: the most common rules without a call. */
const byCheck = 0, byAnything = 1, byNumber = 2, byChoice = 3, byBoolean = 4;

/** An option in the table, with its rule encoded as numbers, so that one loop can check all options. */
class Field {
  readonly check: Check;
  readonly how: number = byCheck;
  readonly low: number = 0;
  readonly high: number = 0;
  readonly whole: boolean = false;
  readonly values: readonly unknown[] = [];

  constructor(check: Check & Partial<Pick<Rule, 'quick'>>) {
    const { quick } = check;
    this.check = check;
    if (check === anything) this.how = byAnything;
    if (quick?.kind === 'boolean') this.how = byBoolean;
    if (quick?.kind === 'choice') {
      this.how = byChoice;
      this.values = quick.values;
    }
    if (quick?.kind !== 'number') return;
    this.how = byNumber;
    this.low = quick.low;
    this.high = quick.high;
    this.whole = quick.whole;
  }
}

/** Whether the value is certainly valid. Otherwise it goes to the check, which says what is wrong. */
function accepts(field: Field, value: unknown): boolean {
  switch (field.how) {
    case byAnything: return true;
    case byNumber:
      return typeof value === 'number' && value >= field.low && value <= field.high && (!field.whole || Number.isInteger(value));
    case byChoice: return field.values.includes(value);
    case byBoolean: return typeof value === 'boolean';
    default: return false;
  }
}

type Defaults = Readonly<Record<string, unknown>>;

/** The options of one function. Made by {@link optionsOf}. */
export class Options<Table extends Checks> {
  readonly #owner: string;
  readonly #fields: ReadonlyMap<string, Field>;
  readonly #required: readonly string[];
  /** All options with their defaults. The given options are written over a copy, so that all calls get objects of the same shape. */
  readonly #defaults: Defaults;
  readonly #copy: (defaults: Defaults) => Record<string, unknown>;

  constructor(owner: string, table: Table, copy: (defaults: Defaults) => Record<string, unknown>) {
    const entries = Object.entries(table);
    this.#owner = owner;
    this.#copy = copy;
    this.#fields = new Map(entries.map(([name, check]) => [name, new Field(check)]));
    this.#required = entries.flatMap(([name, { required }]) => (required === true ? [name] : []));
    this.#defaults = Object.fromEntries(entries.map(([name, { normal }]) => [name, normal]));
  }

  /**
   * The options of a call: each is read once and checked; if it is omitted or undefined, it gets its default.
   * @param within the name of the object if it is not the options object itself; its fields are then `within.field`
   * @throws ArgumentError naming the option: one that does not exist, one with an invalid value, or one that is missing
   */
  read<Given extends object>(given: Given, within = ''): Taken<Given, Table> {
    if (typeof given !== 'object' || (given as unknown) === null) throw this.#noOptions(given, within);
    const prototype: unknown = Object.getPrototypeOf(given);
    const values = this.#copy(this.#defaults);
    let none = true;
    for (const key in given) {
      none = false;
      const field = this.#fields.get(key);
      if (field === undefined) {
        if (!Object.hasOwn(given, key)) continue;
        throw hasFields(given) ? this.#unknown(key, within) : this.#noOptions(given, within);
      }
      const value: unknown = given[key];
      if (value === undefined) continue;
      if (!accepts(field, value)) field.check(value, nameOf(key, within));
      values[key] = value;
    }
    if (none && !hasFields(given)) throw this.#noOptions(given, within);
    if (prototype !== Object.prototype && prototype !== null) this.#readInherited(given, values, within);
    if (this.#required.length > 0) this.#checkRequired(values, within);
    return values as Taken<Given, Table>;
  }

  /** Reads options from the getters of a class instance, which are not enumerable. */
  #readInherited(given: object, values: Record<string, unknown>, within: string): void {
    for (const [key, field] of this.#fields) {
      if (Object.prototype.propertyIsEnumerable.call(given, key)) continue;
      const value: unknown = (given as Readonly<Record<string, unknown>>)[key];
      if (value === undefined) continue;
      field.check(value, nameOf(key, within));
      values[key] = value;
    }
  }

  #checkRequired(values: Defaults, within: string): void {
    for (const name of this.#required) if (values[name] === undefined) this.#fields.get(name)?.check(undefined, nameOf(name, within));
  }

  #unknown(key: string, within: string): Error {
    const known = [...this.#fields.keys()];
    const takes = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`;
    const hint = didYouMean(key, known, '');
    const kind = within === '' ? 'option' : 'field';
    return new ArgumentError(nameOf(key, within), `${this.#owner} has no such ${kind}; ${hint === '' ? '' : `${hint} `}${takes}`,
      { expected: known.length === 0 ? 'no options' : `one of ${known.join(', ')}`, received: `'${key}'` });
  }

  #noOptions(given: unknown, within: string): Error {
    const expected = within === '' ? `an object of options of ${this.#owner}` : `an object of ${this.#owner}`;
    return refusal(within === '' ? 'options' : within, expected, describeValue(given));
  }
}

const nameOf = (key: string, within: string): string => (within === '' ? key : `${within}.${key}`);

/**
 * The options of the function `owner`, by name.
 * @param copy how the defaults are copied. V8 caches object shapes by place in the code: the copy below, which all tables share, takes 0.33
 * us for 24 options; one that a function for small problems writes itself takes 0.1 us.
 */
export function optionsOf<Table extends Checks>(
  owner: string, table: Table, copy: (defaults: Defaults) => Record<string, unknown> = (defaults) => ({ ...defaults }),
): Options<Table> {
  return new Options(owner, table, copy);
}

/** An option that is an object of options itself. */
export function nested<Table extends Checks>(options: Options<Table>): Check<never> {
  return (value, name) => void options.read(value as object, name);
}

type Described = { readonly default: string | number | boolean; readonly whole?: true; readonly least?: number; readonly above?: number;
  readonly most?: number };
type Choices<Operation extends OperationName> = (typeof choices)[Operation];
type Parameters<Operation extends OperationName> = (typeof parameters)[Operation];

/** The values that a parameter of an operation accepts. */
type ValueOf<Operation extends OperationName, Name> = Name extends keyof Choices<Operation>
  ? Choices<Operation>[Name] extends readonly (infer Each)[] ? Each : never
  : Name extends keyof Parameters<Operation>
    ? Parameters<Operation>[Name] extends { readonly default: boolean } ? boolean : number
    : never;

type Named<Operation extends OperationName> = string & keyof Parameters<Operation>;

/** Options that match parameters of an operation except for their defaults, with the choices and ranges of its `visit()`. */
export function rangesOf<Operation extends OperationName, Name extends Named<Operation>>(
  operation: Operation, ...names: readonly Name[]
): { readonly [Each in Name]: Rule<ValueOf<Operation, Each>> } {
  const described = parameters[operation] as Readonly<Record<string, Described>>;
  const named = choices[operation] as Readonly<Record<string, readonly string[]>>;
  return Object.fromEntries(names.map((name) => {
    const { default: normal, whole: isWhole, ...bounds } = described[name] as Described;
    const check: Rule = typeof normal === 'boolean' ? truth : typeof normal === 'string' ? choice(named[name] ?? [])
      : isWhole === true ? whole(bounds.least ?? Number.MIN_SAFE_INTEGER, bounds.most) : number(bounds);
    return [name, check];
  })) as never;
}

/** Options that match parameters of an operation, including their defaults. */
export function parametersOf<Operation extends OperationName, Name extends Named<Operation>>(
  operation: Operation, ...names: readonly Name[]
): { readonly [Each in Name]: WithDefault<ValueOf<Operation, Each>> } {
  const described = parameters[operation] as Readonly<Record<string, Described>>;
  return Object.fromEntries(Object.entries<Rule>(rangesOf(operation, ...names))
    .map(([name, check]) => [name, normally(check, (described[name] as Described).default)])) as never;
}

/** The options of every function that can be cancelled. */
export const cancelChecks = { signal: abortSignal, onProgress: callback };

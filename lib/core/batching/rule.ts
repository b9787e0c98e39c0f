// How calls of one function can share a launch: what a domain tells the batcher about its functions.

/** A call whose options were checked and whose inputs were copied. */
export interface TakenCall<Device> {
  /** The function's name, for traces. */
  readonly name: string;
  /** Bytes of its copies. */
  readonly bytes: number;
  /** Systems or rows along the batch axis. */
  readonly items: number;
  readonly signal: AbortSignal | undefined;
  /** Runs this call only. */
  readonly alone: (device: Device, signal: AbortSignal | undefined) => Promise<unknown>;
  /** Calls with equal keys can share a launch on this device, with results that are equal to the bit; undefined: it runs alone. */
  readonly keyOn?: (device: Device) => string | undefined;
  /** Runs calls with the key of this one as one, this one among them. */
  readonly together?: (device: Device, calls: readonly TakenCall<Device>[], signal: AbortSignal | undefined) => Promise<readonly Outcome[]>;
}

/** What became of one call. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** The outcome of one call. */
export function outcomeOf(make: () => unknown): Outcome {
  try {
    return { value: make() };
  } catch (error) {
    return { error };
  }
}

/**
 * Checks a call of a function, or of the method `solve` of `target`, as the function does, and copies its inputs, unless they are `owned`:
 * nobody else writes to them.
 */
export type Take<Device> = (args: readonly unknown[], target: unknown, owned: boolean) => TakenCall<Device>;

/** Calls with inputs of so many bytes gain less from company than it costs to copy them into one array. */
export const loneBytes = 2 ** 18;

const rules = new WeakMap<object, Take<never>>();
const names: string[] = [];

/** Makes calls of a function, or of the methods `solve` of a class, batchable. */
export function batchable<Device>(target: object, name: string, take: Take<Device>): void {
  rules.set(target, take as unknown as Take<never>);
  names.push(name);
}

/** How calls of a function or object are taken. */
export function takeOf<Device>(target: unknown): Take<Device> | undefined {
  if (typeof target === 'function') return rules.get(target) as unknown as Take<Device> | undefined;
  if (typeof target !== 'object' || target === null) return undefined;
  return rules.get((target as { constructor: object }).constructor) as unknown as Take<Device> | undefined;
}

/** What has been made batchable, for messages. */
export function batchableNames(): string {
  return [...names].sort().join(', ');
}

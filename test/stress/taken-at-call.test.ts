// Whatever a call reads is taken before it returns: inputs that are overwritten, detached or resized right after it change nothing.
// Generated from the registry of operations and from the exports of the package: an export without an entry fails.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { inputArray } from '../../lib/core/device.ts';
import { ArgumentError, defaultDevice, Device, DeviceArray, openDevice, WarploomError } from '../../lib/index.ts';
import * as library from '../../lib/index.ts';
import { hasBackend } from '../support/backends.ts';
import { publicCases, withoutInputs, type Given, type PublicCase } from '../support/public-calls.ts';
import { Random } from '../support/random.ts';
import { coveredOperations, validParameters, type LooseView } from '../support/valid-parameters.ts';

const Resizable = ArrayBuffer as unknown as new (length: number, options: { maxByteLength: number }) => ArrayBuffer;
const AsyncFunction = (async () => undefined).constructor;

/** What happens to an input right after the call. */
interface Disturbance {
  readonly name: string;
  /** The array as it is given. */
  readonly give?: (array: Float64Array | Uint8Array) => Float64Array | Uint8Array;
  readonly take: (array: Float64Array | Uint8Array) => void;
  readonly list: (list: unknown[]) => void;
  /** The same for device arrays, in the order of the calls; undefined: there is nothing like it. */
  readonly device?: (array: DeviceArray) => void;
}

const nothing: Disturbance = { name: 'left alone', take: () => undefined, list: () => undefined, device: () => undefined };
const disturbances: readonly Disturbance[] = [
  {
    name: 'overwritten', take: (array) => void array.fill(7 as never),
    list: (list) => list.forEach((value, i) => { list[i] = typeof value === 'number' ? 9 : undefined; }),
    device: (array) => void array.write(new Float64Array(array.length).fill(7)),
  },
  {
    name: 'detached', take: (array) => void structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] }),
    list: (list) => { list.length = 0; }, device: (array) => array.dispose(),
  },
  {
    name: 'resized', list: (list) => void list.push(1),
    give: (array) => {
      const buffer = new Resizable(array.byteLength, { maxByteLength: 2 * array.byteLength });
      const view = array instanceof Uint8Array ? new Uint8Array(buffer) : new Float64Array(buffer, 0, array.length);
      (view as Float64Array).set(array as Float64Array);
      return view;
    },
    take: (array) => (array.buffer as unknown as { resize(length: number): void }).resize(0),
  },
];

const varying: ReadonlySet<string> = new Set(['deviceSeconds', 'milliseconds', 'device', 'key', 'cached']);

/** All numbers and texts of a result, in order; device arrays are read and freed. */
async function digest(value: unknown, into: unknown[] = []): Promise<unknown[]> {
  if (value instanceof DeviceArray) {
    into.push(await value.read());
    value.dispose();
  } else if (ArrayBuffer.isView(value)) {
    into.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex'));
  } else if (typeof value === 'object' && value !== null && !(value instanceof Device)) {
    for (const [key, each] of Object.entries(value)) {
      if (varying.has(key)) continue;
      into.push(key);
      await digest(each, into);
    }
  } else if (typeof value !== 'function') {
    into.push(value);
  }
  return into;
}

/** Calls once with fresh inputs, disturbs them at once, and gives the result's digest or the error. */
async function outcome(each: PublicCase, on: Given['on'], disturbance: Disturbance, onDevice: boolean): Promise<unknown[] | WarploomError> {
  const random = new Random(31);
  const undo: (() => void)[] = [];
  const made: DeviceArray[] = [];
  const give = <A extends Float64Array | Uint8Array>(array: A): A => {
    const given = disturbance.give === undefined ? array : disturbance.give(array) as A;
    undo.push(() => disturbance.take(given));
    return given;
  };
  const given: Given = {
    on,
    array: (length, low = 0, high = 1) => {
      const array = Float64Array.from({ length }, () => random.uniform(low, high));
      if (!onDevice) return give(array);
      const placed = inputArray(on.device!, array);
      made.push(placed);
      undo.push(() => disturbance.device!(placed));
      return placed as unknown as Float64Array;
    },
    bytes: (...values) => give(Uint8Array.from(values)),
    list: (...values) => {
      undo.push(() => disturbance.list(values));
      return values;
    },
  };
  const prepared = await each.prepare?.(on);
  try {
    const call = each.call(given, prepared as never);
    for (const step of undo) step();
    const result = await call;
    return await digest(each.use === undefined ? result : await each.use(result as never, prepared as never));
  } catch (error) {
    ok(error instanceof WarploomError, `not typed: ${String(error)}`);
    return error;
  } finally {
    for (const array of made) array.dispose();
  }
}

/** The result is the same to the bit; only what was resizable may have been refused instead, and what was disposed of. */
async function requireTaken(name: string, each: PublicCase, onOf: () => Promise<Given['on']>, onDevice = false): Promise<void> {
  const expected = await outcome(each, await onOf(), nothing, onDevice);
  if (expected instanceof WarploomError) throw expected;
  ok(expected.length > 0 || name === 'stream.parse' || name === 'stream.check', 'a result to compare');
  for (const disturbance of disturbances) {
    if (onDevice && disturbance.device === undefined) continue;
    const found = await outcome(each, await onOf(), disturbance, onDevice);
    if (found instanceof ArgumentError && disturbance.give !== undefined) continue;
    if (found instanceof WarploomError) throw found;
    deepStrictEqual(found, expected, `${name}: ${disturbance.name}`);
  }
}

/** Device, cpu and simt; the shim also as a device with memory of its own. */
const placesOf: readonly { readonly name: string; readonly backend: 'cpu' | 'simt'; readonly discrete?: boolean }[] = [
  { name: 'an open cpu device', backend: 'cpu' }, { name: 'an open simt device', backend: 'simt' },
  { name: 'a simt device with memory of its own', backend: 'simt', discrete: true },
];

async function opened({ backend, discrete }: (typeof placesOf)[number]): Promise<Device> {
  if (discrete === true) process.env.WARPLOOM_SIMT_DISCRETE = '1';
  try {
    return await openDevice({ backend });
  } finally {
    delete process.env.WARPLOOM_SIMT_DISCRETE;
  }
}

/** Names of exported functions and methods: `*` before those that are async. */
function exportedFunctions(names: Readonly<Record<string, unknown>>, prefix = ''): Map<string, boolean> {
  const found = new Map<string, boolean>();
  for (const [name, value] of Object.entries(names)) {
    if (typeof value === 'object' && value !== null && Object.values(value).some((each) => typeof each === 'function')) {
      for (const [inner, isAsync] of exportedFunctions(value as Record<string, unknown>, `${name}.`)) found.set(inner, isAsync);
    }
    if (typeof value !== 'function') continue;
    if (!Function.prototype.toString.call(value).startsWith('class')) {
      found.set(`${prefix}${name}`, value instanceof AsyncFunction);
      continue;
    }
    const prototype = value.prototype as object;
    // A class that is not exported gives its methods to the one that is made of it.
    const base = value === DeviceArray ? Object.getPrototypeOf(value) as { readonly prototype: object } : undefined;
    const inherited = base === undefined ? [] : [[base, '.'], [base.prototype, '#']] as const;
    for (const [owner, dot] of [[value, '.'], [prototype, '#'], ...inherited] as const) {
      for (const [key, { value: method }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
        if (typeof method === 'function' && key !== 'constructor') found.set(`${prefix}${name}${dot}${key}`, method instanceof AsyncFunction);
      }
    }
  }
  return found;
}

describe('inputs are taken at the call', function () {
  this.timeout(120000);
  this.slow(10000);

  it('has an entry for every export that gives a promise', () => {
    const found = exportedFunctions(library);
    ok(found.size > 150, `${found.size} functions`);
    for (const [name, isAsync] of found) {
      const known = Object.hasOwn(publicCases, name) || Object.hasOwn(withoutInputs, name);
      ok(known || !isAsync, `${name} is new: give it calls in test/support/public-calls.ts`);
    }
    // Functions that give promises without being async are named here, so that none is lost when one is rewritten.
    for (const name of [...Object.keys(publicCases), ...Object.keys(withoutInputs)]) ok(found.has(name), `${name} is no export any more`);
  });

  for (const [name, cases] of Object.entries(publicCases)) {
    cases.forEach((each, index) => {
      const title = cases.length === 1 ? name : `${name}, way ${index + 1}`;
      if (each.device === undefined) {
        it(title, () => requireTaken(name, each, async () => ({})));
        return;
      }
      it(`${title}, on the default device, not open yet`, () => requireTaken(name, each, async () => {
        await (await defaultDevice()).close();
        return {};
      }));
      for (const place of placesOf) {
        if (!hasBackend(place.backend)) continue;
        it(`${title}, on ${place.name}`, async () => {
          const device = await opened(place);
          try {
            await requireTaken(name, each, async () => ({ device }));
            if (each.device === 'arrays') await requireTaken(name, each, async () => ({ device }), true);
          } finally {
            await device.close();
          }
        });
      }
    });
  }

  for (const place of placesOf) {
    if (!hasBackend(place.backend)) continue;
    it(`every input of every operation, on ${place.name}`, async () => {
      const device = await opened(place);
      const operations = addon().operations();
      deepStrictEqual(Object.keys(operations).sort(), [...coveredOperations].sort());
      for (const operation of coveredOperations) {
        const make = async () => {
          const parameters = validParameters(operation);
          if (operation === 'tridiagonal.solve_factored') {
            const factored = validParameters('tridiagonal.factor');
            await device.run('tridiagonal.factor', factored);
            parameters['factors'] = factored['factors'];
          }
          return parameters;
        };
        const arraysOf = (parameters: Record<string, unknown>, role: (role: string) => boolean): Float64Array[] =>
          operations[operation]!.fields.flatMap((field) => {
            const value = parameters[field.name] as Float64Array | LooseView | undefined;
            if (value === undefined || field.role === undefined || !role(field.role)) return [];
            return [ArrayBuffer.isView(value) ? value : value.data as Float64Array];
          });
        const untouched = await make();
        await device.run(operation, untouched);
        const expected = await digest(arraysOf(untouched, (role) => role !== 'input'));
        for (const { take, name } of disturbances.slice(0, 2)) {
          const parameters = await make();
          const call = device.run(operation, parameters);
          for (const array of arraysOf(parameters, (role) => role === 'input')) take(array);
          await call;
          deepStrictEqual(await digest(arraysOf(parameters, (role) => role !== 'input')), expected, `${operation}: ${name}`);
        }
      }
      strictEqual(device.closed, false);
      await device.close();
    });
  }
});

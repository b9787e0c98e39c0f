// @domain@.@operation@: result[i] = factor * values[i].
import { describeValue, elementTypeOf, makeResult } from '../core/arrays.ts';
import { callChecks, deviceFor } from '../core/call.ts';
import { number } from '../core/checks.ts';
import type { Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { normally, optionsOf, type ChecksOf } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';

/** Options of {@link @camel@}. */
export interface @Camel@Options extends CallOptions {
  /** Default 1. */
  readonly factor?: number;
  /** Default: the thread's default device. */
  readonly device?: Device;
}

// After `npm run generate`, factor is ...parametersOf('@domain@.@operation@', 'factor'): range and default of visit().
const readOptions = optionsOf('@domain@.@camel@', {
  factor: normally(number(), 1), ...callChecks,
} satisfies ChecksOf<@Camel@Options>);

/**
 * Multiplies every element by `factor`.
 * @throws ArgumentError naming the argument, before any work
 */
export async function @camel@<V extends Float32Array | Float64Array>(values: V, given: @Camel@Options = {}): Promise<V> {
  const options = readOptions.read(given);
  const type = elementTypeOf(values);
  if (type !== 'float32' && type !== 'float64') {
    throw refusal('values', 'a Float32Array or a Float64Array', describeValue(values));
  }
  const { factor, signal, onProgress } = options;
  const device = deviceFor(options, [values]);
  const result = makeResult(type, values.length) as V;
  await device.run('@domain@.@operation@', {
    type, n: values.length, factor, values: { data: values }, result: { data: result },
  }, { signal, onProgress });
  return result;
}

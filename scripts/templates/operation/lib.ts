// @domain@.@operation@: result[i] = factor * values[i].
import { describeValue, elementTypeOf, makeTypedArray } from '../core/arrays.ts';
import { implicitDevice, type Device } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { callFields, checkOptions, optionTable, realFrom } from '../core/options.ts';
import type { CallOptions } from '../core/progress.ts';

/** Options of {@link @camel@}. */
export interface @Camel@Options extends CallOptions {
  /** Default 1. */
  readonly factor?: number;
  /** Default: the thread's default device. */
  readonly device?: Device;
}

const table = optionTable({ factor: realFrom(-Infinity), ...callFields });

/**
 * Multiplies every element by `factor`.
 * @throws ArgumentError naming the argument, before any work
 */
export async function @camel@<V extends Float32Array | Float64Array>(values: V, options: @Camel@Options = {}): Promise<V> {
  const type = elementTypeOf(values);
  if (type !== 'float32' && type !== 'float64') {
    throw refusal('values', 'a Float32Array or a Float64Array', describeValue(values));
  }
  checkOptions(table, options, '@domain@.@camel@');
  const { factor = 1, signal, onProgress } = options;
  const device = options.device ?? implicitDevice();
  const result = makeTypedArray(type, values.length) as V;
  await device.run('@domain@.@operation@', {
    type, n: values.length, factor, values: { data: values }, result: { data: result },
  }, { signal, onProgress });
  return result;
}

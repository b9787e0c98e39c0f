// @domain@.@operation@: result[i] = factor * values[i].
import { z } from 'zod';
import { describeValue, elementTypeOf } from '../core/arrays.ts';
import { Device, implicitDevice } from '../core/device.ts';
import { ArgumentError, refusal } from '../core/errors.ts';
import type { CallOptions } from '../core/progress.ts';

/** Options of {@link @camel@}. */
export interface @Camel@Options extends CallOptions {
  /** Default 1. */
  readonly factor?: number;
  /** Default: the thread's default device. */
  readonly device?: Device;
}

const schema = z.strictObject({
  factor: z.number().optional(),
  device: z.instanceof(Device).optional(),
  signal: z.instanceof(AbortSignal).optional(),
  onProgress: z.custom((value) => typeof value === 'function').optional(),
});

/**
 * Multiplies every element by `factor`.
 * @throws ArgumentError naming the argument, before any work
 */
export async function @camel@<V extends Float32Array | Float64Array>(values: V, options: @Camel@Options = {}): Promise<V> {
  const type = elementTypeOf(values);
  if (type !== 'float32' && type !== 'float64') {
    throw refusal('values', 'a Float32Array or a Float64Array', describeValue(values));
  }
  const parsed = schema.safeParse(options);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new ArgumentError(issue?.path.join('.') || 'options', issue?.message ?? 'invalid');
  }
  const { factor = 1, signal, onProgress } = options;
  const device = options.device ?? implicitDevice();
  const result = values.slice() as V;
  await device.run('@domain@.@operation@', {
    type, n: values.length, factor, values: { data: values }, result: { data: result },
  }, { signal, onProgress });
  return result;
}

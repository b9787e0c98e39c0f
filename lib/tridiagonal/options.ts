// Option schemas shared by the operations, and how their failures become argument errors.
import { z } from 'zod';
import { ArgumentError } from '../core/errors.ts';
import { Device } from '../core/device.ts';
import { describe } from './views.ts';

/** Counts and strides stay exact in float64 and fit int64. */
const count = z.int().min(0);

const strides = z.strictObject({
  offset: count.optional(), systemStride: count, rowStride: count, rhsStride: count.optional(),
});
const layout = z.union([z.enum(['contiguous', 'interleaved']), strides]);

/** Arrays are checked by views.ts, not by zod: nothing walks their elements. Missing ones are reported there too. */
const anything = z.unknown().optional();

/** Fields of ShapeOptions. */
export const shapeFields = {
  n: count.optional(),
  batch: count.optional(),
  rhsCount: count.optional(),
  offsets: z.union([z.array(count), z.instanceof(Int32Array), z.instanceof(BigInt64Array)]).optional(),
  layout: layout.optional(),
  layouts: z.strictObject({
    lower: layout, diagonal: layout, upper: layout, rhs: layout, solution: layout, x: layout, y: layout,
  }).partial().optional(),
};

/** Fields of MatrixOptions. */
export const matrixFields = {
  lower: anything,
  diagonal: anything,
  upper: anything,
  complex: z.boolean().optional(),
  periodic: z.boolean().optional(),
  transpose: z.enum(['none', 'transpose', 'conjugate']).optional(),
  structure: z.enum(['general', 'positive-definite']).optional(),
};

/** Fields of CallOptions. */
export const callFields = {
  device: z.instanceof(Device).optional(),
  signal: z.instanceof(AbortSignal).optional(),
  onProgress: z.custom<(done: number, total: number) => void>((value) => typeof value === 'function').optional(),
};

/** Optional array field. */
export const arrayField = anything;

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

/**
 * Checks `options` against a strict schema. Throws ArgumentError naming the first bad option, what was
 * expected and what was received.
 */
export function parseOptions(schema: z.ZodObject, options: unknown, operation: string): void {
  if (typeof options !== 'object' || options === null) {
    throw new ArgumentError('options', `${operation} expects an object of options, received ${describe(options)}`);
  }
  const result = schema.safeParse(options);
  if (result.success) return;
  const issue = result.error.issues[0] as Issue;
  if (issue.code === 'unrecognized_keys') {
    const name = [...issue.path, issue.keys?.[0] ?? ''].join('.');
    throw new ArgumentError(name, `${operation} has no such option; it takes ${Object.keys(schema.shape).join(', ')}`);
  }
  const name = issue.path.map(String).join('.') || 'options';
  const received = issue.path.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], options);
  throw new ArgumentError(name, `${issue.message.replace(/^Invalid (input|option): /, '')}, received ${describe(received)}`);
}

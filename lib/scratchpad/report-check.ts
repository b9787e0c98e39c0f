// What `explain` reads of a report, checked: reports are kept as JSON, edited, and given back.
import { z } from 'zod';
import { ArgumentError } from '../core/errors.ts';
import type { ScratchpadReport } from './report.ts';

const count = z.int().min(0);
const pairs = z.array(z.tuple([z.string(), z.string()]));
const occupancy = z.looseObject({ blocks: count, occupancy: z.number(), limiter: z.string() });

const kernel = z.looseObject({
  kernel: z.string(), line: count, status: z.enum(['rewritten', 'kept']), reason: z.string(),
  bytesBefore: count, bytesAfter: count, lowerBound: count, optimal: z.boolean(), symbolic: z.boolean(),
  arrays: z.array(z.looseObject({
    name: z.string(), type: z.string(), dimensions: z.array(z.number()), line: count, bytes: count, offset: z.int(), partition: z.int(),
    live: z.array(z.looseObject({ beginLine: count, endLine: count })),
  })),
  partitions: z.array(z.looseObject({ offset: count, bytes: count, arrays: z.array(z.string()) })),
  interference: pairs, inseparable: pairs,
  barriersAdded: z.array(z.looseObject({ line: count, newLine: count, cause: z.enum(['reuse', 'order']), separates: pairs, loops: count })),
  barriersExisting: z.array(z.looseObject({ line: count, separates: z.boolean() })),
  barriersRemoved: z.array(z.looseObject({ line: count })),
  moved: z.array(z.looseObject({ line: count, text: z.string(), beforeLine: count.optional() })),
  residency: z.looseObject({
    architecture: z.string(), threads: count, registers: count, before: occupancy, after: occupancy,
  }).optional(),
  dynamicBytes: count.optional(), assumptions: z.array(z.string()),
}).superRefine(({ arrays, interference, inseparable }, context) => {
  const names = new Set(arrays.map(({ name }) => name));
  for (const [field, list] of Object.entries({ interference, inseparable })) {
    const index = list.findIndex((pair) => !pair.every((name) => names.has(name)));
    if (index >= 0) context.addIssue({ code: 'custom', path: [field, index], message: 'expected names of arrays of the kernel' });
  }
});

const report = z.looseObject({
  kernels: z.array(kernel),
  refused: z.array(z.looseObject({
    kernel: z.string(), line: count, column: count, code: z.string(), reason: z.string(), remedy: z.string(),
  })),
});

/**
 * Refuses what is no report of `optimize`.
 * @throws ArgumentError naming the field
 */
export function requireReport(value: unknown): asserts value is ScratchpadReport {
  const { error } = report.safeParse(value);
  const issue = error?.issues[0];
  if (issue !== undefined) throw new ArgumentError(['report', ...issue.path].map(String).join('.'), issue.message, { cause: error });
}

// Checks the parts of a report that `explain` reads, because reports are stored as JSON, edited, and passed back.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { choice, number, text, truth, whole, type Check } from '../core/checks.ts';
import { list, optional, record } from '../core/shapes.ts';
import type { KernelReport, ScratchpadReport } from './report.ts';

const count = whole(0);
const integer = whole(Number.MIN_SAFE_INTEGER);
const boolean: Check = truth;
const pairs = list(list(text(), { length: 2 }));
const occupancy = record({ blocks: count, occupancy: number(), limiter: text() }, 'ignore');

const residency = record({ architecture: text(), threads: count, registers: count, before: occupancy, after: occupancy }, 'ignore');

const kernel = record({
  kernel: text(), line: count, status: choice(['rewritten', 'kept']), reason: text(),
  bytesBefore: count, bytesAfter: count, lowerBound: count, optimal: boolean,
  arrays: list(record({
    name: text(), line: count, bytes: count, offset: integer, partition: integer,
    live: list(record({ beginLine: count, endLine: count }, 'ignore')),
  }, 'ignore')),
  partitions: list(record({ offset: count, bytes: count, arrays: list(text()) }, 'ignore')),
  interference: pairs, inseparable: pairs,
  barriersAdded: list(record({ line: count, cause: choice(['reuse', 'order']), separates: pairs, loops: count }, 'ignore')),
  barriersExisting: list(record({ line: count, separates: boolean }, 'ignore')),
  barriersRemoved: list(record({ line: count }, 'ignore')),
  moved: list(record({ line: count, text: text(), beforeLine: count }, 'ignore')),
  residency: optional(residency), residencies: list(residency),
  dynamicBytes: optional(count), possible: optional(record({ bytes: count, barrierLines: list(count) }, 'ignore')),
  pinned: list(record({ name: text(), bytes: count, code: text(), reason: text(), line: count }, 'ignore')),
}, 'ignore');

/** Checks that pairs name arrays of the kernel. */
function requireKnownPairs({ arrays, interference, inseparable }: KernelReport, name: string): void {
  const names = new Set(arrays.map((array) => array.name));
  for (const [field, list] of Object.entries({ interference, inseparable })) {
    const index = list.findIndex((pair) => !pair.every((each) => names.has(each)));
    if (index >= 0) throw refusal(`${name}.${field}.${index}`, 'names of arrays of the kernel', describeValue(list[index]));
  }
}

const report = record({
  kernels: list((value, name) => {
    kernel(value, name);
    requireKnownPairs(value as KernelReport, name);
  }),
}, 'ignore');

/**
 * Rejects values that are not reports of `optimize`.
 * @throws ArgumentError naming the field
 */
export function requireReport(value: unknown): asserts value is ScratchpadReport {
  report(value, 'report');
}

// Reports as readable text, and interference graphs in DOT.
import { elementAt, required } from '../core/known.ts';
import { requireReport } from './report-check.ts';
import type { KernelReport, ScratchpadReport } from './report.ts';

/** A report in both forms. */
export interface Explanation {
  /** The results for each kernel. */
  readonly text: string;
  /** The interference graphs in Graphviz's DOT language: arrays that share bytes have the same colour. */
  readonly dot: string;
}

const kColours = ['#8dd3c7', '#fdb462', '#bebada', '#fb8072', '#80b1d3', '#b3de69', '#fccde5', '#d9d9d9', '#bc80bd', '#ccebc5', '#ffed6f'];

function percent(before: number, after: number): string {
  return before === 0 ? '0 %' : `${((1 - after / before) * 100).toFixed(1)} %`;
}

function arrayLines(kernel: KernelReport): string[] {
  const rows = kernel.arrays.map(({ name, bytes, offset, live, line }) => {
    const ranges = live.map(({ beginLine, endLine }) => beginLine === endLine ? `${beginLine}` : `${beginLine}-${endLine}`);
    const needed = ranges.length === 0 ? 'never used' : `needed in lines ${ranges.join(', ')}`;
    return [name, `line ${line}`, `${bytes} B`, `at ${offset}`, needed];
  });
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => elementAt(row, column).length)));
  return rows.map((row) => `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`);
}

function barrierLines({ barriersAdded, barriersRemoved, barriersExisting }: KernelReport): string[] {
  const added = barriersAdded.map(({ line, cause, separates, loops }) => {
    const why = cause === 'order' ? 'for the new order' : `between ${separates.map(([a, b]) => `${a} and ${b}`).join(', ')}`;
    const inLoops = loops === 0 ? '' : `, in ${loops} loop${loops > 1 ? 's' : ''}`;
    return `  barrier added before line ${line}, ${why}${inLoops}`;
  });
  const used = barriersExisting.filter((barrier) => barrier.separates).map(({ line }) => line);
  return [
    ...(used.length > 0 ? [`  existing barriers that reuse relies on: line ${used.join(', ')}`] : []), ...added,
    ...barriersRemoved.map(({ line }) => `  barrier of line ${line} removed: the new order does not need it`),
  ];
}

/** What an author would change in the source to get what was done to the compiled kernel. */
function advice({ status, partitions, barriersAdded, possible }: KernelReport): string[] {
  const unions = partitions.filter((partition) => partition.arrays.length > 1).map(({ arrays }) => arrays.join(', '));
  const more = possible === undefined ? []
    : [`  with __syncthreads() before line ${possible.barrierLines.join(', ')}: ${possible.bytes} bytes (option barriers)`];
  if (status !== 'rewritten' || unions.length === 0) return more;
  const lines = barriersAdded.map(({ line }) => line).join(', ');
  const barriers = lines === '' ? '' : `, and __syncthreads() before line ${lines}`;
  return [`  in the source: ${unions.map((each) => `a union of ${each}`).join('; ')}${barriers}`, ...more];
}

/** What moved, by lines: parts of a line that moved to the same place are named once. */
function movedLines(moved: KernelReport['moved']): string[] {
  return [...new Set(moved.map(({ line, beforeLine }) => `  moved: line ${line} before line ${beforeLine}`))];
}

/** How many arrays keep their own bytes, and why. */
function pinnedText(pinned: ScratchpadReport['pinned']): string[] {
  const parts = Object.entries(pinned).map(([code, count]) => `${count} ${code}`);
  return parts.length === 0 ? [] : [`arrays that keep their own bytes, by reason: ${parts.join(', ')}`];
}

/** Blocks per multiprocessor on several architectures, as one line; none if the number of threads is unknown. */
export function blocksElsewhere({ residencies }: KernelReport): string[] {
  const each = residencies.map(({ architecture, before, after }) =>
    `${architecture} ${before.blocks === after.blocks ? before.blocks : `${before.blocks} -> ${after.blocks}`}`);
  return each.length === 0 ? [] : [`blocks per multiprocessor: ${each.join(', ')}`];
}

function kernelText(kernel: KernelReport): string {
  const { bytesBefore, bytesAfter, lowerBound, optimal, residency, inseparable, moved, partitions, possible } = kernel;
  const proof = possible !== undefined ? 'the least without more barriers'
    : bytesAfter === lowerBound ? 'no placement takes fewer' : optimal ? 'proved smallest' : `at least ${lowerBound} are needed`;
  const shared = partitions.filter((partition) => partition.arrays.length > 1);
  const lines = [
    `${kernel.kernel} (line ${kernel.line}): ${bytesBefore} -> ${bytesAfter} bytes per block, `
      + `${percent(bytesBefore, bytesAfter)} less; ${proof}`,
    ...(kernel.status === 'kept' ? [`  kept as it is: ${kernel.reason}`] : []),
    ...arrayLines(kernel),
    ...shared.map(({ offset, bytes, arrays }) => `  bytes ${offset} to ${offset + bytes - 1}: ${arrays.join(', ')}`),
    ...inseparable.map(([a, b]) => `  ${a} and ${b} stay apart: no barrier can be placed between them`),
    ...movedLines(moved),
    ...barrierLines(kernel),
    ...kernel.pinned.map(({ name, reason, line }) =>
      `  ${name} keeps its own bytes: ${reason}${line > 0 ? ` (line ${line})` : ''}`),
    ...advice(kernel),
    ...(kernel.dynamicBytes === undefined ? [] : [`  launch with ${kernel.dynamicBytes} bytes of dynamic shared memory, allowed by`
      + ' cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, …)']),
  ];
  if (residency !== undefined) {
    const { architecture, threads, registers, before, after } = residency;
    const of = ({ blocks, occupancy }: typeof before): string => `${blocks} (${Math.round(occupancy * 100)} %)`;
    const change = `${of(before)} -> ${of(after)} blocks per multiprocessor, limited by ${after.limiter}`;
    lines.push(`  ${architecture}, ${threads} threads, ${registers} registers: ${change}`,
      ...blocksElsewhere(kernel).map((each) => `  ${each}`));
  }
  return lines.join('\n');
}

function escaped(text: string): string {
  return text.replace(/["\\]/g, '\\$&');
}

function quoted(text: string): string {
  return `"${escaped(text)}"`;
}

function kernelDot({ kernel, arrays, interference, inseparable }: KernelReport): string {
  const seen = new Map<string, number>();
  const ids = arrays.map(({ name, line }) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return { name, id: count === 1 ? name : `${name} (line ${line})` };
  });
  const idOf = (name: string): string => required(ids.find((each) => each.name === name)).id;
  return [
    `graph ${quoted(kernel)} {`,
    ...arrays.map(({ bytes, offset, partition }, at) => {
      const label = `"${escaped(elementAt(ids, at).id)}\\n${bytes} B at ${offset}"`;
      const colour = partition < 0 ? '#ffffff' : elementAt(kColours, partition % kColours.length);
      return `  ${quoted(elementAt(ids, at).id)} [label=${label}, style=filled, fillcolor="${colour}"];`;
    }),
    ...interference.map(([a, b]) => `  ${quoted(idOf(a))} -- ${quoted(idOf(b))};`),
    ...inseparable.map(([a, b]) => `  ${quoted(idOf(a))} -- ${quoted(idOf(b))} [style=dashed];`),
    '}',
  ].join('\n');
}

/**
 * Explains a report of {@link optimize} as text and as DOT graphs. Dashed edges join arrays that no barrier can separate.
 * @throws ArgumentError naming the field if it is not a report
 */
export function explain(report: ScratchpadReport): Explanation {
  requireReport(report);
  return {
    text: [...report.kernels.map(kernelText), ...pinnedText(report.pinned)].join('\n'),
    dot: report.kernels.map(kernelDot).join('\n'),
  };
}

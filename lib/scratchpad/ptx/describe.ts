// The report of a kernel in terms of its source.
import { elementAt } from '../../core/known.ts';
import { existingBarriers } from '../../kernel/memory/barriers.ts';
import type { Layout } from '../../kernel/memory/layout.ts';
import { interference } from '../../kernel/memory/plan.ts';
import type { KernelReport, ResidencyReport } from '../report.ts';
import { plainName, type Analysis } from './analysis.ts';
import type { Emission } from './emit.ts';
import type { PtxFunction, PtxModule } from '../../kernel/ptx/module.ts';
import type { Reordered } from './reorder.ts';
import { pinReasons } from './values.ts';

/** The line of every instruction: of the source, or of the PTX without line information. */
function linesOf(module: PtxModule, fn: PtxFunction): (at: number) => number {
  const hasLines = fn.instructions.some((each) => each.line > 0);
  return (at) => {
    const each = elementAt(fn.instructions, at);
    return hasLines ? each.line : module.text.slice(0, each.start).split('\n').length;
  };
}

/** Adds to the report of a reordered kernel what moved, and which of its barriers are there for the order. */
export function withOrder(report: KernelReport, { flow }: Analysis, module: PtxModule, { fn }: Analysis,
  { moved, added, removed }: Reordered): KernelReport {
  const lineOf = linesOf(module, fn);
  const isNew = flow.nodes.filter((node) => node.kind === 'barrier').map(({ at }) => added.includes(at));
  const textOf = (at: number): string => {
    const { start, end } = elementAt(fn.instructions, at);
    return module.text.slice(start, end).replace(/\s+/g, ' ');
  };
  return {
    ...report, barriersExisting: report.barriersExisting.filter((_, at) => isNew[at] !== true),
    barriersAdded: [...report.barriersExisting.filter((_, at) => isNew[at] === true).map(({ line }) =>
      ({ line, loops: 0, cause: 'order' as const, separates: [] })), ...report.barriersAdded],
    moved: moved.map(({ at, before }) => ({ line: lineOf(at), text: textOf(at), beforeLine: lineOf(before) })),
    barriersRemoved: removed.map((at) => ({ line: lineOf(at) })),
  };
}

/** Describes a kernel. `reason`: why it is kept; empty if it is rewritten. `residencies`: first that of the option `arch`. */
export function describe(module: PtxModule, analysis: Analysis, layout: Layout, reason: string,
  residencies: readonly ResidencyReport[], emission: Emission | undefined, more: Layout): KernelReport {
  const { fn, arrays, flow, points, liveness, values, pinned } = analysis;
  const { plan, problem, sharing, barriers } = layout;
  const lineOf = linesOf(module, fn);
  const line = (node: number): number => lineOf(elementAt(flow.nodes, node).at);
  const name = (array: number): string => elementAt(arrays, array).name;
  const names = ([a, b]: readonly [number, number]): readonly [string, string] => [name(a), name(b)];
  const together = interference({ blocks: problem.blocks });
  const known = new Set(together.map((pair) => pair.join()));
  const used = existingBarriers(flow, sharing, new Set(barriers.map(({ slot }) => slot)));
  const firstLine = (array: number): number => {
    const at = values.accesses.findIndex((access) => access?.variables.includes(array));
    return at < 0 ? fn.line : lineOf(at);
  };
  return {
    kernel: plainName(fn.name), line: fn.line, status: reason === '' ? 'rewritten' : 'kept', reason, planner: plan.planner,
    arrays: arrays.map((array, index) => {
      const { bytes, alignment } = elementAt(values.movable, index);
      return {
        name: array.name, bytes, alignment, line: firstLine(index),
        live: elementAt(liveness.ranges, index).map((range) => ({
          ...range, beginLine: lineOf(elementAt(points, range.begin).at), endLine: lineOf(elementAt(points, range.end - 1).at),
        })),
        offset: elementAt(plan.offsets, index), partition: plan.partitions.findIndex(({ blocks }) => blocks.includes(index)),
      };
    }),
    bytesBefore: plan.bytesBefore, bytesAfter: plan.bytes, lowerBound: plan.lowerBound, optimal: plan.optimal,
    partitions: plan.partitions.map(({ offset, bytes, blocks }) => ({ offset, bytes, arrays: blocks.map(name) })),
    interference: together.map(names),
    inseparable: analysis.conflicts.filter((pair) => !known.has(pair.join())).map(names),
    barriersAdded: reason !== '' ? [] : barriers.map(({ slot, pairs }) => ({
      line: line(slot), loops: elementAt(flow.nodes, slot).loops.length, cause: 'reuse' as const,
      separates: pairs.map(names),
    })),
    barriersExisting: flow.nodes.filter((node) => node.kind === 'barrier')
      .map((node) => ({ line: line(node.id), separates: used.has(node.id) })),
    moved: [], barriersRemoved: [], points: points.map((node) => lineOf(node.at)),
    ...(more.plan.bytes < (reason === '' ? plan.bytes : plan.bytesBefore) && more.barriers.length > 0
      ? { possible: { bytes: more.plan.bytes, barrierLines: more.barriers.map(({ slot }) => line(slot)) } } : {}),
    pinned: pinned.map(({ variable, reason: code, line: where }) =>
      ({ name: plainName(variable.name), bytes: variable.bytes, code, reason: pinReasons[code], line: where })),
    ...(residencies[0] === undefined ? {} : { residency: residencies[0] }), residencies: residencies.slice(1),
    ...(emission?.isDynamic === true ? { dynamicBytes: emission.poolBytes } : {}),
  };
}

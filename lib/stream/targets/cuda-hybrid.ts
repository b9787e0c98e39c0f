// The device's part of a program that runs on CPU cores and a device together: code of filters, each in the layout that a hybrid plan gives
// its channels, and shuffles between the rings of a channel.
import { cTypes } from '../../kernel/print/c-family.ts';
import { countsOf, kindsIn } from '../plan/layout.ts';
import type { ProgramActors } from '../plan/actors.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import type { IrType } from '../ir.ts';
import { scalarTypes } from '../lower/value.ts';
import { instancesFor, type Instances } from './cuda-instances.ts';
import { pipelineText } from './cuda-pipeline.ts';
import { refuseHost } from './cuda.ts';

/** What the text is for. */
export interface HybridTextOptions {
  /** Actors whose code is printed. */
  readonly nodes: ReadonlySet<number>;
  /** Those whose channels are in the order of the stream. */
  readonly ordered: ReadonlySet<number>;
  /** Threads whose items stand side by side at the ends of the others. */
  readonly width: number;
  /** Most threads of an instance. */
  readonly threads: number;
  /** Items of one instance of a shuffle, a multiple of `width`. */
  readonly shuffleItems: number;
  readonly stagedBytes: number;
  readonly kernel: string;
}

/** A text for `device.module`, and what lists need to know of it. */
export interface HybridText {
  readonly source: string;
  readonly kernel: string;
  /** Name of the kernel that copies words (cuda/stream/move.cuh). */
  readonly moveKernel: string;
  readonly instances: Instances;
  /** The code of a shuffle, or of the way back, for items of a type. */
  readonly shuffleCode: (type: IrType, isBack: boolean) => number;
}

const signature = (type: IrType, isBack: boolean): string => JSON.stringify([countsOf(type), isBack]);

/** Prints the device's part. Throws UnsupportedProgram where a node keeps what no firing of a device can. */
export function hybridText(plan: ProgramPlan, actors: ProgramActors, options: HybridTextOptions): HybridText {
  const { nodes, ordered, width, threads, shuffleItems, stagedBytes, kernel } = options;
  const instances = instancesFor(plan, actors, {
    width, stagedBytes, stagedThreads: threads, gaps: true, isOrdered: (node) => ordered.has(node),
  }, (node) => nodes.has(node));
  refuseHost({ ...instances.program, imports: instances.lowered.program.imports });
  const codes = new Map<string, number>();
  const cases: string[] = [];
  for (const type of nodes.size === 0 ? [] : [...plan.graph.channels, ...plan.externals].map((each) => each.type)) {
    for (const isBack of [false, true]) {
      const key = signature(type, isBack);
      if (codes.has(key)) continue;
      const number = instances.codes.length + codes.size;
      codes.set(key, number);
      const counts = countsOf(type);
      cases.push(`      case ${number}:`, ...kindsIn(counts).map((kind, i) => `        pipelined::reorder<${width}, ${counts[kind]}, ${
        shuffleItems}, ${isBack}, ${cTypes[scalarTypes[kind]]}>(block, work, ${2 * i});`), '        break;');
    }
  }
  const moveKernel = `${kernel}_move`;
  return {
    source: pipelineText(instances, {
      width, threads, inputs: 1, outputs: 1, cases, kernel,
      entries: [`WARPLOOM_KERNEL(${moveKernel}, warploom::WARPLOOM_TARGET::stream::MoveAgent)`],
    }), kernel, moveKernel, instances,
    shuffleCode: (type, isBack) => codes.get(signature(type, isBack)) ?? -1,
  };
}

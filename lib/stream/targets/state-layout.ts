// What finds the state before each firing of a round, and where it lies: records of firings in shared memory, level by level before the
// groups that need them.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, KernelFunction, ScalarType } from '../../kernel/ir.ts';
import type { LoweredProgram } from '../lower/program.ts';
import type { Group, ProgramPlan } from '../plan/plan.ts';
import type { Recorded } from '../state/recorded.ts';
import type { NodePlan, Scan } from '../state/stages.ts';
import type { ProgramState } from '../state/index.ts';
import { StateFunctions, type NextFunction } from './state-functions.ts';

/** Words in shared memory for a round. */
export interface StateTile {
  readonly buffer: Buffer;
  /** Words for each steady state, beside them, and for how many firings these are. */
  readonly each: number;
  readonly beside: number;
  readonly from: number;
  readonly to: number;
}

/** A scan of some elements of a node, in the printed program. */
export interface ScanWork {
  readonly scan: Scan;
  /** Its type in the printed program. */
  readonly name: string;
  readonly type: string;
  /** Words of a record, and of the state. */
  readonly words: number;
  readonly slots: number;
  /** The pass that finds what the stretches of blocks do; from 1. */
  readonly pass: number;
  /** Words of records of other scans before its own, and of what launches hand on. */
  readonly at: number;
  readonly carryAt: number;
  /** Records and states of the firings of a round, and words for each firing that those of other scans take before. */
  readonly tile: Buffer;
  readonly tileAt: number;
  readonly next: NextFunction;
}

/** Scans of one type in a stage, side by side: what they have in the tile, in cells and so on lies one behind the other. */
export interface ScanGroup {
  readonly name: string;
  readonly type: string;
  readonly words: number;
  readonly slots: number;
  readonly pass: number;
  readonly at: number;
  readonly carryAt: number;
  readonly tile: Buffer;
  readonly scans: readonly ScanWork[];
}

export interface RecordWork {
  readonly recorded: Recorded;
  readonly tile: Buffer;
  /** By word: where it begins among the words of 32 bits. */
  readonly wordAt: readonly number[];
  readonly slots: number;
  readonly next: NextFunction;
}

/** One stage of a node: what its firings find before those of its group. */
export interface StageWork {
  readonly node: number;
  readonly plan: NodePlan;
  readonly group: Group;
  readonly stage: number;
  readonly record: RecordWork | undefined;
  readonly scans: readonly ScanWork[];
  readonly scanGroups: readonly ScanGroup[];
  /** When it makes its records; scans follow at the next level. */
  readonly level: number;
}

export const slotsOf = (type: ScalarType): number => (type === 'f64' ? 2 : 1);

/** By group: levels that its stages take before it. */
export function stageLevels(plan: ProgramPlan, state: ProgramState): readonly number[] {
  return plan.groups.map(({ steps: [step] }) => {
    const stages = state.get(required(step).actor)?.stages ?? [];
    return stages.reduce((sum, stage) => sum + ('kind' in stage ? 1 : 2), 0);
  });
}

export class StateLayout {
  readonly plans: ProgramState;
  readonly functions: StateFunctions;
  /** The program's functions, of which those of groups take the state. */
  readonly groups: readonly KernelFunction[];
  readonly works: readonly StageWork[];
  readonly passes: number;
  /** Words of what launches hand on, and of the records of all scans, as they lie in cells, in totals and as warps leave them. */
  readonly carryWords: number;
  readonly totalWords: number;
  /** Cells, the state that blocks begin with, and scratch. */
  readonly cells: Buffer;

  /** @param levels of groups */
  constructor(plan: ProgramPlan, lowered: LoweredProgram, state: ProgramState, levels: readonly number[]) {
    this.plans = state;
    this.functions = new StateFunctions(lowered, state);
    this.groups = this.functions.functions();
    const passes = passesOf(plan, state);
    const works: StageWork[] = [];
    let [carryWords, totalWords] = [0, 0];
    for (const group of plan.groups) {
      const { actor: node } = elementAt(group.steps, 0);
      const nodePlan = state.get(node);
      if (nodePlan === undefined || nodePlan.stages.length === 0) continue;
      let level = elementAt(levels, group.id) - elementAt(stageLevels(plan, state), group.id);
      let pass = elementAt(passes, node);
      const provided = new Set(nodePlan.closed.elements);
      nodePlan.stages.forEach((stage, number) => {
        const name = `next_${node}_${number}`;
        const base = { node, plan: nodePlan, group, stage: number, level };
        if ('kind' in stage) {
          works.push({ ...base, record: this.#record(name, node, group, stage, provided), scans: [], scanGroups: [] });
          for (const element of stage.elements) provided.add(element);
          level += 1;
          return;
        }
        const own = pass;
        const made = stage.map((scan, i) => this.#scan(`${name}_${i}`, node, group, scan, provided, nodePlan));
        const scanGroups = [...new Set(made.map(({ type }) => type))].map((type, i): ScanGroup => {
          const alike = made.filter((each) => each.type === type);
          const { words, slots } = elementAt(alike, 0);
          const shared = tile(`${name}_group${i}`);
          const common = { name: `Scan_${name.slice(5)}_${i}`, type, words, slots, pass: own, tile: shared };
          const [wordsBefore, carryBefore] = [totalWords, carryWords];
          const scans = alike.map((each, k): ScanWork =>
            ({ ...each, ...common, at: wordsBefore + k * words, carryAt: carryBefore + k * slots, tileAt: k * words }));
          totalWords += alike.length * words;
          carryWords += alike.length * slots;
          return { ...common, at: wordsBefore, carryAt: carryBefore, scans };
        });
        works.push({ ...base, record: undefined, scans: scanGroups.flatMap(({ scans }) => scans), scanGroups });
        for (const { elements } of stage) for (const element of elements) provided.add(element);
        level += 2;
        pass += 1;
      });
    }
    this.works = works;
    this.passes = Math.max(0, ...works.flatMap(({ scans }) => scans.map(({ pass }) => pass)));
    [this.carryWords, this.totalWords] = [carryWords, totalWords];
    this.cells = tile('cells');
  }

  /** What lies in shared memory. @param last the last level */
  tiles(last: number, threads: number): StateTile[] {
    const end = last + 2;
    // Cells, the state that blocks begin with, and the records of warps.
    const cells = 2 * this.totalWords + this.totalWords * threads / 32;
    return [
      ...(this.totalWords === 0 ? [] : [{ buffer: this.cells, each: 0, beside: cells, from: 0, to: end }]),
      ...this.works.flatMap(({ record, scanGroups, group, level }): StateTile[] => [
        ...(record === undefined ? [] : [{
          buffer: record.tile, each: record.slots * group.iterations, beside: record.slots * record.recorded.longestLag, from: 0, to: end,
        }]),
        ...scanGroups.map(({ tile: buffer, scans }) => ({
          buffer, each: scans.reduce((sum, scan) => sum + scan.words, 0) * group.iterations, beside: 0, from: level + 1, to: end,
        })),
      ]),
    ];
  }

  #record(name: string, node: number, group: Group, recorded: Recorded, provided: ReadonlySet<number>): RecordWork {
    const wordAt: number[] = [];
    let slots = 0;
    for (const type of recorded.types) {
      wordAt.push(slots);
      slots += slotsOf(type);
    }
    const next = this.functions.next(name, node, `group_${group.id}`, recorded.words, provided, new Map());
    return { recorded, wordAt, slots, next, tile: tile(name) };
  }

  #scan(
    name: string, node: number, group: Group, scan: Scan, provided: ReadonlySet<number>, { state }: NodePlan,
  ): Pick<ScanWork, 'scan' | 'type' | 'words' | 'slots' | 'next'> {
    const { kind, elements, choices } = scan;
    const slots = elements.reduce((sum, element) => sum + slotsOf(elementAt(state.elements, element).buffer.element), 0);
    const known = new Map(choices === undefined ? [] : [[elementAt(elements, 0), choices] as const]);
    const next = this.functions.next(name, node, `group_${group.id}`, [elements], provided, known);
    const isPlain = isIdentity(scan);
    const made = {
      bits: { words: 2 * slots, type: `BitsScan<${slots}>` },
      sum: { words: isPlain ? slots : slots + slots * slots, type: `SumScan<${slots}, ${isPlain}>` },
      real: { words: isPlain ? slots : slots + slots * slots, type: `RealScan<${slots}, ${isPlain}>` },
      choice: { words: (choices ?? []).length > 8 ? 2 : 1, type: `ChoiceScan<${choices?.length}>` },
    }[kind];
    return { scan, ...made, slots, next };
  }
}

function tile(name: string): Buffer {
  return { name: `${name}_tile`, element: 'i32', role: 'global', length: undefined };
}

/** Whether a sum only adds. */
export function isIdentity({ elements: { length }, factors }: Scan): boolean {
  return factors?.every((factor, i) => factor === (Math.floor(i / length) === i % length ? 1 : 0)) === true;
}

/** By node: the pass of its first scan, behind those of all scans that it follows from. */
function passesOf({ graph, steady }: ProgramPlan, state: ProgramState): number[] {
  const first = graph.nodes.map(() => 1), behind = graph.nodes.map(() => 1);
  for (const id of steady.order) {
    for (const channel of elementAt(graph.nodes, id).inputs) {
      if (channel === undefined) continue;
      const { from } = elementAt(graph.channels, channel);
      first[id] = Math.max(elementAt(first, id), elementAt(behind, from));
    }
    const own = state.get(id)?.stages.filter((stage) => !('kind' in stage)).length ?? 0;
    behind[id] = elementAt(first, id) + own;
  }
  return first;
}

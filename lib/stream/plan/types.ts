// A plan: how a graph is executed.
import type { StreamGraph } from '../graph.ts';
import type { IrType } from '../ir.ts';
import type { SteadySchedule, SteadyState, Step } from '../schedule/steady.ts';
import type { SavedFirings } from '../savings/firings.ts';
import type { SdfGraph } from '../sdf.ts';
import type { Analysis } from './analysis.ts';
import type { Kind } from './layout.ts';

/** External streams: the open input and output, and the files that are read and written. */
export interface External {
  /** Number of the stream; streams are numbered after the channels of the graph. */
  readonly id: number;
  readonly kind: 'input' | 'output' | 'reader' | 'writer';
  readonly node: number;
  readonly type: IrType;
  readonly path: string;
  /** Whether items enter the program through it. */
  readonly isIn: boolean;
  /** Index of its end among the ends of channels and streams (`ix`). */
  readonly slot: number;
  /** What the first firing of the node moves, and what each later one moves. */
  readonly first: Movement;
  readonly later: Movement;
}

/** How many items a firing moves, and how many more it only peeks at. */
export interface Movement {
  readonly items: number;
  readonly beyond: number;
}

/** Nodes fired in order, as often as `steps` say, `iterations` times per steady state. */
export interface Group {
  readonly id: number;
  readonly steps: readonly Step[];
  readonly iterations: number;
  /** A feedback loop of the graph: its channels keep items between iterations. */
  readonly isLoop: boolean;
  /** Whether the group is one filter with interleaved firings. */
  readonly isJammed: boolean;
}

/** Where the items of a channel are stored while steady states run. */
export type Storage =
  /** In an array that holds the items of a block of steady states; the remaining items are moved to its front. */
  | 'block'
  /** In an array that is filled and emptied in each iteration of a group. */
  | 'iteration'
  /** In local variables of the generated code. */
  | 'registers';

/** The array with all scalars of one kind of an external stream. */
export interface StreamArray {
  /** Number of the stream. */
  readonly id: number;
  readonly name: string;
  readonly kind: Kind;
  /** How many scalars of the kind an item has. */
  readonly stride: number;
  readonly role: External['kind'];
}

export interface PlanOptions {
  /** The maximum code size of one group iteration, in nodes of the intermediate representation. Default 4000. */
  readonly groupSize?: number;
  /** The same for one filter: up to this size, all of its loops are unrolled. Default 1000. */
  readonly filterSize?: number;
  /** The maximum size in bytes of the channels between groups, per block. Default 32768. */
  readonly blockBytes?: number;
  /** The maximum number of steady states in a block. Default 256. */
  readonly maxMultiplicity?: number;
  /** For how many cores to plan. Above 1, groups that can be sliced keep no items between iterations, and others stay small. Default 1. */
  readonly forCores?: number;
  /** Whether to leave out work if no bit of the output changes (lib/stream/savings). Default true. */
  readonly savings?: boolean;
  /**
   * Values that the independent parts of a group's iteration may keep at once. Groups are then chosen so that few items pass between them,
   * up to `groupSize`. Default 0: neighbours are joined as long as their code stays small.
   */
  readonly live?: number;
  /**
   * Whether nodes that only put items in another order, such as splitters and joiners, are kept out of groups by dependence where that
   * moves no more items: what they do may then be a matter of indices. Default false.
   */
  readonly views?: boolean;
  /** Nodes with state that need not fire in order: `alone`: in groups of their own, a firing an iteration; `free`: like those without. */
  readonly handled?: ReadonlyMap<number, 'alone' | 'free'>;
  /** Nodes of feedback loops that are groups like others, because the loops hold items enough. */
  readonly open?: ReadonlySet<number>;
}

/** A scheduled program before merging. */
export type WholeProgram = Pick<ProgramPlan, 'graph' | 'sdf' | 'steady' | 'schedule' | 'externals'>;

/** A program that is ready to be lowered. */
export interface ProgramPlan {
  /** The graph after equal nodes were merged. */
  readonly graph: StreamGraph;
  /** By node: its id in the program as written; undefined for duplicating nodes that merging added. */
  readonly origins: readonly (number | undefined)[];
  /** The program as written, before merging; computed on the first call. */
  readonly whole: () => WholeProgram;
  readonly sdf: SdfGraph;
  readonly steady: SteadyState;
  readonly schedule: SteadySchedule;
  readonly externals: readonly External[];
  /** Arrays of external streams, in the order in which functions take them. */
  readonly streamArrays: readonly StreamArray[];
  readonly groups: readonly Group[];
  /** Nodes that print, if there are several. */
  readonly printers: readonly number[];
  /** By node. */
  readonly groupOf: readonly Group[];
  /** By channel of the graph. */
  readonly storage: readonly Storage[];
  /** By channel: how many items pass per steady state. */
  readonly rates: readonly number[];
  /** Steady states in a block. */
  readonly multiplicity: number;
  readonly analyses: ReadonlyMap<object, Analysis>;
  /** By filter: its steady-state firings, if some are dead or do less than written. */
  readonly firings: ReadonlyMap<number, SavedFirings>;
  readonly options: Required<PlanOptions>;
}

// The graph of an elaborated program: nodes joined by channels, and the hierarchy it was written in.
import type { ConstantData, FilterCode, IrType } from './ir.ts';

/** A file that a program reads or writes. */
export interface FileFormat {
  /** Path as written in the program. */
  readonly path: string;
}

/** A node. Ports are numbered in the order of the declaration; filters have at most one input and one output. */
export type GraphNode = {
  readonly id: number;
  /** Unique and readable: the declaration's name, with a number if there are several. */
  readonly name: string;
  /** Ids of the incoming and outgoing channels, by port; undefined: a void end (weight 0). */
  readonly inputs: readonly (number | undefined)[];
  readonly outputs: readonly (number | undefined)[];
} & (
  | { readonly kind: 'filter'; readonly code: FilterCode }
  | { readonly kind: 'identity' }
  /** A copy of each item to every output. */
  | { readonly kind: 'duplicate' }
  /** `weights[i]` items to output i in turn. */
  | { readonly kind: 'splitter'; readonly weights: readonly number[] }
  /** `weights[i]` items from input i in turn. */
  | { readonly kind: 'joiner'; readonly weights: readonly number[] }
  | { readonly kind: 'reader'; readonly file: FileFormat }
  | { readonly kind: 'writer'; readonly file: FileFormat });

/** A channel of a graph: from a port of one node to a port of another. */
export interface Channel {
  readonly id: number;
  readonly type: IrType;
  readonly from: number;
  readonly fromPort: number;
  readonly to: number;
  readonly toPort: number;
  /** Items on it before anything fires (`enqueue`). */
  readonly initial: readonly ConstantData[];
}

/** The hierarchy: what was added to what. */
export type GraphTree =
  | { readonly kind: 'node'; readonly node: number }
  | {
    readonly kind: 'pipeline' | 'splitjoin' | 'feedbackloop'; readonly name: string; readonly children: readonly GraphTree[];
    /** Nodes of a splitjoin and a feedback loop. */ readonly splitter?: number; readonly joiner?: number;
  };

/** A program that is not void->void has open ends: its input and output come from outside. */
export interface StreamGraph {
  readonly nodes: readonly GraphNode[];
  readonly channels: readonly Channel[];
  readonly tree: GraphTree;
  /** Type and node of the open ends, if any. */
  readonly input: { readonly type: IrType; readonly node: number } | undefined;
  readonly output: { readonly type: IrType; readonly node: number } | undefined;
  readonly portals: readonly { readonly name: string; readonly receivers: readonly number[] }[];
  /** Sums of floats that filters keep may be made in another order (option `algebraic`); default false. */
  readonly reorders?: boolean;
  /** Files that the elaboration needed but did not get: the graph is built as if they held zeros, and cannot be run. */
  readonly missing?: readonly string[];
  /** The source of the program, so that errors at run time can name lines. */
  readonly files?: readonly { readonly name: string; readonly text: string }[];
}

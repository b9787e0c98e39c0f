// What scheduling sees of a program: actors with rates, channels with tokens. All of lib/stream/schedule uses this and nothing else.

/** An actor. Rates of its ports are in the channels. */
export interface SdfActor {
  readonly id: number;
  readonly name: string;
  /** Firings must follow each other: state, printing, files. */
  readonly stateful: boolean;
  /** Splitters, joiners and identities only move items. */
  readonly moves: boolean;
}

/** A channel with its rates. */
export interface SdfChannel {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  /** Items per firing of `from`, and of `to`. */
  readonly push: number;
  readonly pop: number;
  /** Items that must stand on the channel for `to` to fire; at least `pop`. */
  readonly peek: number;
  /** Items before anything fires. */
  readonly tokens: number;
  /** Rates of the first firing where they differ (prework). */
  readonly firstPush?: number;
  readonly firstPop?: number;
  readonly firstPeek?: number;
  readonly bytesPerItem: number;
}

/** A graph with constant rates. Ids of actors and channels are their places in the arrays. */
export interface SdfGraph {
  readonly actors: readonly SdfActor[];
  readonly channels: readonly SdfChannel[];
}

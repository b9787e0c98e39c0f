// Why a graph cannot be scheduled, as a typed error.
import { WarploomError } from '../../core/errors.ts';

/**
 * `graph`: invalid ids, rates or tokens. `inconsistent`: the balance equations have no solution. `deadlock`: a feedback loop holds too few
 * items. `limit`: a steady state or a model exceeds the limits.
 */
export type ScheduleErrorReason = 'graph' | 'inconsistent' | 'deadlock' | 'limit';

/** Where the problem is, as ids of the graph. */
export interface SchedulePlace {
  /** The channel at fault, if one is. */
  readonly channel?: number;
  /** Actors concerned: those that cannot fire in a deadlock. */
  readonly actors?: readonly number[];
}

/** A graph cannot be scheduled. `reason` is always the same for the same cause; the message names actors, channel and rates. */
export class ScheduleError extends WarploomError {
  override readonly name = 'ScheduleError';
  readonly reason: ScheduleErrorReason;
  /** Id of the channel at fault; undefined if no channel is. */
  readonly channel: number | undefined;
  /** Ids of the actors concerned. */
  readonly actors: readonly number[];

  constructor(reason: ScheduleErrorReason, message: string, place: SchedulePlace = {}) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message);
    this.reason = reason;
    this.channel = place.channel;
    this.actors = place.actors ?? [];
  }
}

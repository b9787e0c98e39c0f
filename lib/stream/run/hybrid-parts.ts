// A program for cores and a device with what executes one of its plans.
import type { HybridPlan } from '../partition/index.ts';
import type { HybridProgram } from '../plan/hybrid.ts';
import type { LaunchPlan } from '../plan/launches.ts';
import type { FusedEnd } from '../targets/cuda-layout.ts';
import type { HybridLists } from './hybrid-lists.ts';

/** A program under a plan. */
export interface HybridParts {
  readonly program: HybridProgram;
  readonly plan: HybridPlan;
  readonly launches: LaunchPlan;
  readonly lists: HybridLists;
  readonly input: FusedEnd;
  readonly output: FusedEnd;
  /** For tests: bytes of an iteration from which on transfers have arrays of their own; default: where that pays. */
  readonly leastBytes?: number | undefined;
}

// A placement of filters with iterations of several lengths: long ones for long runs, shorter ones where these would mostly fill and drain
// the pipeline.
import { inputArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { DeviceModule } from '../../core/module.ts';
import { hybridLaunches } from '../plan/hybrid.ts';
import { launchOverhead } from './hybrid-costs.ts';
import { hybridLists } from './hybrid-lists.ts';
import type { HybridParts } from './hybrid-parts.ts';
import { orderedNodes, type PlannedHybrid, type Rungs } from './hybrid-plan.ts';

/** A plan with what executes it. */
export interface Variant {
  readonly parts: HybridParts;
  /** The lists of blocks. */
  readonly lists: DeviceArray;
}

/** The plans of one placement. */
export class Ladder {
  readonly rungs: Rungs;
  readonly #planned: PlannedHybrid;
  readonly #base: HybridParts;
  readonly #device: Device;
  readonly #module: DeviceModule;
  /** By length; undefined where the compiled text is not for the plan. */
  readonly #made = new Map<number, Variant | undefined>();

  /** @param base parts of the plan of `planned`, which may be that of `rungs` too */
  constructor(planned: PlannedHybrid, rungs: Rungs, base: HybridParts, device: Device, module: DeviceModule) {
    this.rungs = rungs;
    this.#planned = planned;
    this.#base = base;
    this.#device = device;
    this.#module = module;
  }

  /** The plan for a run of so many steady states; undefined: the run is shorter than any iteration. */
  variantFor(states: number): Variant | undefined {
    const { plan, shorter } = this.rungs;
    const sizes = [...shorter, plan.steadyStates];
    // Long iterations take fewer launches, but the pipeline fills and drains once: launches that move nothing over the link.
    const { interval, load, depth } = plan, inner = Math.max(...load.cores, ...load.multiprocessors);
    const launch = (size: number, whole: number): number => size * whole / plan.steadyStates + launchOverhead(plan);
    const times = sizes.map((size) => Math.floor(states / size) * launch(size, interval) + (depth - 1) * launch(size, inner));
    const order = sizes.map((_, level) => level).sort((a, b) => elementAt(times, a) - elementAt(times, b));
    for (const level of order) {
      const size = elementAt(sizes, level);
      if (size > states) continue;
      const variant = this.#at(size);
      if (variant !== undefined && variant.parts.plan.steadyStates <= states) return variant;
    }
    return undefined;
  }

  #at(size: number): Variant | undefined {
    if (!this.#made.has(size)) this.#made.set(size, this.#make(size));
    return this.#made.get(size);
  }

  #make(size: number): Variant | undefined {
    const { program, plan: first, text } = this.#planned;
    const { plan: longest, planAt } = this.rungs;
    if (size === longest.steadyStates && longest === first) {
      return { parts: this.#base, lists: inputArray(this.#device, this.#base.lists.lists) };
    }
    const plan = size === longest.steadyStates ? longest : planAt(size);
    // Items that are left over may be whole iterations in one of the plans only.
    const [ours, theirs] = [orderedNodes(program, plan), orderedNodes(program, first)];
    if (ours.size !== theirs.size || [...ours].some((node) => !theirs.has(node))) return undefined;
    const lists = hybridLists(program, plan, text);
    if (!fits(this.#module, text.kernel, lists)) return undefined;
    return { parts: { ...this.#base, plan, launches: hybridLaunches(program, plan), lists }, lists: inputArray(this.#device, lists.lists) };
  }

  dispose(): void {
    for (const variant of this.#made.values()) variant?.lists.dispose();
    this.#made.clear();
  }
}

/** Whether a multiprocessor has what a block of these lists needs. */
export function fits(module: DeviceModule, kernel: string, { entries, threads, sharedBytes }: HybridParts['lists']): boolean {
  return entries === 0 || required(module.kernels.get(kernel)).residentBlocks(threads, sharedBytes) > 0;
}

// The input and output of a hybrid run. Transfers of the device read the caller's array and write the result itself. Cores share copies in
// memory of their own: of everything where the filter at that end runs on cores, otherwise of what stands before and behind the iterations.
import { holds } from '../../core/arrays.ts';
import type { Device } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import { lentResult, provideLent, type LentResult } from '../../core/lent.ts';
import type { External } from '../plan/plan.ts';
import { countsOf, kindsIn, makeArray, type Kind } from '../plan/layout.ts';
import { elementTypes } from './gpu-ends.ts';
import { shared, type StreamGap } from './common.ts';
import type { HybridParts } from './hybrid-parts.ts';
import { roomFor, type PreparedRun, type Scalars, type StreamArrays } from './prepare.ts';
import { isShared, returnShared, sharedCopy } from './shared-copies.ts';

/** The arrays of one run. */
export class HybridStreams {
  /** By number of the stream: all its items. */
  readonly whole: ReadonlyMap<number, StreamArrays>;
  /** Those that machines share, which lack the items of `gaps`. */
  readonly forMachines: ReadonlyMap<number, StreamArrays>;
  readonly gaps: readonly StreamGap[];
  /** Whether nobody else sees the whole output yet. */
  readonly isUnseen: boolean;
  readonly #copies: Scalars[] = [];
  /** Arrays of the output in memory of the device's. */
  readonly #lent: LentResult[] = [];
  readonly #parts: HybridParts;
  readonly #device: Device;

  /** @param out where the output may go, if it is of the right type and length */
  constructor(parts: HybridParts, run: PreparedRun, device: Device, out?: Scalars) {
    const { input, output } = parts;
    this.#parts = parts;
    this.#device = device;
    const given = required(run.streams.get(input.external.id)).arrays;
    const [inGap, outGap] = [this.#gap(input.external, run), this.#gap(output.external, run)];
    this.gaps = [inGap, outGap].filter((gap) => gap !== undefined);
    const items = elementAt(run.counts.passed, parts.program.plan.externals.indexOf(output.external));
    const placed = outGap === undefined ? undefined : asOutput(out, output.external, items);
    this.isUnseen = outGap !== undefined && placed === undefined;
    const made = placed ?? roomFor(items, output.external.type, outGap === undefined ? shared
      : (kind, length) => this.#ownArray(kind, length), false);
    this.whole = new Map([[input.external.id, given], [output.external.id, made]]);
    this.forMachines = new Map([
      [input.external.id, this.#shared(input.external, given, inGap)],
      [output.external.id, outGap === undefined ? made : roomFor(items - outGap.items, output.external.type, shared, false)],
    ]);
  }

  /** The items of an end that only the device moves: none where cores run its filter, or nothing lies between start and rest. */
  #gap({ id, isIn, node, first, later }: External, { counts, streams }: PreparedRun): StreamGap | undefined {
    const { program: { plan: { groupOf, externals } }, plan, input, output } = this.#parts;
    if (plan.onGpu[elementAt(groupOf, node).id] !== true) return undefined;
    const { before, items } = isIn ? input : output;
    // Firings before the first iteration see as many items beyond those that they take.
    const from = isIn ? before + first.items + first.beyond + later.beyond : before;
    const to = before + Math.floor(counts.steadyStates / plan.steadyStates) * plan.steadyStates * items;
    const all = streams.get(id)?.items ?? elementAt(counts.passed, externals.findIndex((each) => each.id === id));
    return to > from && to <= all ? { id, from, items: to - from } : undefined;
  }

  #shared({ type }: External, arrays: StreamArrays, gap: StreamGap | undefined): StreamArrays {
    const counts = countsOf(type);
    return Object.fromEntries(kindsIn(counts).map((kind): [Kind, Scalars] => {
      const array = required(arrays[kind]);
      if (gap === undefined) {
        const copy = sharedCopy(array);
        if (copy !== array) this.#copies.push(copy);
        return [kind, copy];
      }
      const from = gap.from * counts[kind], count = gap.items * counts[kind];
      const copy = shared(kind, array.length - count);
      copy.set(array.subarray(0, from));
      copy.set(array.subarray(from + count), from);
      return [kind, copy];
    }));
  }

  /** An array for the output that no core sees. */
  #ownArray(kind: Kind, length: number): Scalars {
    const lent = lentResult(this.#device, elementTypes[kind], length);
    if (lent === undefined) return makeArray(kind, length);
    this.#lent.push(lent);
    return lent.array as Scalars;
  }

  /** Adds what machines made of the output, which is the caller's from here on. */
  finish(): void {
    this.#addOwn();
    const output = required(this.whole.get(this.#parts.output.external.id));
    for (const lent of this.#lent.splice(0)) {
      const made = lent.settle() as Scalars;
      for (const kind of kindsIn(countsOf(this.#parts.output.external.type))) if (output[kind] === lent.array) output[kind] = made;
    }
  }

  #addOwn(): void {
    const { external: { id, type } } = this.#parts.output;
    const gap = this.gaps.find((each) => each.id === id);
    if (gap === undefined) return;
    const counts = countsOf(type);
    for (const kind of kindsIn(counts)) {
      const own = required(required(this.forMachines.get(id))[kind]), whole = required(required(this.whole.get(id))[kind]);
      const from = gap.from * counts[kind];
      whole.set(own.subarray(0, from));
      whole.set(own.subarray(from), from + gap.items * counts[kind]);
    }
  }

  /** Gives back memory of the device's that nobody is to see. */
  dispose(): void {
    for (const lent of this.#lent.splice(0)) lent.drop();
    provideLent(this.#device);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Gives copies to later runs. No machine may be at work any more. */
  release(): void {
    for (const copy of this.#copies.splice(0)) returnShared(copy);
  }
}

/** The caller's array as that of an output of one kind, if it is of that type and long enough. */
function asOutput(out: Scalars | undefined, { type }: External, items: number): StreamArrays | undefined {
  const counts = countsOf(type);
  const [kind, ...others] = kindsIn(counts);
  if (out === undefined || kind === undefined || others.length > 0 || isShared(out)) return undefined;
  const scalars = items * counts[kind];
  return holds(out, elementTypes[kind]) && out.length >= scalars ? { [kind]: out.subarray(0, scalars) } : undefined;
}

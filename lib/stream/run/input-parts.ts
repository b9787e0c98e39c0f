// An input of which spans took a part to the device while it was the caller's. What came before them and after them was copied when the
// call returned. All positions are in scalars.
import { unseenPart } from '../../core/arrays.ts';
import type { DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import type { Borrowed } from './borrowed.ts';
import type { Scalars } from './prepare.ts';

/** Input on the device. */
interface TakenSpan {
  readonly begin: number;
  readonly end: number;
  readonly array: DeviceArray;
  readonly states: number;
  /** Where the span of the steady states behind these begins. */
  readonly next: number;
  /** Comes when the device has the input; rejects where it does not get it. */
  readonly written: Promise<unknown>;
}

/** Scalars behind those that spans have taken that are copied although spans have them: what the end of a run reads again. */
const overlap = 2 ** 14;

/** Where the parts of an input are. */
export class InputParts {
  /** The caller's array, until {@link takeRest}. */
  #input: Scalars | undefined;
  readonly #length: number;
  readonly #taken: TakenSpan[] = [];
  readonly #copies: { readonly begin: number; readonly scalars: Scalars }[] = [];
  #states = 0;

  constructor(input: Scalars) {
    this.#input = input;
    this.#length = input.length;
  }

  /** Spans that were taken. */
  get spans(): { readonly length: number; readonly states: number } {
    return { length: this.#taken.length, states: this.#states };
  }

  /** A span has taken what follows those before it. */
  add(span: TakenSpan): void {
    this.#taken.push(span);
    this.#states += span.states;
  }

  /** Copies what no span has. */
  takeRest(borrowed: Borrowed): void {
    const input = required(this.#input);
    this.#input = undefined;
    const begin = elementAt(this.#taken, 0).begin;
    const last = elementAt(this.#taken, this.#taken.length - 1);
    const rest = Math.max(0, Math.min(last.next, last.end - overlap));
    if (begin > 0) this.#copies.push({ begin: 0, scalars: borrowed.copy(input.subarray(0, begin)) });
    this.#copies.push({ begin: rest, scalars: borrowed.copy(input.subarray(rest)) });
  }

  /** What a span writes to the device. */
  slice(begin: number, end: number): Scalars {
    if (this.#input !== undefined) return this.#input.subarray(begin, end);
    const { begin: first, scalars } = required(this.#copies.find((copy) =>
      copy.begin <= begin && begin < copy.begin + copy.scalars.length));
    return scalars.subarray(begin - first, end - first);
  }

  /** Any part, wherever it is. */
  async gather(begin: number, end: number): Promise<Scalars> {
    const last = Math.min(end, this.#length);
    const whole = this.#copies.find((copy) => copy.begin <= begin && last <= copy.begin + copy.scalars.length);
    if (whole !== undefined) return whole.scalars.subarray(begin - whole.begin, last - whole.begin);
    const { scalars: { constructor: Kind } } = elementAt(this.#copies, 0);
    const made = new (Kind as new (length: number) => Scalars)(Math.max(0, last - begin));
    for (let at = begin; at < last;) {
      const copy = this.#copies.find((each) => each.begin <= at && at < each.begin + each.scalars.length);
      if (copy !== undefined) {
        const to = Math.min(last, copy.begin + copy.scalars.length);
        made.set(copy.scalars.subarray(at - copy.begin, to - copy.begin), at - begin);
        at = to;
        continue;
      }
      const span = required(this.#taken.find((each) => each.begin <= at && at < each.end));
      const to = Math.min(last, span.end);
      await span.written;
      await span.array.read(unseenPart(made.subarray(at - begin, to - begin)), at - span.begin);
      at = to;
    }
    return made;
  }

  /** Frees the input on the device. */
  dispose(): void {
    for (const { array } of this.#taken.splice(0)) array.dispose();
  }
}

// The input of a run while it is still the caller's. What can be queued before the call returns is copied slice by slice on its way to the
// device, so that the link and the kernel work meanwhile; the rest is copied when the call returns.
import { elementTypeOf, isFixed, isUsedInPlace, plainView } from '../../core/arrays.ts';
import { dropInput, returnInput, takenInput, type Lender } from '../options.ts';
import type { Scalars } from './prepare.ts';

/** Bytes from which on borrowing pays. */
const leastBytes = 2 ** 22;

/** An input that is the caller's until {@link returns}. */
export class Borrowed {
  readonly input: Scalars;
  /** What {@link save} was given. */
  saved: ArrayLike<number> | undefined;
  readonly #savesAll: boolean;
  readonly #lender: Lender;
  readonly #copies: (readonly [copy: Scalars, part: Scalars])[] = [];
  #take = (): void => undefined;

  private constructor(input: Scalars, lender: Lender, savesAll: boolean) {
    this.input = input;
    this.#lender = lender;
    this.#savesAll = savesAll;
  }

  /**
   * An input as it is given; undefined if it has to be copied first, or need not be copied at all.
   * @param savesAll whether another back end may make a run that fails
   */
  static of(input: unknown, lender: Lender, savesAll = false): Borrowed | undefined {
    const type = elementTypeOf(input);
    if (type !== 'float32' && type !== 'float64' && type !== 'int32') return undefined;
    const array = input as Scalars;
    if (!isFixed(array) || isUsedInPlace(array)) return undefined;
    const view = plainView(array);
    return view.byteLength < leastBytes ? undefined : new Borrowed(view, lender, savesAll);
  }

  /** @param take copies what the run has not read yet */
  whenReturning(take: () => void): void {
    this.#take = take;
  }

  /** Called before the call returns: from here on the caller may change the input. */
  returns(): void {
    this.#take();
  }

  /** A copy of a part, until the end of the call. */
  copy(part: Scalars): Scalars {
    const copy = takenInput(part, this.#lender);
    this.#copies.push([copy, part]);
    return copy;
  }

  /** After a failure: has all of the input read, if that is wanted and possible still. */
  async save(read: () => Promise<ArrayLike<number>>): Promise<void> {
    if (this.#savesAll) this.saved = await read().catch(() => undefined);
  }

  /** Nothing reads the copies any more. */
  release(): void {
    for (const [copy, part] of this.#copies) returnInput(copy, part);
  }

  /** The call has ended, one way or the other. */
  drop(): void {
    for (const [copy] of this.#copies.splice(0)) dropInput(copy);
  }
}

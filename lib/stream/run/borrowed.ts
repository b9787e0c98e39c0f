// The input of a run while it is still the caller's: several threads copy it to memory that the device lends, from its beginning on, while
// the calls of the run are queued, which wait for their parts of it. So the link and the kernel work meanwhile. Once the call has returned,
// the caller may change the input, and all of the copy is there, whatever becomes of the device.
import { elementTypeOf, isFixed, isUsedInPlace, plainView } from '../../core/arrays.ts';
import type { Lender } from '../../core/lent.ts';
import type { IrType } from '../ir.ts';
import { isSplit, type Scalars } from './prepare.ts';

/** Bytes from which on borrowing pays. */
const leastBytes = 2 ** 22;

/** An input that is the caller's until {@link returns}. */
export class Borrowed {
  /** The copy: what a run reads. Only calls of the device may read it before {@link returns}. */
  readonly input: Scalars;
  readonly #lender: Lender;
  #source: Scalars | undefined;

  private constructor(input: Scalars, source: Scalars, lender: Lender) {
    this.input = input;
    this.#source = source;
    this.#lender = lender;
    lender.begin(input, source);
  }

  /**
   * Begins to copy an input of items of a type: no code of the caller runs from here to {@link returns}, which has to follow. Undefined if
   * the caller has to copy it first, or need not copy it at all.
   */
  static of(input: unknown, type: IrType, lender: Lender): Borrowed | undefined {
    const kind = elementTypeOf(input);
    if (kind !== 'float32' && kind !== 'float64' && kind !== 'int32') return undefined;
    const array = input as Scalars;
    if (!isFixed(array) || isUsedInPlace(array)) return undefined;
    const source = plainView(array);
    // What has to be converted is read before it is there.
    if (source.byteLength < leastBytes || !isSplit(source, type)) return undefined;
    const copy = lender.room(source);
    return copy === undefined ? undefined : new Borrowed(copy as Scalars, source, lender);
  }

  /** The items, wherever all of them are: for what reads them before it waits for anything. */
  get readable(): Scalars {
    return this.#source ?? this.input;
  }

  /** Called before the call returns: from here on the caller may change the input. */
  returns(): void {
    this.#source = undefined;
    this.#lender.finish(this.input);
  }

  /** The call has ended, one way or the other: nothing reads the copy any more. */
  drop(): void {
    this.#lender.giveBack(this.input);
  }
}

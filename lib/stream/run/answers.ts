// What machines answer (machine.ts), and what a program raises.

export type Printed = readonly [site: number, values: readonly number[]];

/** `milliseconds`: of the machine's part of the run, its start aside. */
export interface Done {
  readonly kind: 'done';
  /** Before and behind launches, by one of the machines. */
  readonly before: readonly Printed[];
  readonly printed: readonly Printed[];
  readonly behind: readonly Printed[];
  readonly milliseconds: number;
}
/** `order`: where others may yet meet an earlier fault: number of the piece, or iteration, group and first of its iterations. */
export interface Faulty { readonly kind: 'fault'; readonly site: number; readonly value: number; readonly order?: readonly number[] }
export interface Failed { readonly kind: 'failed'; readonly message: string; readonly isMemory: boolean }
/** The run did not end before `until`. */
export interface Late { readonly kind: 'late' }
export type Answer = Done | Faulty | Failed | Late;

/** What a program raised at a site. */
export class Fault extends Error {
  readonly site: number;
  readonly value: number;

  constructor(site: number, value: number) {
    super('fault');
    this.site = site;
    this.value = value;
  }

  answer(order?: readonly number[]): Faulty {
    return { kind: 'fault', site: this.site, value: this.value, ...(order === undefined ? {} : { order }) };
  }
}

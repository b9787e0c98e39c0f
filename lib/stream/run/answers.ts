// The answers of machines (machine.ts), and the faults that programs raise.

export type Printed = readonly [site: number, values: readonly number[]];

/** `milliseconds`: duration of the machine's part of the run, without its start. */
export interface Done {
  readonly kind: 'done';
  /** Printed by one of the machines before and after the launches. */
  readonly before: readonly Printed[];
  readonly printed: readonly Printed[];
  readonly behind: readonly Printed[];
  readonly milliseconds: number;
}
/** `order` is present if others may still find an earlier fault: number of the piece; or iteration, group and first of its iterations. */
export interface Faulty { readonly kind: 'fault'; readonly site: number; readonly value: number; readonly order?: readonly number[] }
export interface Failed { readonly kind: 'failed'; readonly message: string; readonly isMemory: boolean }
/** The run did not end before the time `until`. */
export interface Late { readonly kind: 'late' }
export type Answer = Done | Faulty | Failed | Late;

/** Thrown when a program faults at a site. */
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

// Addresses in loops: engines do not take what stays the same out of sums of indices, which wrap around, so it is done here.
import { exact, type Buffer, type Expression, type Local, type StatementOf } from '../ir.ts';
import { localsSetBy, walkBody } from '../visit.ts';
import { bytesOf } from './wasm-binary.ts';

/** Elements whose indices differ from the counter by `rest`, which stays the same. */
export interface LoopRow {
  readonly buffer: Buffer;
  readonly rest: Expression;
  /** The logarithm of an element's bytes. */
  readonly shift: number;
  readonly key: string;
}

/** The rows of a loop that has no other loops inside. */
export class LoopRows {
  readonly #counter: Local;
  readonly #changing: ReadonlySet<Local>;
  readonly #found = new Map<string, LoopRow>();
  readonly #pointerOf: (buffer: Buffer) => number | undefined;
  readonly #numberOf: (local: Local) => number;

  /** `pointerOf`, `numberOf`: the variables of buffers that are behind pointers, and of locals. */
  constructor(
    { counter, body }: StatementOf<'for'>, pointerOf: (buffer: Buffer) => number | undefined, numberOf: (local: Local) => number,
  ) {
    this.#counter = counter;
    this.#pointerOf = pointerOf;
    this.#numberOf = numberOf;
    const changing = new Set<Local>([counter]);
    let isInnermost = true;
    walkBody(body, { statement: (s) => {
      isInnermost &&= s.kind !== 'for' && s.kind !== 'while';
      for (const local of localsSetBy(s)) changing.add(local);
    } });
    this.#changing = changing;
    if (!isInnermost) return;
    const note = (buffer: Buffer, index: Expression): void => {
      const row = this.#rowOf(buffer, index);
      if (row !== undefined) this.#found.set(row.key, row);
    };
    walkBody(body, {
      statement: (s) => { if (s.kind === 'store') note(s.buffer, s.index); },
      expression: (e) => { if (e.kind === 'load') note(e.buffer, e.index); },
    });
  }

  get all(): readonly LoopRow[] {
    return [...this.#found.values()];
  }

  /** The row of an element of the loop. */
  find(buffer: Buffer, index: Expression): LoopRow | undefined {
    return this.#found.size === 0 ? undefined : this.#found.get(this.#rowOf(buffer, index)?.key ?? '');
  }

  #rowOf(buffer: Buffer, index: Expression): LoopRow | undefined {
    const pointer = this.#pointerOf(buffer);
    if (pointer === undefined) return undefined;
    const rest: Expression[] = [];
    let counters = 0;
    const take = (e: Expression): boolean => {
      if (e.kind === 'binary' && e.op === 'add') return take(e.left) && take(e.right);
      if (e.kind === 'get' && e.local === this.#counter) counters += 1;
      else rest.push(e);
      return e.kind === 'constant' || (e.kind === 'get' && (e.local === this.#counter || !this.#changing.has(e.local)));
    };
    if (!take(index) || counters !== 1 || rest.length === 0) return undefined;
    const names = rest.map((e) => (e.kind === 'get' ? `v${this.#numberOf(e.local)}` : e.kind === 'constant' ? String(e.value) : ''));
    return {
      buffer, rest: rest.reduce((a, b) => exact('add', a, b)), shift: Math.log2(bytesOf[buffer.element]),
      key: `${pointer}: ${names.sort().join(' ')}`,
    };
  }
}

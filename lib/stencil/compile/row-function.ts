// Functions of rows, along the last axis, whose numbers are behind pointers that the runtime gives.
import { required } from '../../core/known.ts';
import {
  call, constant, exact, forLoop, get, i32, load, store, type Body, type Buffer, type Expression, type KernelFunction, type Local,
  type Statement, type Type,
} from '../../kernel/ir.ts';
import type { StencilProgram, Target } from './stages.ts';
import type { Input } from './trace.ts';

/** Makes one function of a row: a loop over its columns. */
export class RowFunction {
  readonly name: string;
  readonly buffers: Buffer[] = [];
  /** The pointers to them, as expressions of C++. */
  readonly texts = new Map<Buffer, string>();
  readonly #made: StencilProgram;
  readonly #target: Target;
  readonly #count: Local = { name: 'count', type: 'i32' };
  readonly #column: Local = { name: 'j', type: 'i32' };
  readonly #indices: readonly Local[];
  readonly #extents: readonly Local[];
  readonly #scalars: ReadonlyMap<string, Local>;
  readonly #body: Statement[] = [];
  #next = 0;

  constructor(name: string, made: StencilProgram, target: Target) {
    this.name = name;
    this.#made = made;
    this.#target = target;
    const { names: { dimensions, precision }, scalars } = made;
    const ints = (letter: string): Local[] => Array.from({ length: dimensions }, (_, axis) => ({ name: `${letter}${axis}`, type: 'i32' }));
    this.#indices = ints('i');
    this.#extents = ints('n');
    this.#scalars = new Map(scalars.map((each) => [each, { name: `s_${each}`, type: precision }]));
  }

  local(type: Type = this.#made.names.precision): Local {
    return { name: `v_${this.#next++}`, type };
  }

  /** A buffer, one for each pointer. */
  #buffer(text: string, isReadOnly: boolean): Buffer {
    const known = [...this.texts].find(([, other]) => other === text)?.[0];
    if (known !== undefined) return known;
    const buffer: Buffer = { name: `${this.name}_${this.buffers.length}`, element: this.#made.names.precision, role: 'external',
      length: undefined, isReadOnly };
    this.buffers.push(buffer);
    this.texts.set(buffer, text);
    return buffer;
  }

  /** The number at the row's column, which pointers may be behind of. */
  read(text: string, behind = 0): Expression {
    return load(this.#buffer(text, true), get(this.#column), behind);
  }

  write(text: string, value: Expression): void {
    this.#body.push(store(this.#buffer(text, false), get(this.#column), value));
  }

  call(name: string, args: readonly Expression[], results: readonly Local[]): void {
    this.#body.push(call(name, args, results));
  }

  add(s: Statement): void {
    this.#body.push(s);
  }

  /** A number that does not come from arrays. `face`: places are on this side. */
  plain(input: Input, face?: { readonly axis: number; readonly side: 0 | 1 }, by = 0): Expression {
    if (input.kind === 'scalar') return get(required(this.#scalars.get(input.name)));
    if (input.kind !== 'place') throw new TypeError(`${input.kind} is not plain`);
    const { axis } = input;
    const { precision } = this.#made.names;
    const origin = required(this.#target.origin[axis]);
    if (face?.axis === axis && face.side === 0) return constant(precision, precision === 'f32' ? Math.fround(origin) : origin);
    const place = this.local();
    if (face?.axis === axis) this.call(`face_${axis}`, [get(required(this.#extents[axis]))], [place]);
    else this.call(`centre_${axis}`, [this.#index(axis, by)], [place]);
    return get(place);
  }

  /** `by`: planes from the first of a group. */
  #index(axis: number, by: number): Expression {
    const first = get(required(this.#indices[axis]));
    if (axis === this.#indices.length - 1) return exact('add', first, get(this.#column));
    return by > 0 && axis === 0 ? exact('add', first, i32(by)) : first;
  }

  /** The function: its body for every column, between `before` and the results. */
  finish(before: Body = [], results: readonly Expression[] = []): KernelFunction {
    const loop = forLoop({ name: 'columns' }, this.#column, { from: i32(0), to: get(this.#count) }, this.#body);
    return {
      name: this.name, parameters: [this.#count, ...this.#indices, ...this.#extents, ...this.#scalars.values()],
      results: results.map(({ type }) => type), buffers: [],
      body: [...before, loop, ...(results.length === 0 ? [] : [{ kind: 'return' as const, values: results }])],
    };
  }
}

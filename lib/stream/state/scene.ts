// What is known at a place of the code of a firing.
import { elementAt, required } from '../../core/known.ts';
import type { Buffer, Local } from '../../kernel/ir.ts';
import { either, known, unclear, type Value } from './value.ts';

type Elements = readonly Value[];

/** What is known at a place of the code. */
export class Scene {
  readonly locals: Map<Local, Value>;
  /** Buffers that are known element by element. */
  readonly buffers: Map<Buffer, Elements>;
  /** What decided that control came here, since it parted. */
  control: Value;

  constructor(locals: Map<Local, Value>, buffers: Map<Buffer, Elements>, control: Value = known(0)) {
    this.locals = locals;
    this.buffers = buffers;
    this.control = control;
  }

  copy(): Scene {
    return new Scene(new Map(this.locals), new Map(this.buffers), this.control);
  }

  set(buffer: Buffer, index: number, value: Value): void {
    const elements = [...required(this.buffers.get(buffer))];
    elements[index] = value;
    this.buffers.set(buffer, elements);
  }
}

/** What is known where control comes from two places; from one, if the other is undefined. */
export function joined(a: Scene | undefined, b: Scene | undefined): Scene | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const control = unclear(a.control, b.control);
  const made = new Scene(new Map(), new Map(), control);
  for (const [local, value] of a.locals) {
    const other = b.locals.get(local);
    if (other !== undefined) made.locals.set(local, either(value, other, control));
  }
  for (const [buffer, elements] of a.buffers) {
    const others = required(b.buffers.get(buffer));
    made.buffers.set(buffer, elements === others ? elements : elements.map((value, i) => either(value, elementAt(others, i), control)));
  }
  return made;
}

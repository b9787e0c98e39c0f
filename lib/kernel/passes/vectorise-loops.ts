// Vectorises counted loops with independent iterations, four (doubles: two) at a time. Each lane is rounded as it would be on its own, and
// sums are not reassociated, so the results are bit-identical.
import {
  binary, elementOf, get, i32, isVector, lanes, lanesOf, splat, vectorOf, type Body, type Buffer, type Expression, type ExpressionOf,
  type Local, type Program, type ScalarType, type Statement, type StatementOf, type Type,
} from '../ir.ts';
import { mapBody, mapFunctions, Names, walkExpression } from '../visit.ts';
import { copyBody, freshLocals } from './clone.ts';
import { isSame } from './fold.ts';
import { factorOf, linearOf } from './linear.ts';
import { mayMake, mentionsIn, privateTo, splitLoop } from './unroll.ts';
import { required } from '../../core/known.ts';

type For = StatementOf<'for'>;

const laneBinary: Readonly<Record<ScalarType, ReadonlySet<string>>> = {
  i32: new Set(['add', 'sub', 'mul', 'min', 'max', 'band', 'bor', 'xor']), f32: new Set(['add', 'sub', 'mul', 'div', 'min', 'max']),
  f64: new Set(['add', 'sub', 'mul', 'div', 'min', 'max']),
};
const shifts: ReadonlySet<string> = new Set(['shl', 'shr', 'shr_u']);

/** Whether there is an instruction for lanes of the operands' type. */
export function hasLanes(e: ExpressionOf<'unary' | 'binary' | 'convert'>): boolean {
  if (e.kind === 'convert') return (e.type === 'f32' && e.operand.type === 'i32') || (e.type === 'i32' && e.operand.type === 'f32');
  if (e.type === 'bool' || isVector(e.type)) return false;
  if (e.kind === 'unary') return e.op !== 'not' && (e.type !== 'i32' || e.op === 'neg' || e.op === 'abs');
  return laneBinary[e.type].has(e.op) || (e.type === 'i32' && shifts.has(e.op));
}

/** The same expression on vectors. */
export function onLanes(e: ExpressionOf<'unary' | 'binary' | 'convert'>, ...parts: readonly Expression[]): Expression {
  const type = vectorOf[e.type as ScalarType];
  if (e.kind !== 'binary') return { ...e, type, operand: required(parts[0]) };
  const { isExact: _, ...plain } = e;
  return { ...plain, type, left: required(parts[0]), right: required(parts[1]) };
}

class LoopVectoriser {
  readonly #loop: For;
  readonly #width: number;
  readonly #own: ReadonlySet<Local>;
  readonly #names: Names;
  readonly #vectors = new Map<Local, Local>();
  readonly #written: ReadonlyMap<Buffer, StatementOf<'store'>>;

  constructor(loop: For, width: number, own: ReadonlySet<Local>, names: Names) {
    this.#loop = loop;
    this.#width = width;
    this.#own = own;
    this.#names = names;
    this.#written = new Map(loop.body.flatMap((s) => (s.kind === 'store' ? [[s.buffer, s] as const] : [])));
  }

  /** The body on lanes; undefined if it cannot be vectorised. */
  body(): Body | undefined {
    const stores = this.#loop.body.filter(({ kind }) => kind === 'store').length;
    if (stores !== this.#written.size || stores === 0) return undefined;
    const made = this.#loop.body.map((s) => this.#statement(s));
    return made.includes(undefined) ? undefined : made as Body;
  }

  #statement(s: Statement): Statement | undefined {
    if (s.kind === 'set') {
      const value = this.#value(s.value);
      if (value === undefined) return undefined;
      let local = this.#vectors.get(s.local);
      if (local === undefined) this.#vectors.set(s.local, local = { name: this.#names.make(s.local.name), type: value.type });
      return { ...s, local, value };
    }
    if (s.kind !== 'store' || this.#stride(s.index) !== 1) return undefined;
    const value = this.#value(s.value);
    return value === undefined ? undefined : { ...s, value };
  }

  /** How far an index moves per iteration; undefined if that is not constant. */
  #stride(index: Expression): number | undefined {
    const linear = linearOf(index);
    const counter = get(this.#loop.counter);
    const isPlain = linear.terms.every(({ of }) => isSame(of, counter) || this.#isInvariant(of));
    return isPlain ? factorOf(linear, counter) * this.#loop.step | 0 : undefined;
  }

  /** Whether a value is loop-invariant. */
  #isInvariant(e: Expression): boolean {
    let found = true;
    walkExpression(e, (part) => {
      if (part.kind === 'get') found &&= part.local !== this.#loop.counter && !this.#own.has(part.local);
      else if (part.kind === 'load') found &&= !this.#written.has(part.buffer);
    });
    return found;
  }

  #fits(type: Type): boolean {
    return type !== 'bool' && !isVector(type) && lanesOf[vectorOf[type]] === this.#width;
  }

  #value(e: Expression): Expression | undefined {
    if (!this.#fits(e.type)) return undefined;
    if (this.#isInvariant(e)) return splat(e);
    switch (e.kind) {
      case 'get': return e.local === this.#loop.counter ? this.#counter() : this.#vector(e.local);
      case 'load': return this.#load(e);
      case 'unary': case 'convert': {
        const operand = hasLanes(e) ? this.#value(e.operand) : undefined;
        return operand === undefined ? undefined : onLanes(e, operand);
      }
      case 'binary': {
        if (!hasLanes(e)) return undefined;
        const left = this.#value(e.left);
        const right = !shifts.has(e.op) ? this.#value(e.right) : this.#isInvariant(e.right) ? e.right : undefined;
        return left === undefined || right === undefined ? undefined : onLanes(e, left, right);
      }
      default: return undefined;
    }
  }

  #counter(): Expression {
    const steps = Array.from({ length: this.#width }, (_, lane) => i32(lane * this.#loop.step));
    return binary('add', splat(get(this.#loop.counter)), lanes(...steps));
  }

  #vector(local: Local): Expression | undefined {
    const vector = this.#vectors.get(local);
    return vector === undefined ? undefined : get(vector);
  }

  #load(e: ExpressionOf<'load'>): Expression | undefined {
    const store = this.#written.get(e.buffer);
    // A written buffer may be read only at the element that is written.
    if (store !== undefined && !(isSame(store.index, e.index) && store.offset === e.offset)) return undefined;
    return this.#stride(e.index) === 1 ? { ...e, type: vectorOf[elementOf[e.type] as ScalarType] } : undefined;
  }
}

function vectorised(s: For, names: Names, mentions: () => ReadonlyMap<Local, number>): Statement | Body {
  if (!s.body.every(({ kind }) => kind === 'set' || kind === 'store')) return s;
  const element = s.body.find((each) => each.kind === 'store')?.buffer.element;
  const own = element === undefined ? undefined : privateTo(s.body, mentions());
  if (element === undefined || own === undefined) return s;
  const width = lanesOf[vectorOf[element]];
  if (!mayMake(s, width)) return s;
  const body = new LoopVectoriser(s, width, own, names).body();
  const split = body === undefined ? undefined : splitLoop(s, width, names);
  if (body === undefined || split === undefined) return s;
  const main: Statement = { ...s, from: split.from, to: split.middle, step: s.step * width, body };
  // No iterations remain.
  if (isSame(split.middle, split.to)) return [...split.before, main];
  const rest = copyBody(s.body, names, freshLocals(own, names));
  return [
    ...split.before, main,
    { ...s, label: { name: names.make(s.label.name) }, from: split.middle, to: split.to, body: rest, most: width - 1 },
  ];
}

/** Converts counted loops of sets and stores to vector loops and loops for the remaining iterations. */
export function vectoriseLoops(program: Program): Program {
  return mapFunctions(program, (f) => {
    const names = Names.of(program, f);
    let found: ReadonlyMap<Local, number> | undefined;
    const mentions = (): ReadonlyMap<Local, number> => found ??= mentionsIn(f.body);
    const body = mapBody(f.body, { statement: (s) => (s.kind === 'for' ? vectorised(s, names, mentions) : s) });
    return body === f.body ? f : { ...f, body };
  });
}

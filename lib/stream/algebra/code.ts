// The code of a linear filter: like one that a programmer would write, so that all back ends and their savings treat it alike.
import { elementAt } from '../../core/known.ts';
import { scalar } from '../interpret/values.ts';
import type { FilterCode, IrExpression, IrPlace, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import { gcd, type Linear, type LinearType, type Row } from './linear.ts';

/** Rows of at least this many terms become loops over tables, if at least this part of what they pass has a factor. */
const leastLoop = 8;
const leastFilled = 0.75;

const int = scalar('int');
const bool = scalar('boolean');

const rounded = (type: LinearType, x: number): number => (type === 'float' ? Math.fround(x) : type === 'int' ? x | 0 : x);
const constant = (type: IrType, x: number): IrExpression => ({ kind: 'constant', type, value: { type, numbers: [x] } });
const number = (x: number): IrExpression => constant(int, x);
const read = (variable: Variable): IrPlace => ({ kind: 'variable', type: variable.type, variable });

function binary(operator: '+' | '-' | '*', left: IrExpression, right: IrExpression): IrExpression {
  return { kind: 'binary', type: left.type, operator, left, right };
}

/** `start + counter · step`. */
function affine(start: number, counter: Variable, step: number): IrExpression {
  const moved = step === 1 ? read(counter) : binary('*', read(counter), number(step));
  return start === 0 ? moved : binary('+', number(start), moved);
}

const peek = (type: IrType, index: IrExpression): IrExpression => ({ kind: 'peek', type, index });

function counted(variable: Variable, trips: number, statements: readonly IrStatement[]): IrStatement {
  return {
    kind: 'loop', initial: [{ kind: 'declare', variable, value: number(0) }],
    condition: { kind: 'binary', type: bool, operator: '<', left: read(variable), right: number(trips) },
    step: [{ kind: 'assign', target: read(variable), value: binary('+', read(variable), number(1)) }],
    body: { kind: 'block', statements }, atLeastOnce: false, trips,
  };
}

/** A row as a loop: factors from its first item to its last, `step` apart. */
interface Loop { readonly from: number; readonly step: number; readonly factors: readonly number[]; readonly rest: number }

function asLoop({ at, by, rest }: Row): Loop | undefined {
  const [from] = at;
  if (from === undefined || at.length < leastLoop) return undefined;
  const step = at.reduce((common, place) => gcd(common, place - from), 0);
  const factors = Array.from({ length: (elementAt(at, at.length - 1) - from) / step + 1 }, () => 0);
  if (at.length < leastFilled * factors.length) return undefined;
  at.forEach((place, i) => { factors[(place - from) / step] = elementAt(by, i); });
  return { from, step, factors, rest };
}

/** Rows that one loop over rows can make: of equal shape, each so many items behind the one before. */
interface Block { readonly loops: Loop[]; move: number }

class Writer {
  readonly state: StateVariable[] = [];
  readonly statements: IrStatement[] = [];
  readonly #type: IrType;
  readonly #name: LinearType;
  #names = 0;

  constructor(name: LinearType) {
    this.#name = name;
    this.#type = scalar(name);
  }

  #variable(type: IrType, name: string): Variable {
    return { name: `${name}${++this.#names}`, type };
  }

  #constant(x: number): IrExpression {
    return constant(this.#type, rounded(this.#name, x));
  }

  #table(numbers: readonly number[]): StateVariable {
    const type = { kind: 'array', element: this.#type, length: numbers.length } as const;
    const made = {
      ...this.#variable(type, 'table'), role: 'constant' as const,
      initial: { type, numbers: numbers.map((x) => rounded(this.#name, x)) },
    };
    this.state.push(made);
    return made;
  }

  #element(table: StateVariable, index: IrExpression): IrExpression {
    return { kind: 'element', type: this.#type, array: { kind: 'state', type: table.type, variable: table }, index, safe: true };
  }

  /** Pushes a row, written out. Factors of ±1 and sums with 0 cost nothing. */
  row({ at, by, rest }: Row): void {
    const sum = this.#variable(this.#type, 'sum');
    const terms = at.map((place, i) => ({ item: peek(this.#type, number(place)), factor: rounded(this.#name, elementAt(by, i)) }));
    let made: IrExpression | undefined = rest === 0 && terms.length > 0 ? undefined : this.#constant(rest);
    const statements: IrStatement[] = [];
    for (const { item, factor } of terms) {
      const isNegative = factor === -1;
      const term = factor === 1 || (isNegative && made !== undefined) ? item : binary('*', this.#constant(factor), item);
      const isFirst = made === undefined;
      const value: IrExpression = made === undefined ? term : binary(isNegative ? '-' : '+', made, term);
      statements.push(isFirst || statements.length === 0 ? { kind: 'declare', variable: sum, value }
        : { kind: 'assign', target: read(sum), value });
      made = read(sum);
    }
    this.statements.push({ kind: 'block', statements: [...statements, { kind: 'push', value: made ?? this.#constant(0) }] });
  }

  /** Pushes the rows of a block, by a loop over rows around a loop over items. */
  block({ loops, move }: Block): void {
    const first = elementAt(loops, 0), { length } = first.factors;
    const isSame = loops.every(({ factors }) => factors.every((factor, i) => factor === first.factors[i]));
    const table = this.#table(isSame ? first.factors : loops.flatMap(({ factors }) => factors));
    const rests = loops.every(({ rest }) => rest === first.rest) ? undefined : this.#table(loops.map(({ rest }) => rest));
    const [row, item] = [this.#variable(int, 'row'), this.#variable(int, 'item')];
    const sum = this.#variable(this.#type, 'sum');
    const isOne = loops.length === 1;
    const place = affine(first.from, item, first.step);
    const factor = isSame ? read(item) : binary('+', binary('*', read(row), number(length)), read(item));
    const product = binary('*', this.#element(table, factor),
      peek(this.#type, isOne || move === 0 ? place : binary('+', affine(0, row, move), place)));
    const statements: IrStatement[] = [
      { kind: 'declare', variable: sum, value: rests === undefined ? this.#constant(first.rest) : this.#element(rests, read(row)) },
      counted(item, length, [{ kind: 'assign', target: read(sum), value: binary('+', read(sum), product) }]),
      { kind: 'push', value: read(sum) },
    ];
    this.statements.push(isOne ? { kind: 'block', statements } : counted(row, loops.length, statements));
  }

  pop(items: number): void {
    const value: IrExpression = { kind: 'pop', type: this.#type };
    this.statements.push(counted(this.#variable(int, 'item'), items, [{ kind: 'evaluate', value }]));
  }
}

/** Whether a loop continues a block. */
function continues({ loops, move }: Block, { from, step, factors }: Loop): boolean {
  const last = elementAt(loops, loops.length - 1);
  if (last.step !== step || last.factors.length !== factors.length || from < last.from) return false;
  return loops.length === 1 || from - last.from === move;
}

/** The code of a linear filter. Factors are rounded to its type here, once. */
export function codeOf({ type, pop, peek: peeked, rows }: Linear): FilterCode {
  const writer = new Writer(type);
  let block: Block | undefined;
  const end = (): void => {
    if (block !== undefined) writer.block(block);
    block = undefined;
  };
  for (const row of rows) {
    const loop = asLoop(row);
    if (loop !== undefined && block !== undefined && continues(block, loop)) {
      block.move = loop.from - elementAt(block.loops, block.loops.length - 1).from;
      block.loops.push(loop);
      continue;
    }
    end();
    if (loop === undefined) writer.row(row);
    else block = { loops: [loop], move: 0 };
  }
  end();
  writer.pop(pop);
  const items = scalar(type);
  return {
    name: 'Linear', input: items, output: items, state: writer.state, functions: [], handlers: [], prework: undefined, stateful: false,
    work: { rates: { push: rows.length, pop, peek: peeked }, body: { kind: 'block', statements: writer.statements } },
  };
}

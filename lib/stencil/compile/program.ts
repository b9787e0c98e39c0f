// An equation on a grid as a program of the kernel representation: what a stage makes of a cell, cell by cell and row by row.
//
// Functions, by stage s: point_s computes a cell from numbers; edge_s and inner_s load them, for cells whose neighbours may and
// cannot be beyond the boundary, store the results and return 1 if they are finite and admissible; cell_s, of large functions only,
// does either as its argument says; rows_s works on rows of cells in order, and returns 1 if one is not. read_yF_A reads field F where
// the indices of axes up to A may be outside.
import { required } from '../../core/known.ts';
import {
  binary, branch, call, compare, convert, constant, exact, extract, forLoop, get, i32, load, logic, select, set, splat, unary,
  vectorOf, lanesOf, type Body, type Buffer, type Expression, type KernelFunction, type Local, type Statement,
} from '../../kernel/ir.ts';
import { functionsOf } from '../../kernel/call/point.ts';
import { verify } from '../../kernel/verify.ts';
import type { Rule } from '../boundary.ts';
import type { Equation } from '../types.ts';
import { arithmeticOf, ghostFunctions } from './ghost.ts';
import { limitFunctions, limitOf } from './limit.ts';
import { traceCheck, type Input, type Names, type Traced } from './trace.ts';
import { baseOf, cellBody, indexOf, type Bases } from './cells.ts';
import { isLarge, stagesOf, type Buffers, type CellParts, type Limit, type Stage, type StencilProgram, type Target } from './stages.ts';

/** Builds the functions. */
class Builder {
  readonly #names: Names;
  readonly #target: Target;
  readonly #stages: readonly Stage[];
  readonly #check: Traced;
  readonly #limit: Limit | undefined;
  /** Whether cells have to be more than finite. */
  readonly #isChecked: boolean;
  readonly #reach: readonly number[];
  readonly buffers: Buffers;
  readonly functions: KernelFunction[] = [];
  readonly scalars: readonly string[];
  readonly leastCells: number[];
  readonly #extents: readonly Local[];
  readonly #indices: readonly Local[];
  readonly #scalars: ReadonlyMap<string, Local>;
  #next = 0;

  constructor(names: Names, target: Target, stages: readonly Stage[], check: Traced, limit: Limit | undefined, isChecked: boolean) {
    this.#names = names;
    this.#target = target;
    this.#stages = stages;
    this.#check = check;
    this.#limit = limit;
    this.#isChecked = isChecked;
    const { dimensions, precision, fields, coefficients } = names;
    const external = (kind: string, isReadOnly: boolean, count = fields.length): Buffer[] => Array.from({ length: count }, (_, i) =>
      ({ name: `${kind}${i}`, element: precision, role: 'external' as const, length: undefined, isReadOnly }));
    this.buffers = {
      y: external('y', true), u: external('u', false), a: external('a', false), o: external('o', false),
      c: external('c', true, coefficients.length),
    };
    this.#reach = Array.from({ length: dimensions }, (_, axis) => Math.max(...stages.map(({ reach }) => required(reach[axis]))));
    this.scalars = ['t', 'dt', 'h', 'g', ...names.parameters.map((_, i) => `p${i}`)];
    this.#scalars = new Map(this.scalars.map((name) => [name, { name: `s_${name}`, type: precision }]));
    this.#extents = Array.from({ length: dimensions }, (_, i) => ({ name: `n${i}`, type: 'i32' as const }));
    this.#indices = Array.from({ length: dimensions }, (_, i) => ({ name: `i${i}`, type: 'i32' as const }));
    this.leastCells = Array<number>(dimensions).fill(1);
  }

  get reach(): readonly number[] {
    return this.#reach;
  }

  /** Parameters that every function has at its end. */
  get #common(): readonly Local[] {
    return [...this.#extents, ...this.#scalars.values()];
  }

  #local(type: Local['type'], name = 'v'): Local {
    return { name: `${name}_${this.#next++}`, type };
  }

  #make(name: string, parameters: readonly Local[], results: KernelFunction['results'], body: Body): void {
    this.functions.push({ name, parameters, results, buffers: [], body });
  }

  build(): void {
    const { dimensions } = this.#names;
    for (let axis = -1; axis < dimensions; axis += 1) {
      this.buffers.y.forEach((buffer, field) => { this.#reader(buffer, axis, (side) => required(this.#target.rules[axis]?.[side][field]),
        field); });
      this.buffers.c.forEach((buffer) => { this.#reader(buffer, axis, (side) => this.#coefficientRule(axis, side)); });
    }
    this.functions.push(this.#check.f);
    if (this.#limit !== undefined) {
      this.functions.push(...limitFunctions(this.#limit, {
        names: this.#names, buffers: this.buffers, extents: this.#extents, common: this.#common,
        scalar: (name) => get(required(this.#scalars.get(name))), plain: (input, indices) => this.#plain(input, indices),
        rowIndices: (others, row) => this.#rowIndices(others, row),
      }));
    }
    this.#stages.forEach((stage, s) => {
      this.functions.push(stage.point.f);
      if (isLarge(stage)) {
        const [good, inside] = [this.#local('i32', 'good'), this.#local('bool', 'inside')];
        this.#make(`cell_${s}`, [...this.#indices, inside, ...this.#common], ['i32'],
          [...this.#cell(s, this.#indices, get(inside), good), { kind: 'return', values: [get(good)] }]);
      }
      for (const isInner of [false, true]) {
        const good = this.#local('i32', 'good');
        this.#make(`${isInner ? 'inner' : 'edge'}_${s}`, [...this.#indices, ...this.#common], ['i32'],
          [...this.#cell(s, this.#indices, isInner, good), { kind: 'return', values: [get(good)] }]);
      }
      this.#rows(s);
    });
  }

  /** Coefficients continue with the nearest cell, or periodically. */
  #coefficientRule(axis: number, side: number): Rule {
    const first = required(this.#target.rules[axis]?.[side as 0][0]);
    return { kind: first.kind === 'periodic' ? 'periodic' : 'outflow' };
  }

  // Cells beyond the boundary.

  #reader(buffer: Buffer, axis: number, ruleOf: (side: 0 | 1) => Rule, field?: number): void {
    const name = `read_${buffer.name}_${axis + 1}`;
    const result = this.#local(this.#names.precision);
    const value = get(result);
    const body: Statement[] = [];
    if (axis < 0) body.push(set(result, load(buffer, indexOf(this.#extents, this.#indices.map(get)))));
    else {
      const [index, extent] = [required(this.#indices[axis]), required(this.#extents[axis])];
      const [low, high] = ([0, 1] as const).map((side) => this.#beyond(buffer, axis, side, ruleOf(side), result, field));
      const inside = this.#readAt(buffer, axis, get(index), result);
      body.push(branch(compare('lt', get(index), i32(0)), required(low),
        [branch(compare('ge', get(index), get(extent)), required(high), [inside])]));
    }
    this.#make(name, [...this.#indices, ...this.#common], [this.#names.precision], [...body, { kind: 'return', values: [value] }]);
  }

  /** Reads with another index along an axis, where those of the axes before it may be outside. */
  #readAt(buffer: Buffer, axis: number, index: Expression, result: Local): Statement {
    const indices = this.#indices.map((local, i) => (i === axis ? index : get(local)));
    return call(`read_${buffer.name}_${axis}`, [...indices, ...this.#common.map(get)], [result]);
  }

  #beyond(buffer: Buffer, axis: number, side: 0 | 1, rule: Rule, result: Local, field: number | undefined): Body {
    const [index, extent] = [get(required(this.#indices[axis])), get(required(this.#extents[axis]))];
    if (rule.kind === 'periodic') {
      const rest = this.#local('i32');
      const wrapped = select(compare('lt', get(rest), i32(0)), exact('add', get(rest), extent), get(rest));
      return [set(rest, binary('rem', index, extent)), this.#readAt(buffer, axis, wrapped, result)];
    }
    const reach = required(this.#reach[axis]);
    const beyond = side === 0 ? exact('sub', i32(0), index) : exact('add', exact('sub', index, extent), i32(1));
    let body: Body = reach === 0 ? [set(result, constant(this.#names.precision, 0))] : [];
    for (let k = reach; k >= 1; k -= 1) {
      const here = this.#ghost({ buffer, axis, side, rule, k, result, field });
      body = k === reach ? here : [branch(compare('eq', beyond, i32(k)), here, body)];
    }
    return body;
  }

  #ghost({ buffer, axis, side, rule, k, result, field }: {
    readonly buffer: Buffer; readonly axis: number; readonly side: 0 | 1; readonly rule: Exclude<Rule,
      { kind: 'periodic' }>; readonly k: number;
    readonly result: Local; readonly field: number | undefined;
  }): Body {
    const body: Statement[] = [];
    const extent = get(required(this.#extents[axis]));
    const { value, ghost } = ghostFunctions({ axis, side, field: field ?? this.#names.fields.length, k, rule }, this.#names);
    for (const made of [value, ghost]) if (made !== undefined && !this.functions.some(({ name }) =>
      name === made.f.name)) this.functions.push(made.f);
    const args = ghost.inputs.map((input): Expression => {
      if (input.kind !== 'inner') return this.#plain(input, this.#indices, { axis, side });
      const { index, distance } = input;
      this.leastCells[axis] = Math.max(required(this.leastCells[axis]), distance + 1);
      const inner = this.#local(this.#names.precision);
      const of = field === undefined ? buffer : required(this.buffers.y[index]);
      body.push(this.#readAt(of, axis, side === 0 ? i32(distance) : exact('sub', extent, i32(distance + 1)), inner));
      return get(inner);
    });
    return [...body, call(ghost.f.name, args, [result])];
  }

  /** A number that does not come from the grid's arrays. `face`: places are on this side. */
  #plain(input: Input, indices: readonly Local[], face?: { readonly axis: number; readonly side: 0 | 1 }): Expression {
    const { precision, spacing } = this.#names;
    if (input.kind === 'scalar') return get(required(this.#scalars.get(input.name)));
    if (input.kind !== 'place') throw new TypeError(`${input.kind} is not plain`);
    const { axis } = input;
    const at = arithmeticOf(precision);
    const [d, origin] = [at.number(required(spacing[axis])), at.number(required(this.#target.origin[axis]))];
    if (face?.axis === axis) {
      return face.side === 0 ? origin : at.add(at.mul(convert(precision, get(required(this.#extents[axis]))), d), origin);
    }
    return at.add(at.mul(at.add(convert(precision, get(required(indices[axis]))), at.number(0.5)), d), origin);
  }

  // Cells.

  /** What functions of cells need: see ./cells.ts. */
  get parts(): CellParts {
    return {
      names: this.#names, buffers: this.buffers, extents: this.#extents, indices: this.#indices, common: this.#common,
      local: (type, name) => this.#local(type, name), plain: (input, indices) => this.#plain(input, indices),
      checked: (fields, good) => this.#checked(fields, good),
    };
  }

  /** Loads, computes and stores a cell whose neighbours are inside, or may not be; sets `good` if it is given, 1 before the last stage. */
  #cell(s: number, indices: readonly Local[], isInner: boolean | Expression, good: Local | undefined, bases?: Bases): Body {
    const stage = required(this.#stages[s]);
    return cellBody(this.parts, { stage, isLast: s === this.#stages.length - 1, point: stage.point, given: [] }, indices,
      { isInner, good, bases });
  }

  #checked(fields: readonly Expression[], good: Local): Statement {
    const { f, inputs } = this.#check;
    return call(f.name, [...fields, ...inputs.map((input) => this.#plain(input, []))], [good]);
  }

  // Rows.

  #rows(s: number): void {
    const stage = required(this.#stages[s]);
    const isLast = s === this.#stages.length - 1;
    const [from, to, first, end] = ['from', 'to', 'first', 'end'].map((name): Local => ({ name, type: 'i32' }));
    const [row, bad] = [this.#local('i32', 'row'), this.#local('i32', 'bad')];
    const indices = this.#indices.map((_, i): Local => this.#local('i32', `at${i}`));
    const last = required(indices.at(-1));
    const [extent, reach] = [get(required(this.#extents.at(-1))), required(stage.reach.at(-1))];
    const edges = (low: Expression, high: Expression): Statement =>
      forLoop({ name: `cells_${this.#next++}` }, last, { from: low, to: high }, this.#cell(s, indices, false, undefined));
    const bases: Bases = new Map();
    const [left, right] = [this.#local('i32', 'left'), this.#local('i32', 'right')];
    const centre = this.#local('i32', 'base');
    bases.set('centre', centre);
    const inside = this.#cell(s, indices, true, undefined, bases);
    const isBase = (each: Statement): boolean => each.kind === 'set' && [...bases.values()].includes(each.local);
    const setBases = [set(centre, baseOf(this.#extents, indices, indices.slice(1).map(() => 0), 0)), ...inside.filter(isBase)];
    const bounded = (e: Expression): Expression => binary('min', binary('max', e, get(required(first))), get(required(end)));
    const inner: Body = [
      set(left, bounded(i32(reach))), set(right, binary('max', get(left), bounded(exact('sub', extent, i32(reach))))),
      ...setBases, edges(get(required(first)), get(left)),
      forLoop({ name: `cells_${this.#next++}` }, last, { from: get(left), to: get(right) }, inside.filter((each) => !isBase(each))),
      edges(get(right), get(required(end))),
    ];
    const others = indices.slice(0, -1);
    const isInside: readonly Expression[] = others.flatMap((index, axis) => {
      const [r, n] = [required(stage.reach[axis]), get(required(this.#extents[axis]))];
      return [compare('ge', get(index), i32(r)), compare('lt', get(index), exact('sub', n, i32(r)))];
    });
    const whole: Body = isInside.length === 0 ? inner
      : [branch(isInside.reduce((a, b) => logic('and', a, b)), inner,
        [edges(get(required(first)), get(required(end)))])];
    const body: Body = [
      set(bad, i32(0)),
      forLoop({ name: `rows_${this.#next++}` }, row, { from: get(required(from)), to: get(required(to)) },
        [...this.#rowIndices(others, row), ...whole, ...isLast ? this.#checkRow(s, indices, required(first), required(end), bad) : []]),
      { kind: 'return', values: [get(bad)] },
    ];
    this.#make(`rows_${s}`, [required(from), required(to), required(first), required(end), ...this.#common], ['i32'], body);
  }

  #rowIndices(others: readonly Local[], row: Local): Body {
    const [first, second] = others;
    if (first === undefined) return [];
    if (second === undefined) return [set(first, get(row))];
    const extent = get(required(this.#extents[1]));
    return [set(first, binary('div', get(row), extent)), set(second, binary('rem', get(row), extent))];
  }

  /** Sets `bad` if a cell of a row is not finite or not admissible. */
  #checkRow(s: number, indices: readonly Local[], first: Local, end: Local, bad: Local): Body {
    const { fields, precision } = this.#names;
    const last = required(indices.at(-1));
    const stage = required(this.#stages[s]);
    const results = this.buffers[stage.to === 'start' ? 'u' : 'o'].slice(0, fields.length);
    const base = this.#local('i32', 'base');
    const at = exact('add', get(base), get(last));
    const begin = set(base, baseOf(this.#extents, indices, indices.slice(1).map(() => 0), 0));
    if (this.#isChecked) {
      const good = this.#local('i32', 'good');
      return [begin, forLoop({ name: `check_${this.#next++}` }, last, { from: get(first), to: get(end) }, [
        this.#checked(results.map((buffer) => load(buffer, at)), good),
        set(bad, binary('bor', get(bad), binary('xor', get(good), i32(1)))),
      ])];
    }
    // x - x is 0 for finite numbers and NaN for all others, and so are sums of these.
    const type = vectorOf[precision];
    const width = lanesOf[type];
    // Several sums at once, so that none waits for the addition before.
    const sums = Array.from({ length: 4 }, () => this.#local(type, 'sum'));
    const [one, stop] = [this.#local(precision, 'sum'), this.#local('i32', 'stop')];
    const zero = constant(precision, 0);
    const added = (to: Local, of: Local['type'], from: number): Body => results.flatMap((buffer) => {
      const x = this.#local(of, 'x');
      return [set(x, load(buffer, at, from, of)), set(to, binary('add', get(to), binary('sub', get(x), get(x))))];
    });
    const lanes = sums.flatMap((sum) => Array.from({ length: width }, (_, lane) => extract(get(sum), lane)))
      .reduce<Expression>((a, b) => binary('add', a, b), get(one));
    const length = exact('sub', get(end), get(first));
    const step = width * sums.length;
    return [begin, ...sums.map((sum) => set(sum, splat(zero))), set(one, zero),
      set(stop, exact('sub', get(end), binary('band', length, i32(step - 1)))),
      forLoop({ name: `check_${this.#next++}` }, last, { from: get(first), to: get(stop), step },
        sums.flatMap((sum, i) => added(sum, type, i * width))),
      forLoop({ name: `check_${this.#next++}` }, last, { from: get(stop), to: get(end) }, added(one, precision, 0)),
      set(bad, binary('bor', get(bad), convert('i32', unary('not', compare('eq', lanes, zero)))))];
  }

}

/**
 * The program of an equation.
 * @throws FunctionError for functions that cannot be compiled
 */
export function stencilProgram(equation: Equation, target: Target): StencilProgram {
  const { dimensions, fields, parameters, coefficients, definition } = equation;
  const { spacing, precision } = target;
  const names: Names = {
    dimensions, fields, parameters, coefficients, spacing, precision, functions: functionsOf(definition.functions),
  };
  const stages = stagesOf(equation, names);
  const check = traceCheck('check', definition.admissible, names);
  const limit = target.isAdaptive === true ? limitOf(equation, names) : undefined;
  const builder = new Builder(names, target, stages, check, limit, definition.admissible !== undefined);
  builder.build();
  const { y, u, a, o, c } = builder.buffers;
  const program = verify({ buffers: [...y, ...u, ...a, ...o, ...c], imports: [], functions: builder.functions });
  return {
    program, names, stages, check, limit, isChecked: definition.admissible !== undefined, scalars: builder.scalars,
    buffers: builder.buffers, reach: builder.reach, leastCells: builder.leastCells, parts: builder.parts,
  };
}

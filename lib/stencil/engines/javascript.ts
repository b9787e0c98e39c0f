// Runs the user's functions themselves in plain JavaScript, in doubles: for debugging, and the oracle of all other engines. It shares the
// formulas of methods and boundary conditions with the compiler, and nothing else.
import { elementAt, required } from '../../core/known.ts';
import { rateOf } from '../adaptive.ts';
import { axisNames, ghostValue, plainArithmetic, type Rule, type RuleValue } from '../boundary.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import { laplacianOf } from '../compile/trace.ts';
import { methodStages, type MethodStage } from '../methods.ts';
import type { Equation, RealArray } from '../types.ts';
import { HostEngine } from './host.ts';
import { stageScalars, type Content } from './span.ts';

type Plain = (...args: readonly unknown[]) => unknown;
type Fields = Readonly<Record<string, number>>;

/** One stage of one member: reads fields wherever the boundary conditions say. */
class Cells {
  readonly #engine: JavaScriptEngine;
  readonly #y: RealArray;
  readonly #member: number;
  readonly parameters: Fields;
  readonly #t: number;

  constructor(engine: JavaScriptEngine, y: RealArray, member: number, parameters: Fields, t: number) {
    this.#engine = engine;
    this.#y = y;
    this.#member = member;
    this.parameters = parameters;
    this.#t = t;
  }

  /** The place of a cell's centre, or of the boundary's face along one axis. */
  place(indices: readonly number[], face?: { readonly axis: number; readonly side: 0 | 1 }): Record<string, number> {
    const { spacing, origin } = this.#engine.target;
    const { shape } = this.#engine.grid;
    const place: Record<string, number> = { t: this.#t };
    indices.forEach((index, axis) => {
      const [d, from] = [elementAt(spacing, axis), elementAt(origin, axis)];
      const isFace = face?.axis === axis;
      const own = !isFace ? (index + 0.5) * d + from : face.side === 0 ? from : elementAt(shape, axis) * d + from;
      place[required(axisNames[axis])] = own;
    });
    return place;
  }

  /** A field, where indices may be outside. */
  field(field: number, indices: readonly number[]): number {
    const { grid: { shape, cells, fields }, target: { rules } } = this.#engine;
    for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
      const [index, extent] = [elementAt(indices, axis), elementAt(shape, axis)];
      if (index >= 0 && index < extent) continue;
      const side = index < 0 ? 0 : 1;
      return this.#beyond(field, indices, axis, side, required(rules[axis]?.[side][field]));
    }
    return elementAt(this.#y, (this.#member * fields + field) * cells + indexOf(shape, indices));
  }

  #beyond(field: number, indices: readonly number[], axis: number, side: 0 | 1, rule: Rule): number {
    const { grid: { shape }, target: { spacing }, equation } = this.#engine;
    const [index, extent] = [elementAt(indices, axis), elementAt(shape, axis)];
    const moved = (to: number): number[] => indices.map((each, i) => (i === axis ? to : each));
    if (rule.kind === 'periodic') return this.field(field, moved(((index % extent) + extent) % extent));
    const k = side === 0 ? -index : index - extent + 1;
    const inner = (of: number) => (distance: number): number => this.field(of, moved(side === 0 ? distance : extent - 1 - distance));
    const place = this.place(indices, { axis, side });
    if (rule.kind === 'function') {
      const all = Object.fromEntries(equation.fields.map((name, i) => [name, inner(i)]));
      return (rule.value as Plain)(all, this.parameters, { ...place, k }) as number;
    }
    const value = (): number => {
      const given: RuleValue = 'value' in rule ? rule.value : 0;
      return typeof given === 'number' ? given : (given as Plain)(place, this.parameters) as number;
    };
    return ghostValue(rule, k, elementAt(spacing, axis), { inner: inner(field), value, at: plainArithmetic });
  }

  /** A coefficient: beyond the boundary, periodic or that of the nearest cell. */
  coefficient(number: number, indices: readonly number[]): number {
    const { grid: { shape, cells }, target: { rules }, coefficients } = this.#engine;
    const inside = indices.map((index, axis) => {
      const n = elementAt(shape, axis);
      return rules[axis]?.[0][0]?.kind === 'periodic' ? ((index % n) + n) % n : Math.min(Math.max(index, 0), n - 1);
    });
    return elementAt(coefficients, number * cells + indexOf(shape, inside));
  }
}

function indexOf(shape: readonly number[], indices: readonly number[]): number {
  return indices.reduce((sum, index, axis) => sum * elementAt(shape, axis) + index, 0);
}

function indicesOf(shape: readonly number[], cell: number): readonly number[] {
  let rest = cell;
  return shape.toReversed().map((extent) => {
    const index = rest % extent;
    rest = Math.floor(rest / extent);
    return index;
  }).toReversed();
}

export class JavaScriptEngine extends HostEngine {
  readonly backend = 'javascript';
  readonly reason = 'the functions themselves run, cell by cell';
  readonly equation: Equation;
  readonly target: Target;

  constructor(equation: Equation, target: Target, made: StencilProgram, content: Content) {
    super(made, content);
    this.equation = equation;
    this.target = target;
  }

  get grid(): Content['grid'] {
    return this.content.grid;
  }

  get coefficients(): RealArray {
    return this.content.coefficients;
  }

  protected override stage(s: number, arrays: Record<'y' | 'u' | 'a' | 'out', RealArray>, t: number, dt: number): boolean {
    const { grid: { members }, equation: { parameters }, content } = this;
    const stage = required(this.made.stages[s]);
    const [at, , h, g] = stageScalars(stage, t, dt);
    let isGood = true;
    for (let member = 0; member < members; member += 1) {
      const own = Object.fromEntries(parameters.map((name, i) => [name, elementAt(content.parameters, member * parameters.length + i)]));
      isGood = this.#member(s, arrays, new Cells(this, arrays.y, member, own, at), { member, dt, h, g }) && isGood;
    }
    return isGood;
  }

  protected override rate(state: RealArray, t: number, h: number, g: number): number {
    const { grid: { members, cells: count, fields, shape }, equation, target: { spacing }, content } = this;
    const { speed, diffusivity } = equation.definition as Readonly<Record<'speed' | 'diffusivity', Plain | undefined>>;
    const at = { ...plainArithmetic, abs: Math.abs, max: Math.max };
    let most = 0;
    for (let i = 0; i < members * count; i += 1) {
      const [member, cell] = [Math.floor(i / count), i % count];
      const own = Object.fromEntries(equation.parameters.map((name, p) =>
        [name, elementAt(content.parameters, member * equation.parameters.length + p)]));
      const cells = new Cells(this, state, member, own, t);
      const indices = indicesOf(shape, cell);
      const readers = Object.fromEntries([
        ...equation.fields.map((name, f) => [name, () => elementAt(state, (member * fields + f) * count + cell)] as const),
        ...equation.coefficients.map((name, c) => [name, () => cells.coefficient(c, indices)] as const),
      ]);
      const tools = this.#tools(cells, indices);
      const made = speed?.(readers, own, tools) as number | Fields | undefined;
      const speeds = made === undefined ? undefined : spacing.map((_, axis) =>
        (typeof made === 'number' ? made : required(made[required(axisNames[axis])])));
      const rate = rateOf(at, spacing, {
        speeds, diffusivity: diffusivity?.(readers, own, tools) as number | undefined, h: () => h, g: () => g,
      });
      most = Math.max(most, rate >= 0 ? rate : Infinity);
    }
    return most;
  }

  #tools(cells: Cells, indices: readonly number[]): Readonly<Record<string, unknown>> {
    const { spacing } = this.target;
    return { ...cells.place(indices), ...Object.fromEntries(spacing.map((d, axis) => [`d${required(axisNames[axis])}`, d])) };
  }

  #member(
    s: number, { y, u, a, out }: Record<'y' | 'u' | 'a' | 'out', RealArray>, cells: Cells,
    { member, dt, h, g }: { readonly member: number; readonly dt: number; readonly h: number; readonly g: number },
  ): boolean {
    const { grid: { shape, cells: count, fields }, equation } = this;
    const admissible = equation.definition.admissible as Plain | undefined;
    const isLast = s === this.made.stages.length - 1;
    let isGood = true;
    for (let cell = 0; cell < count; cell += 1) {
      const indices = indicesOf(shape, cell);
      const at = (field: number): number => (member * fields + field) * count + cell;
      const made = this.#cell(s, cells, indices, {
        dt, h, g, y: (field) => elementAt(y, at(field)), u: (field) => elementAt(u, at(field)), a: (field) => elementAt(a, at(field)),
      });
      made.sums.forEach((value, field) => { a[at(field)] = value; });
      made.values.forEach((value, field) => { out[at(field)] = value; });
      if (!isLast) continue;
      const state = Object.fromEntries(equation.fields.map((name, i) => [name, elementAt(made.values, i)]));
      isGood &&= made.values.every(Number.isFinite) && (admissible === undefined || admissible(state, cells.parameters) === true);
    }
    return isGood;
  }

  /** One cell of one stage. */
  #cell(s: number, cells: Cells, indices: readonly number[], own: {
    readonly dt: number; readonly h: number; readonly g: number;
    readonly y: (field: number) => number; readonly u: (field: number) => number; readonly a: (field: number) => number;
  }): { readonly values: readonly number[]; readonly sums: readonly number[] } {
    const { equation: { fields, coefficients, definition, method }, target: { spacing } } = this;
    const moved = (offsets: readonly number[]): readonly number[] => indices.map((index, axis) => index + (offsets[axis] ?? 0));
    const readers = Object.fromEntries([
      ...fields.map((name, i) => [name, (...offsets: number[]) => cells.field(i, moved(offsets))] as const),
      ...coefficients.map((name, i) => [name, (...offsets: number[]) => cells.coefficient(i, moved(offsets))] as const),
    ]);
    const tools = {
      ...this.#tools(cells, indices),
      laplacian: (field: (...offsets: number[]) => number) => laplacianOf(spacing, (offset) => field(...offset), plainArithmetic),
    };
    if (method === undefined) {
      const step = (definition.step as unknown as readonly Plain[])[s];
      const before = Object.fromEntries(fields.map((name, i) => [name, () => own.u(i)]));
      const values = required(step)(readers, cells.parameters, { ...tools, dt: own.dt, before }) as Fields;
      return { values: fields.map((name) => required(values[name])), sums: [] };
    }
    const rates = (definition.rate as unknown as Plain)(readers, cells.parameters, tools) as Fields;
    const stage: MethodStage = required(methodStages[method][s]);
    const of = (formula: MethodStage['value']): readonly number[] => fields.map((name, i) => formula(plainArithmetic, {
      y: () => own.y(i), u: () => own.u(i), a: () => own.a(i), k: required(rates[name]), h: () => own.h, g: () => own.g,
    }));
    return { values: of(stage.value), sums: stage.sum === undefined ? [] : of(stage.sum) };
  }
}

// Which cells of a state are not finite or not admissible.
import { elementAt } from '../core/known.ts';
import { Machine } from '../kernel/interpret.ts';
import type { StencilProgram } from './compile/stages.ts';
import type { Grid } from './engines/span.ts';
import type { Equation, RealArray } from './types.ts';

/** What a check of a state needs to know. */
export interface Checked {
  readonly grid: Grid;
  readonly equation: Equation;
  readonly made: StencilProgram;
  /** [member][parameter] */
  readonly parameters: Float64Array;
}

/** The first bad cell. */
export interface BadCell {
  /** The member of the ensemble. */
  readonly problem: number;
  /** Its index along each axis. */
  readonly place: readonly number[];
  /** The fields there, in words. */
  readonly values: string;
  /** Whether all of them are finite: they are then not admissible. */
  readonly isFinite: boolean;
  /** All members that have a bad cell, in order. */
  readonly members: readonly number[];
}

/** Whether the fields of a cell of a member are admissible; numbers that are not finite have been found before. */
function admissibility({ equation, made, parameters: all }: Checked): (values: readonly number[], member: number) => boolean {
  const { definition: { admissible }, fields, parameters } = equation;
  const own = (member: number, i: number): number => elementAt(all, member * parameters.length + i);
  if (typeof admissible === 'function') {
    return (values, member) => (admissible as (...of: unknown[]) => boolean)(
      Object.fromEntries(fields.map((name, i) => [name, elementAt(values, i)])),
      Object.fromEntries(parameters.map((name, i) => [name, own(member, i)])));
  }
  if (!made.isChecked) return () => true;
  const { check: { f, inputs } } = made; // a text: the function that it was compiled to
  const machine = new Machine({ ...made.program, functions: [f], buffers: [] }, { limit: Infinity });
  const scalar = (member: number, name: string): number => own(member, Number(name.slice(1)));
  return (values, member) =>
    machine.call(f.name, [...values, ...inputs.map((input) => ('name' in input ? scalar(member, input.name) : 0))])[0] === 1;
}

/** The first cell that is not finite or not admissible. */
export function firstBad(of: Checked, numbers: RealArray): BadCell | undefined {
  const { grid: { shape, cells, members, fields }, equation } = of;
  const isAdmissible = admissibility(of);
  const bad: number[] = [];
  let first: Omit<BadCell, 'members'> | undefined;
  for (let member = 0; member < members; member += 1) {
    for (let cell = 0; cell < cells; cell += 1) {
      const values = Array.from({ length: fields }, (_, field) => elementAt(numbers, (member * fields + field) * cells + cell));
      if (values.every(Number.isFinite) && isAdmissible(values, member)) continue;
      bad.push(member);
      first ??= {
        problem: member, isFinite: values.every(Number.isFinite),
        values: equation.fields.map((name, i) => `${name} = ${elementAt(values, i)}`).join(', '),
        place: shape.map((extent, axis) => Math.floor(cell / shape.slice(axis + 1).reduce((a, b) => a * b, 1)) % extent),
      };
      break;
    }
  }
  return first && { ...first, members: bad };
}

// Totals of the states of `stencil` jobs: mass and energy where the library's equation has them, and else the total of every field.
import { elementAt } from '../../core/known.ts';
import type { FrameState } from '../frame.ts';
import { fieldTotals, integral, squaredGradient, type Totals } from '../totals.ts';
import type { LibraryName } from './library.ts';
import type { StencilJob } from './schema.ts';

type TotalsOf = (state: FrameState, job: StencilJob) => Totals;

/** A field's value in a cell; 0 for a field that the equation does not have in these dimensions. */
const valueOf = ({ fields }: FrameState, name: string, cell: number): number => {
  const values = fields[name];
  return values === undefined ? 0 : elementAt(values, cell);
};

const square = (value: number): number => value * value;

/** Half the integral of the squares of fields. */
const halfSquares = (state: FrameState, names: readonly string[]): number =>
  integral(state, (cell) => 0.5 * names.reduce((sum, name) => sum + square(valueOf(state, name, cell)), 0));

const kinetic: TotalsOf = (state) => ({ ...fieldTotals(state), totalEnergy: halfSquares(state, ['u']) });

const gas: TotalsOf = (state) => ({
  totalMass: integral(state, (cell) => valueOf(state, 'rho', cell)), totalEnergy: integral(state, (cell) => valueOf(state, 'E', cell)),
});

const totals: Partial<Record<LibraryName, TotalsOf>> = {
  burgers: kinetic, 'kuramoto-sivashinsky': kinetic, euler: gas, 'euler-weno5': gas,
  'shallow-water': (state, { parameters: { g = NaN } = {} }) => ({
    totalMass: integral(state, (cell) => valueOf(state, 'h', cell)),
    totalEnergy: integral(state, (cell) => {
      const h = valueOf(state, 'h', cell), flow = square(valueOf(state, 'hu', cell)) + square(valueOf(state, 'hv', cell));
      return 0.5 * (g * h * h + (h > 0 ? flow / h : 0));
    }),
  }),
  wave: (state, { parameters: { c = NaN } = {}, boundary = 'periodic' }) => {
    const tension = squaredGradient(state, state.fields['u'] ?? [], boundary === 'periodic');
    return { totalEnergy: halfSquares(state, ['v']) + 0.5 * c * c * tension };
  },
  maxwell: (state, { coefficients }) => {
    const eps = state.axes.length === 3 ? 1 : coefficients?.['eps'];
    const magnetic = halfSquares(state, ['Hx', 'Hy', 'Hz']);
    return typeof eps === 'number' ? { totalEnergy: eps * halfSquares(state, ['Ex', 'Ey', 'Ez']) + magnetic } : fieldTotals(state);
  },
};

/** Totals of a state. */
export function stencilTotals(job: StencilJob, state: FrameState): Totals {
  const own = typeof job.equation === 'string' ? totals[job.equation] : undefined;
  return own === undefined ? fieldTotals(state) : own(state, job);
}

// The `simulate` job: heat, Kuramoto–Sivashinsky and Euler in one dimension.
import { elementAt } from '../../core/known.ts';
import type { FrameState } from '../frame.ts';
import type { JobKind } from '../kind.ts';
import { simulateJobSchema } from '../simulate/schema.ts';
import { fieldTotals, integral, type Totals } from '../totals.ts';

/** Totals of a state: of a gas, mass and energy. */
function totals(state: FrameState): Totals {
  const { density, energy } = state.fields;
  if (density === undefined || energy === undefined) return fieldTotals(state);
  return {
    totalMass: integral(state, (cell) => elementAt(density, cell)), totalEnergy: integral(state, (cell) => elementAt(energy, cell)),
  };
}

/** The kind `simulate`; the modules it needs (the reader and writer of Zarr) are loaded by the first item. */
export const simulateKind: JobKind<'simulate', typeof simulateJobSchema> = {
  kind: 'simulate', schema: simulateJobSchema,
  inputs: ({ initial }) => ({ 'initial.file': typeof initial === 'object' && 'file' in initial ? initial.file : undefined }),
  totals: (_, state) => totals(state),
  run: async (job, context) => (await import('../simulate/item.ts')).simulateItem(job, context),
  recolour: async (job, context, colours) => (await import('../simulate/draw.ts')).redrawMaps(job, context.folder, colours),
};

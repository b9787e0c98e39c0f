// The `stencil` job: an equation of the user's on a grid.
import type { JobKind } from '../kind.ts';
import { stencilTotals } from '../stencil/totals.ts';
import { stencilJobSchema, type StencilJob } from '../stencil/schema.ts';

function filesOf(field: string, values: StencilJob['initial']): [string, unknown][] {
  return Object.entries(values ?? {}).map(([name, value]) => [`${field}.${name}.file`, typeof value === 'object' ? value.file : undefined]);
}

/** The kind `stencil`; what it needs is loaded by the first item. */
export const stencilKind: JobKind<'stencil', typeof stencilJobSchema> = {
  kind: 'stencil', schema: stencilJobSchema,
  inputs: ({ equation, initial, coefficients }) => ({
    'equation.file': typeof equation === 'object' && 'file' in equation ? equation.file : undefined,
    ...Object.fromEntries([...filesOf('initial', initial), ...filesOf('coefficients', coefficients)]),
  }),
  runsCode: ({ equation }) => typeof equation === 'object' && 'file' in equation,
  moreInputs: async (job, resolve) => {
    await (await import('../stencil/plan.ts')).planOf(job, resolve); // refuses what is wrong before anything runs
    return [];
  },
  totals: stencilTotals,
  run: async (job, context) => (await import('../stencil/item.ts')).stencilItem(job, context),
  recolour: async (job, context, colours) => (await import('../stencil/pictures.ts')).redrawMaps(job, context, colours),
};

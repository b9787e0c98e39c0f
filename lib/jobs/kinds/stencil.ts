// The `stencil` job: an equation of the user's on a grid.
import { canonical } from '../canonical.ts';
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
  together: {
    // Members of an ensemble have one step; a step of varying length would be the shortest that one of them needs.
    key: ({ dt, variant, parameters: _, initial: __, ...rest }) =>
      (typeof dt === 'object' || variant === 'swept' ? undefined : canonical({ dt, variant, ...rest })),
    numbers: async (job, resolve) => {
      const { dt, variant, shape, equation } = await (await import('../stencil/plan.ts')).planOf(job, resolve);
      return typeof dt === 'number' && variant !== 'swept' ? shape.reduce((a, b) => a * b, 1) * equation.fields.length : undefined;
    },
  },
  totals: stencilTotals,
  run: async (job, context) => (await import('../stencil/item.ts')).stencilItem(job, context),
  recolour: async (job, context, colours) => (await import('../stencil/pictures.ts')).redrawMaps(job, context, colours),
};

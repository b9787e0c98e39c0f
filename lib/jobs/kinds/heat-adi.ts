// The `heat-adi` job: the two-dimensional heat equation on a measured or drawn grid, as pictures.
import { heatAdiJobSchema } from '../heat-adi/schema.ts';
import type { JobKind } from '../kind.ts';
import { fieldTotals } from '../totals.ts';

/** The kind `heat-adi`; what it needs is loaded by the first item. */
export const heatAdiKind: JobKind<'heat-adi', typeof heatAdiJobSchema> = {
  kind: 'heat-adi', schema: heatAdiJobSchema,
  inputs: ({ initial }) => ({ 'initial.file': initial.file }),
  totals: (_, state) => fieldTotals(state),
  run: async (job, context) => (await import('../heat-adi/item.ts')).heatAdiItem(job, context),
  recolour: async (job, { folder }, colours) => (await import('../heat-adi/draw.ts')).redrawMaps(job, folder, colours),
};

// The `simulate` job: heat, Kuramoto–Sivashinsky and Euler in one dimension.
import type { JobKind } from '../kind.ts';
import { simulateJobSchema } from '../simulate/schema.ts';

/** The kind `simulate`; the modules it needs (the reader and writer of Zarr) are loaded by the first item. */
export const simulateKind: JobKind<'simulate', typeof simulateJobSchema> = {
  kind: 'simulate', schema: simulateJobSchema,
  inputs: ({ initial }) => ({ 'initial.file': typeof initial === 'object' && 'file' in initial ? initial.file : undefined }),
  run: async (job, context) => (await import('../simulate/item.ts')).simulateItem(job, context),
  recolour: async (job, context, colours) => (await import('../simulate/draw.ts')).redrawMaps(job, context.folder, colours),
};

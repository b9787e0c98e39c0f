// The `stream` job: a program in the StreamIt language over a file or a generated signal.
import type { JobKind } from '../kind.ts';
import { streamJobSchema } from '../stream/schema.ts';

/** The kind `stream`; its compiler is loaded by the first job. */
export const streamKind: JobKind<'stream', typeof streamJobSchema> = {
  kind: 'stream', schema: streamJobSchema,
  inputs: ({ program, input }) => ({ program, input }),
  moreInputs: async (job, resolve) => (await import('../stream/program.ts')).programFiles(job, resolve),
  run: async (job, context) => (await import('../stream/item.ts')).streamItem(job, context),
};

// The registry of job kinds: a new one is a file here and a line in the list.
import { z } from 'zod';
import type { JobKind } from '../kind.ts';
import { denoiseKind } from './denoise.ts';
import { heatAdiKind } from './heat-adi.ts';
import { registerKind } from './register.ts';
import { segmentKind } from './segment.ts';
import { simulateKind } from './simulate.ts';
import { solveKind } from './solve.ts';
import { splineKind } from './spline.ts';
import { stencilKind } from './stencil.ts';
import { streamKind } from './stream.ts';

/** All kinds, in the order of the published JSON Schema. */
const kinds = [
  solveKind, heatAdiKind, splineKind, simulateKind, stencilKind, denoiseKind, segmentKind, registerKind, streamKind,
] as const;

type Schemas<Kinds> = { [Place in keyof Kinds]: Kinds[Place] extends { readonly schema: infer Schema } ? Schema : never };

/** Any job file. */
export const jobSchema = z.discriminatedUnion('kind', kinds.map(({ schema }) => schema) as unknown as Schemas<typeof kinds>);
/** A job with all its defaults. */
export type Job = z.infer<typeof jobSchema>;
/** A job as it is written: fields with defaults may be omitted. */
export type JobDescription = z.input<typeof jobSchema>;

const kindsByName: ReadonlyMap<string, JobKind> = new Map(kinds.map((kind) => [kind.kind, kind as unknown as JobKind]));

/** The kind of a job; every job accepted by {@link jobSchema} has one. */
export function kindOf(job: Job): JobKind<Job['kind'], z.ZodType<Job>> {
  const kind = kindsByName.get(job.kind);
  if (kind === undefined) throw new Error(`no kind '${job.kind}'`);
  return kind as JobKind<Job['kind'], z.ZodType<Job>>;
}

/** The JSON Schema of job files (draft 2020-12), as published in examples/jobs/job.schema.json. */
export function jobJsonSchema(): object {
  return { title: 'Warploom job', ...z.toJSONSchema(jobSchema, { io: 'input' }) };
}

// The namespace `jobs` of the package: computations on files, described by data.
export { items, jsonSchema, load, run, schema } from './run.ts';
export type { ItemsOptions, JobOptions } from './run.ts';
export type { ItemResult, RunEvent, SweepProgress } from './events.ts';
export { submit, work } from './submit.ts';
export type { QueueOptions, SubmitOptions, WorkOptions, Worked } from './queue/options.ts';
export type { Frame, FrameAxis } from './frame.ts';
export type { InputDigest } from './hash.ts';
export type { ItemState } from './items.ts';
export type { Job, JobDescription } from './kinds/index.ts';
export type { ColourRange, InputFile, ItemReport } from './kind.ts';
export type { LoadOptions } from './load.ts';
export type { JobItem, LoadedJob } from './loaded.ts';
export type { RunOptions, Shard } from './runner.ts';
export type { Ensembles } from './groups.ts';

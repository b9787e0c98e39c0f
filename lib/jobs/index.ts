// The namespace `jobs` of the package: computations on files, described by data.
export { jsonSchema, run } from './run.ts';
export type { JobOptions } from './run.ts';
export type { JobDescription } from './kinds/index.ts';
export type { ItemReport } from './kind.ts';
export type { ItemResult, RunEvent, RunOptions } from './runner.ts';

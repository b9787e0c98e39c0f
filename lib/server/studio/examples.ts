// Jobs that a form can begin with: those of examples/jobs that need no files.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFolder, readText, unlessAbsent } from '../../core/files.ts';
import { jobSchema, kindOf } from '../../jobs/kinds/index.ts';

/** The folder of examples, from this file as it is in the package and in a checkout. */
const folder = join(dirname(fileURLToPath(import.meta.url)), '../../../examples/jobs');

/** A job as it is in its file. */
type Example = Readonly<Record<string, unknown>>;

async function exampleOf(name: string): Promise<Example | undefined> {
  const example = JSON.parse(await readText(`${folder}/${name}`)) as Example;
  const checked = jobSchema.safeParse(example);
  if (!checked.success) return undefined;
  const needsFiles = Object.values(kindOf(checked.data).inputs(checked.data)).some((value) => typeof value === 'string');
  if (needsFiles || kindOf(checked.data).runsCode?.(checked.data) === true) return undefined;
  return Object.fromEntries(Object.entries(example).filter(([field]) => field !== '$schema'));
}

/** All of them, in the order of their names. */
export async function jobExamples(): Promise<{ readonly jobs: readonly Example[] }> {
  const entries = await unlessAbsent(listFolder(folder)) ?? [];
  const names = entries.map(({ name }) => name).filter((name) => name.endsWith('.json') && !name.endsWith('.schema.json')).sort();
  const jobs = await Promise.all(names.map(exampleOf));
  return { jobs: jobs.filter((job) => job !== undefined) };
}

// The hash of an item, generated from the published schema: every field and every byte of every input counts, whatever the kind of
// job, and a changed input is never answered with, or continued from, what stood there before.
import { deepStrictEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatNpy } from '../../lib/files/npy.ts';
import { digestInputs, hashItem } from '../../lib/jobs/hash.ts';
import { loadJob } from '../../lib/jobs/load.ts';
import type { RunEvent } from '../../lib/jobs/events.ts';
import { runJob } from '../../lib/jobs/runner.ts';
import { jobSchema } from '../../lib/jobs/kinds/index.ts';
import { writeImage } from '../../lib/imaging/index.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly default?: unknown;
}

const published = JSON.parse(await readFile(fileURLToPath(new URL('../../examples/jobs/job.schema.json', import.meta.url)), 'utf8')) as Schema;
const branchesOf = (schema: Schema): readonly Schema[] => schema.anyOf ?? schema.oneOf ?? [];

/** Values that a schema admits, some of each branch; numbers differ from one another and from defaults. */
function samples(schema: Schema): unknown[] {
  if (branchesOf(schema).length > 0) return branchesOf(schema).flatMap(samples);
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum !== undefined) return [...schema.enum];
  switch (schema.type) {
    case 'boolean': return [true, false];
    case 'string': return ['one', 'another'];
    case 'array': {
      if (schema.prefixItems !== undefined) return [schema.prefixItems.map((_, i) => i + 0.25), schema.prefixItems.map((_, i) => i + 0.5)];
      const [one, two = one] = samples(schema.items!);
      const length = Math.max(1, schema.minItems ?? 1);
      return [Array(length).fill(one), Array(length).fill(two)];
    }
    case 'object': {
      const fields = Object.entries(schema.properties ?? {});
      const base = Object.fromEntries(fields.filter(([name]) => schema.required?.includes(name)).map(([name, part]) => [name, samples(part)[0]]));
      return [base, ...fields.flatMap(([name, part]) => samples(part).map((value) => ({ ...base, [name]: value })))];
    }
    default: {
      const low = Math.max(schema.minimum ?? 0.25, schema.exclusiveMinimum === undefined ? -Infinity : schema.exclusiveMinimum + 0.25);
      const whole = schema.type === 'integer';
      return (whole ? [Math.ceil(low), Math.ceil(low) + 1, Math.ceil(low) + 2] : [low, low + 0.125, low + 0.25])
        .filter((value) => value <= (schema.maximum ?? Infinity));
    }
  }
}

type Values = Record<string, unknown>;

/** A right job of each kind and equation, small enough to run. */
const bases: Record<string, Values> = {
  solve: { kind: 'solve', lower: 'lower.npy', diagonal: 'diagonal.npy', upper: 'upper.npy', rhs: 'rhs.npy' },
  'heat-adi': { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 0.5, steps: 6, snapshots: 3 },
  spline: { kind: 'spline', file: 'series.csv', x: 'x', y: ['y'] },
  heat: { kind: 'simulate', equation: 'heat', n: 21, dt: 1e-4, until: { steps: 5 }, initial: { file: 'rod.npy' }, snapshots: 2 },
  'kuramoto-sivashinsky': {
    kind: 'simulate', equation: 'kuramoto-sivashinsky', n: 21, dx: 0.5, dt: 0.001, until: { steps: 5 }, initial: { file: 'rod.npy' }, snapshots: 2,
  },
  euler: { kind: 'simulate', equation: 'euler', n: 21, dt: 1e-4, until: { steps: 5 }, initial: { file: 'gas.npy' }, snapshots: 2 },
  denoise: { kind: 'denoise', input: 'one.png', weight: 0.1, iterations: 20 },
  segment: { kind: 'segment', input: 'one.png', truth: 'mask.png', iterations: 5 },
  register: { kind: 'register', reference: 'one.png', template: 'two.png', landmarks: 'marks.npy', iterations: 3, levels: 1 },
  stream: { kind: 'stream', program: 'p.str', input: 'in.txt', output: 'out.txt' },
};

/** Each input of each job, with a way to change what is in it; all stay right. */
const inputs: Record<string, readonly string[]> = {
  solve: ['lower.npy', 'diagonal.npy', 'upper.npy', 'rhs.npy'], 'heat-adi': ['grid.npy'], spline: ['series.csv'], heat: ['rod.npy'],
  'kuramoto-sivashinsky': ['rod.npy'], euler: ['gas.npy'], denoise: ['one.png'], segment: ['one.png', 'mask.png'],
  register: ['one.png', 'two.png', 'marks.npy'], stream: ['p.str', 'in.txt', 'words.dat'],
};


describe('hashes of items', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-hash-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const npy = (name: string, shape: number[], value: (i: number) => number) =>
    writeFile(join(folder, name), formatNpy({ type: 'float64', shape, data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => value(i)) }));
  const picture = (name: string, shift: number) =>
    writeImage(join(folder, name), {
      width: 16, height: 16, data: Float32Array.from({ length: 256 }, (_, i) => Math.hypot(i % 16 - 8 + shift, Math.floor(i / 16) - 8) / 16),
    });
  const writers: Record<string, (version: number) => Promise<unknown>> = {
    'lower.npy': (v) => npy('lower.npy', [6], () => -1 - 0.01 * v),
    'diagonal.npy': (v) => npy('diagonal.npy', [6], (i) => 4 + i + v),
    'upper.npy': (v) => npy('upper.npy', [6], () => -1 + 0.01 * v),
    'rhs.npy': (v) => npy('rhs.npy', [2, 6], (i) => i + v),
    'grid.npy': (v) => npy('grid.npy', [4, 5], (i) => i * (1 + v)),
    'series.csv': (v) => writeFile(join(folder, 'series.csv'), `x,y\n${Array.from({ length: 9 }, (_, i) => `${i},${i * i + v}`).join('\n')}\n`),
    'rod.npy': (v) => npy('rod.npy', [21], (i) => Math.sin(i + v)),
    'gas.npy': (v) => npy('gas.npy', [63], (i) => [1 + 0.01 * (i % 5) + 0.1 * v, 0.1, 3][Math.floor(i / 21)]!),
    'one.png': (v) => picture('one.png', v),
    'two.png': (v) => picture('two.png', v + 1),
    'mask.png': async (v) => writeImage(join(folder, 'mask.png'), { width: 16, height: 16, data: Float32Array.from({ length: 256 }, (_, i) => Number(i % 16 > 4 + v)) }),
    'marks.npy': (v) => npy('marks.npy', [2, 2, 2], (i) => 3 + i + v),
    'in.txt': (v) => writeFile(join(folder, 'in.txt'), `1 2 3 ${4 + v}`),
    'words.dat': (v) => writeFile(join(folder, 'words.dat'), Buffer.from(new Float32Array([1, 2, 3, 4 + v]).buffer)),
    'p.str': (v) => writeFile(join(folder, 'p.str'), `float->float filter Scale() { work pop 1 push 1 { push(pop() * ${v + 2}.0); } }
float->float splitjoin Beside() { split roundrobin(1, 0); add Scale(); add FileReader<float>("words.dat"); join roundrobin(1, 1); }
float->float pipeline Main() { add Beside(); }
`),
  };
  const write = async (name: string, changes: Values = {}): Promise<string> => {
    const path = join(folder, 'job.json');
    await writeFile(path, JSON.stringify({ name: 'job', device: { backend: 'cpu' }, ...bases[name], ...changes }));
    return path;
  };
  const hashOf = async (name: string, changes: Values = {}): Promise<string> => (await loadJob(await write(name, changes))).items[0]!.hash;
  const run = async (name: string, results = 'results'): Promise<string[]> => {
    const events: string[] = [];
    const onProgress = (event: RunEvent) => events.push(event.event);
    await runJob(await loadJob(await write(name)), { results: join(folder, results), onProgress });
    return events.filter((event) => event !== 'progress');
  };
  const prepare = async (): Promise<void> => {
    for (const make of Object.values(writers)) await make(0);
  };

  it('change with every field of the published schema', async () => {
    await prepare();
    for (const name of ['one', 'another', '1', '2']) await writeFile(join(folder, name), name);
    let changed = 0;
    for (const [name, base] of Object.entries(bases)) {
      const { kind, equation } = base;
      const all = branchesOf(published).flatMap((schema) => (branchesOf(schema).length > 0 ? branchesOf(schema) : [schema]));
      const schema = all.find(({ properties }) => properties!['kind']!.const === kind && (equation === undefined || properties!['equation']!.const === equation))!;
      const before = jobSchema.parse({ name: 'job', device: { backend: 'cpu' }, ...base });
      const resolve = (path: string) => join(folder, path);
      const known = await digestInputs(before, resolve);
      const seen = new Map([[hashItem(before, known), JSON.stringify(before)]]);
      for (const [field, part] of Object.entries(schema.properties!)) {
        if (['$schema', 'sweep', 'colours', 'kind', 'equation'].includes(field)) continue;
        const found = new Set<string>();
        for (const value of [...samples(part), ...(field === 'name' ? ['other'] : [])]) {
          const parsed = jobSchema.safeParse({ name: 'job', device: { backend: 'cpu' }, ...base, [field]: value });
          if (!parsed.success) continue;
          const hash = hashItem(parsed.data, known); // of the parameters alone: the bytes of inputs come below
          const text = JSON.stringify(parsed.data);
          ok(!seen.has(hash) || seen.get(hash) === text, `${name}: ${text} and ${seen.get(hash)}`);
          seen.set(hash, text);
          if (text !== JSON.stringify(before)) found.add(hash);
        }
        ok(found.size > 0, `${name}.${field}: no other value tried`);
        changed += found.size;
      }
      const idle = { $schema: './x.json', ...('colours' in schema.properties! ? { colours: 'own' } : {}) };
      equal(hashItem(jobSchema.parse({ name: 'job', device: { backend: 'cpu' }, ...base, ...idle }), known), [...seen.keys()][0]);
    }
    ok(changed >= 300, `only ${changed} changes`);
  });

  it('change with the bytes of every input, and with nothing else', async () => {
    await prepare();
    for (const [name, files] of Object.entries(inputs)) {
      const before = await hashOf(name);
      equal(await hashOf(name), before);
      deepStrictEqual((await loadJob(await write(name))).items[0]!.inputs.map(({ path }) => path.slice(folder.length + 1)).sort(), [...files].sort());
      for (const file of files) {
        await writers[file]!(1);
        notEqual(await hashOf(name), before, `${name}: ${file}`);
        await writers[file]!(0);
        equal(await hashOf(name), before, `${name}: ${file} as it was`);
      }
    }
  });

  it('tell bytes in one file from the same bytes in the next', async () => {
    const of = async (a: string, b: string): Promise<string> => {
      await mkdir(join(folder, 'series'), { recursive: true });
      for (const [file, text] of [['a', a], ['b', b]] as const) await writeFile(join(folder, 'series', file), text);
      const job = jobSchema.parse({ name: 'x', kind: 'denoise', input: 'series' });
      return hashItem(job, await digestInputs(job, (path) => join(folder, path)));
    };
    notEqual(await of('12', '3'), await of('1', '23'));
  });

  for (const [name, files] of Object.entries(inputs)) {
    it(`${name}: unchanged is skipped, a changed input runs anew to what an empty folder gives`, async () => {
      await prepare();
      deepStrictEqual(await run(name), ['started', 'finished']);
      deepStrictEqual(await run(name), ['skipped']);
      for (const [k, file] of files.entries()) {
        await writers[file]!(1);
        deepStrictEqual(await run(name), ['started', 'finished'], file);
        deepStrictEqual(await run(name, `fresh-${k}`), ['started', 'finished']);
        deepStrictEqual(await run(name), ['skipped']);
        const result = JSON.parse(await readFile(join(folder, `fresh-${k}`, 'job', 'all', 'result.json'), 'utf8')) as { files: string[] };
        for (const written of result.files) {
          if (!/\.(npy|png|txt)$/.test(written)) continue;
          const [here, there] = ['results', `fresh-${k}`].map((place) => join(folder, place, 'job', 'all', written));
          deepStrictEqual(await readFile(here!), await readFile(there!), `${file}: ${written}`);
        }
      }
    });
  }

  it('a killed run is not continued when its input has changed, and its input may not change while it runs', async () => {
    await prepare();
    bases['heat-adi'] = { ...bases['heat-adi'], steps: 60, snapshots: 60 };
    const stopAt = async (step: number, atStop: () => Promise<unknown>): Promise<void> => {
      const stop = new AbortController();
      const loaded = await loadJob(await write('heat-adi'));
      const onProgress = (event: RunEvent) => { if (event.event === 'progress' && event.done === step) stop.abort(new Error('stopped')); };
      await runJob(loaded, { results: join(folder, 'results'), onProgress, signal: stop.signal }).catch(() => undefined);
      await atStop();
    };
    await stopAt(30, () => writers['grid.npy']!(1));
    deepStrictEqual(await run('heat-adi'), ['started', 'finished']);
    await run('heat-adi', 'fresh');
    deepStrictEqual(await readFile(join(folder, 'results/job/all/final.npy')), await readFile(join(folder, 'fresh/job/all/final.npy')));
    const loaded = await loadJob(await write('heat-adi', { steps: 61 }));
    let written: Promise<unknown> | undefined;
    const error = await runJob(loaded, {
      results: join(folder, 'results'), onProgress: (event) => { if (event.event === 'progress') written ??= writers['grid.npy']!(2); },
    }).then(() => undefined, (thrown: unknown) => thrown as Error & { code: string });
    await written;
    equal(error?.code, 'ERR_WARPLOOM_FILE');
    match(error.message, /initial\.file.*grid\.npy.*changed/);
    const after = JSON.parse(await readFile(join(folder, 'results/job/all/result.json'), 'utf8')) as { parameters: { steps: number } };
    equal(after.parameters.steps, 60, 'the refused run wrote no result');
  });
});

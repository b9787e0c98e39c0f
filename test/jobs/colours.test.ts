// The maps of a sweep: one range of colours for all items.
import { deepStrictEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode } from 'fast-png';
import { jobs } from '../../lib/index.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { sharedColours } from '../../lib/jobs/colours.ts';

describe('colours of a sweep', function () {
  this.timeout(60_000);
  let folder = '';
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-colours-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const device = { backend: 'cpu' } as const;
  const plate: jobs.JobDescription = {
    kind: 'stencil', name: 'plate', equation: 'heat', shape: [8, 6], dt: 0.1, until: { steps: 4 }, snapshots: 2, parameters: { D: 1 },
    initial: { u: '(x, y) => x * y' }, boundary: 'periodic', film: true, device, sweep: { 'initial.u': [1, 2, '(x, y) => x * y - 4'] },
  };
  const text = (...path: string[]): Promise<string> => readFile(join(folder, ...path), 'utf8');

  /** Labels of the first colour bar of an SVG. */
  const labels = (svg: string): string =>
    [.../role-legend-label.*?<\/g>/.exec(svg)![0].matchAll(/>([^<>]+)<\/text>/g)].map(([, label]) => label).join();

  /** All files of a folder by name. */
  async function filesOf(place: string): Promise<Record<string, Buffer>> {
    const found = (await readdir(place, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return Object.fromEntries(await Promise.all(found.sort().map(async (path) => [path.slice(place.length), await readFile(path)] as const)));
  }

  it('are the same however it is divided, and grow with it; each item keeps its own where that is asked for', async () => {
    const run = (name: string, more: object = {}, options: object = {}) =>
      jobs.run({ ...plate, ...more } as jobs.JobDescription, { results: join(folder, name), ...options });
    const made = await run('whole');
    const names = await readdir(join(folder, 'whole', 'plate'));
    const folders = made.map(({ item }) => item);
    deepStrictEqual(names.filter((name) => !name.startsWith('summary')).sort(), [...folders].sort());
    const own = made.map(({ colours }) => colours!);
    deepStrictEqual(own[0], { 'fields.svg': { u: [1, 1] }, 'film.svg': { u: [1, 1] } });
    equal(own[2]!['film.svg']!['u']![0], -3.75);
    const wanted = JSON.parse(await text('whole', 'plate', folders[0]!, 'colours.json')) as object;
    deepStrictEqual(wanted, sharedColours(made));
    for (const picture of ['fields.svg', 'film.svg']) {
      const bars = await Promise.all(folders.map(async (item) => labels(await text('whole', 'plate', item, picture))));
      deepStrictEqual(bars, bars.map(() => bars[0]), picture);
      match(bars[0]!, /,.*,/);
    }
    const { colours } = JSON.parse(await text('whole', 'plate', folders[0]!, 'result.json')) as jobs.ItemResult;
    deepStrictEqual(colours, own[0], 'results say the range of their own');
    // Two shards, the second of which takes up what the first has left; then once more, with nothing to do.
    await run('shards', {}, { shard: { index: 1, count: 2 } });
    await run('shards', {}, { shard: { index: 2, count: 2 } });
    const pictures = async (name: string) => Object.fromEntries(Object.entries(await filesOf(join(folder, name, 'plate')))
      .filter(([path]) => /\.(svg|png)$|colours\.json$/.test(path) && !path.includes('summary')));
    const whole = await pictures('whole');
    deepStrictEqual(await pictures('shards'), whole);
    const time = async () => (await stat(join(folder, 'shards', 'plate', folders[0]!, 'fields.svg'))).mtimeMs;
    const before = await time();
    await run('shards');
    equal(await time(), before, 'nothing is drawn twice');
    // Fewer items at first; a picture that was drawn by itself; then colours of each item.
    await run('grown', { sweep: { 'initial.u': [1, 2] } });
    notEqual(String((await pictures('grown'))[`/${folders[0]}/fields.svg`]), String(whole[`/${folders[0]}/fields.svg`]));
    await run('grown');
    deepStrictEqual(await pictures('grown'), whole);
    await writeFile(join(folder, 'grown', 'plate', folders[1]!, 'colours.json'), 'rubbish');
    await run('grown');
    deepStrictEqual(await pictures('grown'), whole);
    await run('grown', { colours: 'own' });
    deepStrictEqual(JSON.parse(await text('grown', 'plate', folders[1]!, 'colours.json')), own[1]);
    notEqual(labels(await text('grown', 'plate', folders[1]!, 'film.svg')), labels(await text('whole', 'plate', folders[1]!, 'film.svg')));
  });

  it('are shared by the other kinds with maps: heat on a plate, and equations over space and time', async () => {
    for (const [name, top] of [['low', 1], ['high', 10]] as const) {
      await writeFile(join(folder, `${name}.npy`), formatNpy({ type: 'float64', shape: [3, 4], data: Float64Array.from({ length: 12 }, (_, i) => (top * i) / 11) }));
    }
    const heat = await jobs.run({
      kind: 'heat-adi', name: 'adi', initial: { file: 'low.npy' }, dt: 0.1, steps: 2, snapshots: 2, device,
      sweep: { 'initial.file': ['low.npy', 'high.npy'] },
    }, { folder, results: folder });
    const bars = await Promise.all(heat.flatMap(({ item, files }) =>
      files.filter((file) => file.endsWith('.svg')).map(async (file) => labels(await text('adi', item, file)))));
    equal(bars.length, 6);
    deepStrictEqual(bars, bars.map(() => bars[0]));
    match(bars[0]!, /10$|10,/);
    // The brightest pixel of the low plate is dark on the scale of both.
    const png = /base64,([^"]+)/.exec(await text('adi', heat[0]!.item, 'heat-000.svg'))![1]!;
    const { data } = decode(Buffer.from(png, 'base64'));
    ok(Math.max(...data) < 130, String(Math.max(...data)));
    const rods = await jobs.run({
      kind: 'simulate', name: 'rods', equation: 'heat', n: 9, dx: 1, dt: 0.2, until: { steps: 4 }, snapshots: 2, device,
      initial: { kind: 'cosine', mode: 1 }, sweep: { 'initial.amplitude': [1, 3] }, boundary: 'reflective',
    }, { results: folder });
    const own = rods.map(({ colours }) => colours!['space-time.svg']!['u']!);
    ok(own[1]![1] > 2 * own[0]![1]);
    const shown = await Promise.all(rods.map(({ item }) => text('rods', item, 'space-time.svg')));
    equal(labels(shown[0]!), labels(shown[1]!));
    equal(shown[0]!.replace(/base64,[^"]+/g, '').replace(/id="[^"]+"/g, ''), shown[1]!.replace(/base64,[^"]+/g, '').replace(/id="[^"]+"/g, ''));
  });
});

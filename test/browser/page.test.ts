// The library in a page: WebAssembly in a real browser gives the bits that the addon gives here.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as library from '../../lib/index.ts';
import { packageRoot } from '../../lib/core/binding.ts';
import { skipCases } from '../support/backends.ts';
import { chromium, openPage, type Served } from '../support/browser.ts';
import { noWasm } from '../support/wasm.ts';

/** What both compute: a function whose text runs in the page too. Arrays of bits, by name. */
async function computed(warploom: Pick<typeof library, 'kernel' | 'openDevice' | 'scan' | 'stencil' | 'swept' | 'tridiagonal'>) {
  const { kernel, openDevice, scan, stencil, swept, tridiagonal } = warploom;
  let state = 12345;
  const random = (length: number) => Float64Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  const device = await openDevice({ backend: 'cpu' });
  const results: Record<string, ArrayLike<number>> = {};
  for (const [n, batch] of [[1, 1], [3, 2], [37, 19], [512, 40]] as const) {
    const [lower, upper, rhs] = [random(n * batch), random(n * batch), random(n * batch)];
    const diagonal = random(n * batch).map((value) => 3 + value);
    const { solution, status } = await tridiagonal.solve({ lower, diagonal, upper, rhs, n, batch, check: true, device });
    results[`solve ${n}`] = solution as Float64Array;
    results[`status ${n}`] = [Number(status.allOk)];
  }
  for (const precision of ['float32', 'float64'] as const) {
    const rod = await swept.heat({ n: 301, dx: 1, dt: 0.25, initial: 'parabola', precision, device });
    await rod.advance(200);
    results[`heat ${precision}`] = await rod.read();
    rod.dispose();
  }
  results.scan = (await scan(random(1000), { device })).result as Float64Array;
  const equation = stencil.define({ dimensions: 2, fields: ['u'], parameters: ['D'],
    rate: ({ u }, { D }, { laplacian }) => ({ u: D! * laplacian(u!) + Math.sin(u!()) }), method: 'euler' });
  const run = await stencil.simulate(equation, { shape: [40, 33], dt: 0.1, parameters: { D: 1 }, initial: { u: (x, y) => x * y / 100 },
    backend: 'wasm' });
  await run.advance(64);
  results.equation = (await run.state()).u!;
  run.dispose();
  const x = random(100_000);
  results.map = await kernel.map((a, b) => Math.exp(a) / (2 + Math.sin(b)), [x, x]) as Float64Array;
  results.sum = [await kernel.reduce((a) => a * a, [x], 'sum') as number];
  await device.close();
  return Object.fromEntries(Object.entries(results).map(([name, values]) => [name, Array.from(values)]));
}

describe('in a browser', function () {
  this.timeout(120_000);
  if (chromium === undefined) return skipCases('no Chromium', 2);
  if (noWasm !== undefined) return skipCases(noWasm, 2);
  let served: Served | undefined;

  before(async () => {
    const { buildBrowser } = await import(pathToFileURL(join(packageRoot(), 'scripts/build-browser.mjs')).href) as
      { buildBrowser(): Promise<string> };
    await buildBrowser();
    served = await openPage(packageRoot());
  });
  after(() => served?.close());

  it('solves and simulates with the bits of the addon', async () => {
    const here = await computed(library);
    const there = await served!.page.evaluate(`globalThis.__name = (f) => f; import('/dist/browser/index.js').then(${computed.toString()})`);
    ok(Object.keys(here).length > 12);
    deepStrictEqual(there, here);
    deepStrictEqual(served!.errors, []);
  });

  it('says where the module has to be, and takes it from elsewhere', async () => {
    const page = await served!.page.context().newPage();
    await page.goto(served!.page.url());
    await page.route('**/prebuilds/**', (route) => route.fulfill({ status: 404 }));
    const said = await page.evaluate(`import('/dist/browser/index.js').then(async ({ devices, load, openDevice }) => {
      const none = devices().map(({ available }) => available), error = await openDevice().catch(({ code, message }) => [code, message]);
      await load({ url: '/prebuilds/wasm32/warploom.wasm?elsewhere' }).catch(() => undefined);
      return { none, error };
    })`) as { none: boolean[]; error: string[] };
    deepStrictEqual(said.none, [false, false, false]);
    strictEqual(said.error[0], 'ERR_WARPLOOM_UNAVAILABLE');
    match(said.error[1]!, /prebuilds\/wasm32\/warploom\.wasm could not be loaded \(404 .*load\(\{ url \}\)/);
    await page.unroute('**/prebuilds/**');
    const names = await page.evaluate(`import('/dist/browser/index.js').then(async ({ devices, load, openDevice }) => {
      await load({ url: '/prebuilds/wasm32/warploom.wasm' });
      const device = await openDevice();
      await device.close();
      return devices().map(({ name }) => name);
    })`);
    deepStrictEqual(names, ['', 'cpu (WebAssembly)', '']);
    await page.close();
  });
});

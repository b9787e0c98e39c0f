// What results show in consoles and notebooks.
import { deepStrictEqual, match, ok, strictEqual, throws } from 'node:assert/strict';
import { inspect } from 'node:util';
import { decode } from 'fast-png';
import {
  imaging, jobs, kernel, notebook, openDevice, scan, stencil, stream, swept, tridiagonal, type ArgumentError, type MimeBundle, type WarploomError,
} from '../../lib/index.ts';
import { plotSvg } from '../../lib/pictures/plot.ts';

const display = Symbol.for('Jupyter.display');
const bundleOf = async (value: object): Promise<MimeBundle> => (value as Record<symbol, () => MimeBundle | Promise<MimeBundle>>)[display]!();
const pixelsOf = (png: unknown) => decode(Buffer.from(png as string, 'base64'));

describe('what results show', function () {
  this.timeout(120_000);

  it('charts have the same bytes, however many are drawn at once', async () => {
    const chart = { data: { values: [{ x: 0, y: 1 }, { x: 1, y: 3 }] }, mark: { type: 'line', clip: true }, encoding: { x: { field: 'x', type: 'quantitative' },
      y: { field: 'y', type: 'quantitative' }, color: { field: 'y', type: 'quantitative' } } } as const;
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => plotSvg(chart)));
    ok(/url\(#gradient_\d+\)/.test(first!) && /url\(#clip\d+\)/.test(first!));
    deepStrictEqual(others, others.map(() => first));
  });

  it('images: a picture, whose grey levels span the values; spread and compared as before', async () => {
    const data = Float32Array.of(0, 1, 2, 3, NaN, 1);
    const shown = imaging.addNoise({ data, width: 3, height: 2 }, { kind: 'gaussian', sigma: 0 });
    strictEqual(inspect(shown), 'Image { 3 × 2, Float32Array }');
    deepStrictEqual({ ...shown }, { data, width: 3, height: 2 });
    deepStrictEqual(Object.keys(shown), ['data', 'width', 'height']);
    const { width, height, data: levels } = pixelsOf((await bundleOf(shown))['image/png']);
    deepStrictEqual([width, height, [...levels]], [3, 2, [0, 85, 170, 255, 128, 85]]);
    const own = await bundleOf(notebook.show({ data, width: 3, height: 2 }, { range: [1, 2] }));
    deepStrictEqual([...pixelsOf(own['image/png']).data], [0, 0, 255, 255, 128, 0]);
  });

  it('volumes: slices with a slider; colours; large pictures thinned out; device arrays read', async () => {
    const volume = await bundleOf(imaging.sheppLogan(70, { dimensions: 3 }));
    const html = volume['text/html'] as string;
    strictEqual(html.split('<img').length - 1, 64);
    ok(html.includes('max="63"') && html.includes('of 70'));
    const colour = { data: Float64Array.of(0, 1, 0.5, 0.5, 1, 0), width: 2, height: 1, channels: 3 };
    const { channels, data } = pixelsOf((await bundleOf(notebook.show(colour)))['image/png']);
    deepStrictEqual([channels, [...data]], [3, [0, 128, 255, 255, 128, 0]]);
    const large = { data: new Float32Array(3000), width: 3000, height: 1 };
    strictEqual(pixelsOf((await bundleOf(notebook.show(large)))['image/png']).width, 1000);
    await using device = await openDevice({ backend: 'cpu', threads: 1 });
    using there = await device.array(Float32Array.of(0, 1));
    deepStrictEqual([...pixelsOf((await bundleOf(notebook.show({ data: there, width: 2, height: 1 })))['image/png']).data], [0, 255]);
    strictEqual(inspect(there), 'DeviceArray { 2 × float32 on cpu }');
    ok(inspect(device).startsWith('Device { cpu: '));
    ok(((await bundleOf(device))['text/html'] as string).includes('<td style="text-align:left">cpu</td>'));
  });

  it('statuses: counts and failures, also as JSON', async () => {
    const diagonal = new Float64Array(2 * 150).fill(1).fill(0, 0, 2 * 120);
    const { status } = await tridiagonal.solve({ lower: 0, diagonal, upper: 0, rhs: new Float64Array(300), n: 2, batch: 150 });
    strictEqual(inspect(status), 'SystemStatuses { 30 ok, 120 zero-pivot }');
    const { length, counts, failures } = JSON.parse(JSON.stringify(status)) as ReturnType<typeof status.toJSON>;
    deepStrictEqual([length, counts['zero-pivot'], failures.length, failures[0]?.system], [150, 120, 100, 0]);
    ok(((await bundleOf(status))['text/html'] as string).endsWith('<p>and 20 more</p>'));
  });

  it('results are short in consoles, whatever they hold', async () => {
    const rhs = Float64Array.from({ length: 300 }, (_, i) => i);
    const grid = stencil.equations.heat.equation(2);
    await using run = await stencil.simulate(grid, { shape: [30, 30], dt: 0.1, parameters: { D: 1 }, initial: { u: 1 }, backend: 'javascript' });
    await using rod = await swept.heat({ n: 5, dx: 1, dt: 0.1, initial: 'ramp' });
    const image = imaging.sheppLogan(16);
    const text = 'void->int filter S { int i; work push 1 { push(i++); } } int->void filter K { work pop 1 { pop(); } } void->void pipeline P { add S(); add K(); }';
    const compiled = await stream.elaborate(text);
    const job = await jobs.load({ kind: 'simulate', name: 'a', equation: 'heat', n: 20, dx: 1, dt: 0.1, until: { steps: 3 }, sweep: { initial: ['ramp', 'parabola'] } });
    const shown: [unknown, RegExp][] = [
      [await tridiagonal.solve({ lower: 0, diagonal: 2, upper: 0, rhs, n: 3, batch: 100 }),
        /^Solved \{\n {2}solution: Float64Array\(300\) \[ 0, 0\.5, 1, \.\.\. 297 more items \],\n {2}status: SystemStatuses \{ 100 ok \},\n {2}info: /],
      [await tridiagonal.cubicSpline(rhs, rhs), /^CubicSpline \{\n {2}x: Float64Array\(300\)/],
      [grid, /^Equation \{ 2D, fields: u, parameters: D, euler \}$/], [run, /^Run \{ u on 30 × 30 cells, step 0, time 0, float64 \}$/],
      [await run.state(), /^State \{ u: Float64Array\(900\) \[ 1, 1, 1, \.\.\. 897 more items \] \}$/],
      [rod, /^Simulation \{ heat, 5 points, step 0, time 0 \}$/],
      [await imaging.denoise(image, { weight: 0.1, iterations: 5 }), /^Denoised \{\n {2}image: Image \{ 16 × 16, Float32Array \},\n/],
      [await imaging.segment(image, { iterations: 5 }), /^Segmented \{\n/], [await imaging.align(image, image), /^Aligned \{\n {2}matrix: /],
      [await imaging.register(image, image, { iterations: 2, levels: 1 }), /^Registered \{\n {2}displacement: Image \{ 16 × 16, 2 channels, Float32Array \},\n/],
      [compiled, /^Compiled \{\n {2}program: .*\n {2}graph: StreamGraph/], [stream.toSdf(compiled.graph), /^SdfGraph \{ 2 actors, 1 channels \}$/],
      [await stream.run(compiled.graph, { iterations: 3, backend: 'interpret' }), /^StreamRun \{\n/],
      [job, /^LoadedJob \{ a, 2 items: initial=ramp, initial=parabola \}$/],
      [(await jobs.items(job, { results: '/nowhere' }))[0], /^Item \{ initial=ramp, waiting \}$/],
    ];
    shown.push([await stencil.inspect(grid), /^Inspection \{/], [await kernel.compile('(x) => 2 * x', ['float64']), /^CompiledKernel \{/],
      [await stream.check(text), /^CheckResult \{/], [imaging.registrationPair(8), /^RegistrationPair \{\n {2}reference: Image \{ 8 × 8, /]);
    const steady = stream.steadyState(stream.toSdf(compiled.graph));
    shown.push([await scan(rhs), /^Scanned \{\n {2}result: Float64Array\(300\) /], [steady, /^SteadyState \{/],
      [stream.assignToCores(stream.toSdf(compiled.graph), steady, stream.cpuCosts(stream.toSdf(compiled.graph), [1, 1]), { cores: 2 }), /^CorePlan \{/],
      [await tridiagonal.multiply({ lower: 0, diagonal: 2 / 3, upper: 0, x: rhs }), /^Product \{\n {2}y: Float64Array\(300\) \[ 0, 0\.666667, 1\.33333, /],
      [await imaging.cosineTransform(image), /^Transformed \{\n {2}image: Image \{|^Transformed \{ image: Image \{/]);
    for (const [value, expected] of shown) {
      const said = inspect(value);
      match(said, expected);
      ok(said.length < 1200 && said.split('\n').length <= 18, said);
    }
    // What shows them is not among their fields.
    deepStrictEqual(Object.keys(await run.state()), ['u']);
  });

  it('results and errors are written as JSON with all that they hold', async () => {
    const solved = JSON.parse(JSON.stringify(await tridiagonal.solve({ lower: 0, diagonal: 2, upper: 0, rhs: Float64Array.of(2, 4) }))) as object;
    deepStrictEqual(Object.keys(solved), ['solution', 'status', 'info']);
    deepStrictEqual((solved as { solution: unknown }).solution, [1, 2]);
    const { data, width } = JSON.parse(JSON.stringify(imaging.sheppLogan(8))) as { data: unknown[]; width: number };
    deepStrictEqual([data.length, width], [64, 8]);
    const error = await tridiagonal.solve({ lower: 0, diagonal: 2, upper: 0, rhs: new Float64Array(3), n: 2 }).catch((caught: unknown) => caught);
    const { name, code, message, argument } = structuredClone((error as WarploomError).toJSON());
    deepStrictEqual([name, code, argument, message], ['ArgumentError', 'ERR_WARPLOOM_INVALID_ARGUMENT', (error as ArgumentError).argument,
      (error as Error).message]);
    strictEqual((JSON.parse(JSON.stringify(error)) as Error).message, message);
  });

  it('snapshots: profiles and maps that Vega-Lite draws', async () => {
    await using rod = await swept.heat({ n: 5, dx: 1, dt: 0.1, initial: 'ramp' });
    const law = (dimensions: 2 | 3) => stencil.define({
      dimensions, fields: ['u'], parameters: [], rate: ({ u }, _p, { laplacian }) => ({ u: laplacian(u) }), method: 'euler',
    });
    await using plane = await stencil.simulate(law(2), { shape: [3, 4], dt: 0.1, initial: { u: (x, y) => x + y }, backend: 'javascript' });
    await using cube = await stencil.simulate(law(3), { shape: [3, 4, 5], dt: 0.01, initial: { u: 1 }, backend: 'javascript' });
    for (const each of [rod, plane, cube]) {
      for await (const taken of each.snapshots({ every: 1, until: 1 })) {
        ok(inspect(taken).startsWith('Snapshot { step: 1, '), inspect(taken));
        const chart = (await bundleOf(taken))['application/vnd.vegalite.v5+json'] as Record<string, unknown>;
        const svg = await plotSvg({ ...chart, $schema: 'https://vega.github.io/schema/vega-lite/v6.json' });
        ok(svg?.startsWith('<svg') && svg.length > 2000);
      }
    }
  });

  it('graphs, charts and tables', async () => {
    const { graph } = await stream.elaborate('int->int filter F { work push 1 pop 1 { push(pop()); } } int->int pipeline Main { add F; add F; }');
    strictEqual(inspect(graph), 'StreamGraph { int -> int, 2 nodes, 1 channels }');
    ok(((await bundleOf(graph))['image/svg+xml'] as string).startsWith('<svg'));
    const { specification } = notebook.plot({ a: [1, 2], b: { x: Float64Array.of(5, 6), y: [3, 4] } }, { x: 't (s)', log: true });
    deepStrictEqual((specification['data'] as { values: unknown }).values, [
      { x: 0, y: 1, series: 'a' }, { x: 1, y: 2, series: 'a' }, { x: 5, y: 3, series: 'b' }, { x: 6, y: 4, series: 'b' },
    ]);
    // What is odd is drawn, too: no numbers for a logarithm, one number, a long title, equal numbers.
    const { specification: logged } = notebook.plot([-1, 0, 10], { log: true });
    deepStrictEqual((logged['data'] as { values: { y: unknown }[] }).values.map(({ y }) => y), [null, null, 10]);
    const single = await notebook.plot([5], { title: 'one number and a title of more characters than there are in a line above the chart of it' }).svg();
    ok(single.includes('aria-roledescription="point"') && single.includes('>5</text>') && single.includes('<tspan'));
    ok(Number(/<svg [^>]*width="(\d+)"/.exec(single)?.[1]) < 760);
    const { specification: few } = notebook.plot({ a: [1, 2], b: [3, 4] }, { mark: 'bar' });
    deepStrictEqual((few['encoding'] as { xOffset: unknown }).xOffset, { field: 'series', sort: null });
    const { values } = notebook.plot(new Float64Array(12_000)).specification['data'] as { values: unknown[] };
    strictEqual(values.length, 4000);
    const html = (await bundleOf(notebook.table([{ name: '<b>', value: 1.23456789 }, { value: 2, more: null }])))['text/html'] as string;
    ok(html.includes('&lt;b&gt;') && html.includes('1.23457') && html.includes('>more<'), html);
    const mixed = notebook.plot({ dots: { x: [0, 1], y: [1, 2], mark: 'point' }, line: [1, 2] }, { title: 'both', x: 'r (1/s)', y: 'speed (m/s)' });
    const drawn = await mixed.svg();
    for (const part of ['>both<', '>r (1/s)<', '>speed (m/s)<', '>dots<', '>line<', 'mark-symbol', 'mark-line']) ok(drawn.includes(part), part);
    throws(() => notebook.plot({ a: { x: [1], y: [1], mark: 'star' as never } }), /^ArgumentError: data.a.mark/);
    throws(() => notebook.plot({ a: 'text' as never }), /^ArgumentError: data.a: expected numbers/);
    throws(() => notebook.plot({ x: [1, 2], y: [1] }), /equally many numbers/);
    throws(() => notebook.show({ data: new Float32Array(3), width: 2, height: 1 }), /image.data/);
    throws(() => notebook.table([1 as never]), /^ArgumentError: rows\[0\]/);
  });
});

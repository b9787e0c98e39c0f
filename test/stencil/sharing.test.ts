// Fluxes and other calls that neighbouring cells have in common are made once on devices, with the same bits (on the shim).
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { stencilProgram } from '../../lib/stencil/compile/program.ts';
import { longestShared, sharedTime } from '../../lib/stencil/engines/blocks.ts';
import { mostNodes } from '../../lib/stencil/engines/choose.ts';
import { streamingShapes } from '../../lib/stencil/engines/shapes.ts';
import { cascadeOf } from '../../lib/stencil/compile/cascade.ts';
import { ringsOf } from '../../lib/stencil/compile/rings.ts';
import { sharedOf } from '../../lib/stencil/compile/sharing.ts';
import { openDevice, stencil, type Device } from '../../lib/index.ts';
import { functions, one, three, two } from './flux-equations.ts';
import { after as afterSteps, joined, same } from './support.ts';

const { euler, shallowWater, heat } = stencil.equations;
const { flux } = functions;

function targetOf({ dimensions, fields }: stencil.Equation): Parameters<typeof stencilProgram>[1] {
  const axes = Array.from({ length: dimensions });
  const rule = { kind: 'outflow' } as const;
  return {
    spacing: axes.map(() => 1), origin: axes.map(() => 0), precision: 'f64',
    rules: axes.map(() => [fields.map(() => rule), fields.map(() => rule)] as const),
  };
}

function stagesOf(equation: stencil.Equation): ReturnType<typeof stencilProgram>['stages'] {
  return stencilProgram(equation, targetOf(equation)).stages;
}

/** Picoseconds per cell and step that the models predict for a line or a square of so many cells: by stages, and by the best passes. */
function predicted(equation: stencil.Equation, cells: number): { readonly stages: number; readonly passes: number } {
  const target = targetOf(equation), made = stencilProgram(equation, target);
  const shape = equation.dimensions === 1 ? [cells] : [Math.sqrt(cells), Math.sqrt(cells)];
  const [best] = streamingShapes(made, target, { shape, cells, members: 1, fields: equation.fields.length }, {});
  return { stages: sharedTime(made)!, passes: best!.picoseconds };
}

/** What cells share: how many numbers, and from which neighbours. */
function sharedBy(equation: stencil.Equation): string {
  return stagesOf(equation).map((stage, s) => {
    const found = sharedOf(stage, s);
    return found === undefined ? 'nothing' : `${found.common.f.results.length} ${[...new Set(found.numbers.map(({ side }) => side))].sort().join()}`;
  }).join('; ');
}

describe('stencil: shared work', function () {
  this.timeout(120_000);
  let device: Device;
  before(async () => { device = await openDevice({ backend: 'simt' }); });
  after(() => device.close());

  it('decides between stages and passes as measured on an H200', () => {
    // G cells per second: by passes MUSCL 25 and 27 (by stages 15 and 18), the scheme of the paper 42 and 48.
    for (const equation of [euler.inOneDimension(), euler.fusedInOneDimension()] as never[]) {
      for (const cells of [100_003, 2 ** 20, 2 ** 24]) {
        const { stages, passes } = predicted(equation, cells);
        ok(passes < stages, `${cells} cells: ${stages} ps by stages, ${passes} by passes`);
      }
    }
    // WENO by stages 3.9, by passes 2.2.
    const longest = (equation: stencil.Equation): number => longestShared(stencilProgram(equation, targetOf(equation)));
    ok(longest(euler.inOneDimension('weno5') as never) > mostNodes && longest(euler.inOneDimension() as never) < mostNodes);
    // By stages 8.4.
    const water = predicted(shallowWater.inTwoDimensions() as never, 2 ** 24);
    ok(water.stages < water.passes, JSON.stringify(water));
  });

  it('is found in calls that differ by an offset', () => {
    strictEqual(sharedBy(one as never), Array(3).fill('2 beside,own').join('; '));
    strictEqual(sharedBy(two as never), '2 before,beside,own');
    strictEqual(sharedBy(three as never), Array(2).fill('2 before,beside,own').join('; '));
    strictEqual(sharedBy(euler.inTwoDimensions() as never), Array(2).fill('8 before,beside,own').join('; '));
    ok(sharedBy(shallowWater.inTwoDimensions() as never).length > 0);
    strictEqual(sharedBy(heat.equation(2) as never), 'nothing');
    // The place makes the difference.
    const placed = stencil.define({ dimensions: 1, fields: ['u'], functions,
      rate: ({ u }, _, { x, dx }) => ({ u: (flux(u(-1), u(), x) - flux(u(), u(1), x)) / dx }) });
    strictEqual(sharedBy(placed as never), 'nothing; nothing; nothing');
  });

  it('goes on inside: states, slopes and fluxes of gas are made once, as late as they are needed', () => {
    const links = (equation: stencil.Equation): string => {
      const { links: all, width, ages } = cascadeOf(stagesOf(equation)[0]!, 0)!;
      return `${width} columns, ${ages} rows: ${all.map(({ f: { results }, lead }) => `${results.length}@${lead}`).join(' ')}`;
    };
    strictEqual(links(euler.inOneDimension() as never), '28 columns, 1 rows: 4@0 3@0 3@0 3@0');
    strictEqual(links(euler.inTwoDimensions() as never), '60 columns, 4 rows: 4@3 5@2 4@1 2@1 4@0 4@0 4@0 4@0');
    strictEqual(links(euler.inThreeDimensions() as never), '28 columns, 4 rows: 5@3 6@2 5@1 3@1 5@0 5@0 5@0 5@0');
    strictEqual(links(two as never), '62 columns, 3 rows: 1@2 2@0 1@0');
    // Shared memory: slopes and fluxes along the row, and fields at the beginning of the step; fields, states and what waves cross.
    const kept = (equation: stencil.Equation): string => stagesOf(equation).map((stage, s) => {
      const { ones, others, rows, beside } = ringsOf(cascadeOf(stage, s)!);
      return `${ones}, ${others} by ${rows}, beside ${beside.join()}`;
    }).join('; ');
    strictEqual(kept(euler.inTwoDimensions() as never), '8, 8 by 4, beside -1,1; 12, 8 by 4, beside -1,1');
    strictEqual(kept(euler.inOneDimension() as never), '0, 0 by 1, beside ; 0, 0 by 1, beside ');
  });

  it('gives the bits of WebAssembly: small sizes, several strips, boundaries, ensembles, steps of varying length', async () => {
    const wave = (x: number, y = 0, z = 0): number => Math.sin(x) + 0.3 * Math.cos(1.7 * y) - 0.2 * z;
    const low = { kind: 'dirichlet', value: ({ t }: { t: number }) => 0.2 + t } as const;
    const cases: readonly (readonly [stencil.Equation, readonly (readonly number[])[], object])[] = [
      [one as never, [[2], [4], [31], [32], [70]], {
        initial: { u: wave, v: (x: number) => x - wave(x) }, coefficients: { c: (x: number) => 1 + 0.1 * x }, parameters: { k: [0.5, 0.25, 2] },
        boundary: { low, high: { fields: { u: 'mirror', v: 'outflow' } } },
      }],
      [two as never, [[1, 1], [3, 2], [5, 33], [67, 8]], {
        dt: { cfl: 0.3, most: 0.04 }, initial: { u: wave }, parameters: { k: 0.5 }, boundary: { x: 'periodic', y: { low: 'odd-mirror', high: low } },
      }],
      [euler.inTwoDimensions() as never, [[1, 3], [2, 29], [9, 57]], {
        initial: { rho: (x: number, y: number) => 1.5 + wave(x, y), mx: 0.3, my: 0.2, E: (x: number, y: number) => 4 + Math.cos(x + y) },
        parameters: { gamma: [1.4, 1.7] }, boundary: { x: 'outflow', y: 'periodic' }, dt: 0.03,
      }],
      [shallowWater.inTwoDimensions() as never, [[2, 3], [7, 31]], {
        initial: { h: (x: number, y: number) => 1.5 + wave(x, y), hu: 0.1, hv: -0.2 }, parameters: { g: 1 },
        boundary: { x: 'periodic', y: 'outflow' }, dt: 0.03,
      }],
      [three as never, [[1, 2, 3], [4, 3, 32]], { initial: { u: wave }, parameters: { k: [0.5, 1] }, boundary: 'periodic' }],
    ];
    for (const [equation, shapes, more] of cases) {
      for (const shape of shapes) {
        const states = await Promise.all([{ device, variant: 'classic' }, { backend: 'wasm', threads: 1 }].map(async (where) => {
          await using run = await stencil.simulate(equation, { dt: 0.02, spacing: 0.5, shape, ...more, ...where } as never);
          await run.advance(7);
          return [joined(await run.state() as stencil.State<string>), run.time] as const;
        }));
        same(states[0]![0], states[1]![0], `${shape.join(' × ')}`);
        deepStrictEqual(states[0]![1], states[1]![1]);
      }
    }
  });

  it('gives the same bits along lines, also where numbers are too small or too large for arithmetic without branches', async () => {
    // Some e-35 of what it is elsewhere.
    const size = (x: number): number => Math.exp(-40 * (1 + Math.sin((2 * Math.PI * x) / 600)));
    const gas = (of: (x: number) => number): object => ({ initial: {
      rho: (x: number) => of(x) * (1 + 0.1 * Math.sin(x * x)), mx: (x: number) => 0.1 * of(x), E: (x: number) => 2.5 * of(x) }, parameters: { gamma: 1.4 } });
    const fused = euler.fusedInOneDimension() as never;
    const low = { kind: 'dirichlet', value: ({ t }: { t: number }) => 0.2 + t } as const;
    const cases: readonly (readonly [stencil.Equation, object, readonly object[]])[] = [
      [one as never, { shape: [149], initial: { u: (x: number) => Math.sin(x), v: (x: number) => Math.cos(x) }, coefficients: { c: (x: number) => 1 + 0.01 * x },
        parameters: { k: [0.5, 2] }, boundary: { low, high: { fields: { u: 'mirror', v: 'outflow' } } } },
      [{ variant: 'streaming', points: 2, depth: 1 }, { variant: 'persistent' }]],
      [fused, { shape: [601], boundary: 'periodic', ...gas(() => 1) }, [{ variant: 'streaming', points: 4, depth: 5 }, { variant: 'persistent' }]],
      [fused, { shape: [600], boundary: 'outflow', ...gas(size) }, [{ variant: 'streaming', points: 6, depth: 5 }]],
      [fused, { shape: [601], boundary: 'periodic', ...gas((x) => 1e45 * size(x)) }, [{ variant: 'streaming', points: 2, depth: 3 }]],
    ];
    for (const [equation, options, variants] of cases) {
      const after = async (where: object): Promise<stencil.RealArray> => {
        await using run = await stencil.simulate(equation, { dt: 0.02, spacing: 0.5, ...options, ...where } as never);
        await run.advance(7);
        return joined(await run.state() as stencil.State<string>);
      };
      const expected = await after({ backend: 'wasm', threads: 1 });
      for (const each of variants) same(await after({ device, ...each }), expected, JSON.stringify(each));
    }
  });

  it('works with graphs, single precision and states that are not admissible', async () => {
    const given = { equation: two, text: '', steps: 70, options: { shape: [6, 34], dt: 0.01, initial: { u: (x: number, y: number) => Math.sin(x + y) },
      parameters: { k: 1 }, boundary: 'mirror' } } as never;
    const expected = await afterSteps(given, { backend: 'wasm', precision: 'float32' });
    same(await afterSteps(given, { device, variant: 'graph', precision: 'float32' }), expected, 'graph');
    const limited = stencil.define({ ...two.definition, admissible: ({ u }: { u: number }) => u < 0.9 } as never) as unknown as typeof two;
    const steps = await Promise.all([{ device, variant: 'classic' as const }, { backend: 'wasm' as const }].map(async (where) => {
      await using run = await stencil.simulate(limited, { shape: [5, 40], dt: 0.05, parameters: { k: 1 }, boundary: 'mirror',
        initial: { u: (x, y) => 0.1 * x + 0.01 * y }, ...where });
      const error: unknown = await run.advance(400).catch((each: unknown) => each);
      return error instanceof Error ? error.message : 'none';
    }));
    strictEqual(steps[0], steps[1]);
  });
});

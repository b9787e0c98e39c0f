// The frame of the figures of imaging: peers by row, bars, tables.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { compare, readGoals } from '../../bench/goals.ts';
import { peersOf, withPeers } from '../../bench/imaging-data.ts';
import { imagingBars, imagingTables } from '../../bench/imaging-figures.ts';
import { parseReport, type Report, type Row } from '../../bench/report.ts';

const row = (id: string, value: number, change: Partial<Row> = {}): Row => ({ id, value, unit: 's', spread: 0, ...change });
const report = (rows: Row[], device = 'h200'): Report => ({
  schema: 1, domain: 'imaging', device, deviceName: 'a machine', driver: '', versions: { node: '20' }, commit: 'unknown',
  sourceHash: 'a'.repeat(64), date: '2026-11-21T00:00:00.000Z', rows,
});

const near = (value: number | undefined, expected: number) => ok(Math.abs(value! / expected - 1) < 1e-12, `${value}`);

describe('bench: imaging', () => {
  it('sets the figures of others beside a row, by what it measures, its size and the device', () => {
    near(peersOf('curvature3d/256/float32/cold/auto', 'cuda')['plain kernel'], 221.246e-6);
    near(peersOf('curvature3d/128/float32/hot/march', 'cuda')['tiles, memory reused'], 61.49e-6);
    near(peersOf('curvature2d/4096/float32/hot/auto', 'cuda')['copy'], 36.12e-6);
    near(peersOf('tv/iteration/256', 'cuda')['CCPi FGP_TV'], 1263.028e-6);
    near(peersOf('tv/to-energy/128', 'cuda')['CCPi PD_TV'], 19.226e-3);
    near(peersOf('chan-vese/iteration/512', 'cpu')['scikit-image, 1 core'], 16_138.828e-6);
    near(peersOf('registration/iteration/1024^2', 'cuda')['CuPy DCT'], 2877.079e-6);
    deepStrictEqual(peersOf('tv/iteration/100', 'cuda'), {});
    deepStrictEqual(peersOf('tv/iteration/256', 'simt'), {});
    deepStrictEqual(peersOf('quality/discs/dice', 'cuda'), {});
    deepStrictEqual(Object.keys(withPeers(row('tv/to-energy/128', 1, { peers: { own: 2 } }), 'cuda').peers!), ['CCPi PD_TV', 'CCPi FGP_TV', 'own']);
    deepStrictEqual(withPeers(row('tv/to-energy/128', 1, { peers: { own: 2, 'CCPi FGP_TV': 3 } }), 'cuda').constants, ['CCPi PD_TV']);
    deepStrictEqual(withPeers(row('tv/iteration/128/flow', 1), 'cuda').constants, Object.keys(peersOf('tv/iteration/128', 'cuda')));
    ok(!('constants' in withPeers(row('tv/iteration/100', 1, { peers: { own: 2 } }), 'cuda')));
    ok(!('peers' in withPeers(row('tv/iteration/100', 1), 'cuda')));
  });

  it('draws bars and prints tables of times and of quality', () => {
    const rows = [
      row('curvature3d/256/float32/cold/auto', 5e-5, { limit: 4e-5, fraction: 0.8, peers: { copy: 4e-5, plain: 2e-4, tiles: 7e-4 } }),
      row('tv/iteration/128', 2e-5, { peers: { other: 3e-5 } }), row('registration/iteration/64^3', 1e-4),
      row('quality/discs-512/dice', 0.99701, { unit: '1', peers: { 'scikit-image': 0.9967 } }), row('quality/registration-64^3/tre', 0.15, { unit: 'pixels' }),
    ];
    parseReport(report(rows));
    deepStrictEqual(imagingBars(rows).map(({ figure, size, method }) => `${figure}|${size}|${method}`), [
      'curvature3d float32 cold|256|auto', 'curvature3d float32 cold|256|copy', 'curvature3d float32 cold|256|plain', 'curvature3d float32 cold|256|tiles',
      'tv iteration|128|warploom', 'tv iteration|128|other', 'registration iteration|64^3|warploom',
    ]);
    const text = imagingTables(report(rows));
    match(text, /\| curvature3d\/256\/float32\/cold\/auto \| 50 \| 40 \| 80 % \| plain 200 \| 4\.00 \|/);
    match(text, /\| discs-512\/dice \| 0\.99701 {2}\| scikit-image 0\.9967 \|/);
    strictEqual(imagingTables(report([])), '');
  });

  it('has goals for the rows that count, with figures that must be large as well', async () => {
    const goals = (await readGoals(fileURLToPath(new URL('../../bench/goals.json', import.meta.url)))).filter(({ domain }) => domain === 'imaging');
    ok(goals.length >= 14);
    const rows = [row('quality/discs-512/dice', 0.9964, { unit: '1' }), row('quality/shepp-logan-128/psnr', 33.2, { unit: 'dB' }), row('tv/iteration/256/flow', 7e-5)];
    const verdicts = compare(report(rows), goals);
    const state = (id: string) => verdicts.find(({ goal }) => goal.id === id)!.state;
    deepStrictEqual([state('quality/discs-512/dice'), state('quality/shepp-logan-128/psnr'), state('tv/iteration/256/flow'), state('tv/to-energy/128')],
      ['missed', 'reached', 'reached', 'missing']);
  });
});

// openPool: several devices; a lost device's calls are made again on another.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { addon } from '../../../lib/core/binding.ts';
import { imaging, openPool, tridiagonal, type Device } from '../../../lib/index.ts';
import { hasBackend, skipCases } from '../../support/backends.ts';

const cpu = { backend: 'cpu', threads: 1 } as const;
const system = (n: number, first = 4) => ({ lower: -1, diagonal: new Float64Array(n).fill(first), upper: -1, rhs: Float64Array.from({ length: n }, (_, i) => i) });

describe('pool of devices', function () {
  this.timeout(60_000);

  it('spreads calls over its devices, by the work that each has', async () => {
    await using pool = await openPool({ devices: [cpu, cpu] });
    const used: Device[] = [];
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => { release = resolve; });
    const works = Array.from({ length: 4 }, () => pool.run(async (device) => {
      used.push(device);
      await until;
    }));
    deepStrictEqual(pool.members.map(({ waiting, lost }) => [waiting, lost]), [[2, false], [2, false]]);
    release();
    await Promise.all(works);
    strictEqual(new Set(used).size, 2);
    const solve = pool.wrap(tridiagonal.solve);
    const results = await Promise.all(Array.from({ length: 9 }, (_, k) => solve(system(5, 3 + k))));
    for (const [k, { solution }] of results.entries()) {
      deepStrictEqual(solution, (await tridiagonal.solve({ ...system(5, 3 + k), device: pool.members[0]!.device })).solution);
    }
    const image = { data: new Float64Array(16).fill(1), width: 4, height: 4 };
    const { image: found } = await pool.run((device, signal) =>
      imaging.denoise(image, { weight: 0.1, iterations: 2, device, ...(signal === undefined ? {} : { signal }) }));
    strictEqual(found.width, 4);
  });

  it('keeps a plan on its device, and refuses those of others', async () => {
    await using pool = await openPool({ devices: [cpu, cpu] });
    const { lower, diagonal, upper, rhs } = system(6);
    const [, second] = pool.members;
    await using plan = await tridiagonal.plan({ lower, diagonal, upper, device: second!.device });
    deepStrictEqual((await pool.wrap(plan)({ rhs })).solution, (await plan.solve({ rhs })).solution);
    await using other = await tridiagonal.plan({ lower, diagonal, upper });
    await rejects(pool.wrap(other)({ rhs }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'target' });
  });

  it('makes calls of a lost device again on another, and fails typed when none is left', async function () {
    if (!hasBackend('simt') || addon().faults === undefined) {
      skipCases('no SIMT shim with fault injection');
      this.skip();
    }
    const { faults } = addon();
    for (const devices of [[{ backend: 'simt' }, cpu], [{ backend: 'simt' }]] as const) {
      await using pool = await openPool({ devices });
      const solve = pool.wrap(tridiagonal.solve);
      ok((await solve(system(5))).status.allOk);
      faults!.arm(0, 700, true);
      const calls = Array.from({ length: 5 }, () => solve(system(5)));
      if (devices.length === 1) {
        for (const call of calls) await rejects(call, { code: 'ERR_WARPLOOM_DEVICE_LOST' });
        await rejects(solve(system(5)), { code: 'ERR_WARPLOOM_DEVICE_LOST' });
      } else {
        for (const call of calls) deepStrictEqual((await call).solution, (await tridiagonal.solve(system(5))).solution);
      }
      faults!.disarm();
      strictEqual(pool.members[0]!.lost, true);
    }
  });

  it('leaves nothing open if a device cannot be opened, and refuses calls once closed', async () => {
    await rejects(openPool({ devices: [cpu, { backend: 'cpu', index: 7 }] }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'index' });
    await rejects(openPool({ devices: [] }), { argument: 'devices' });
    const pool = await openPool({ devices: [cpu] });
    const call = pool.wrap(tridiagonal.solve)(system(3));
    await pool.close();
    ok((await call).status.allOk);
    await rejects(pool.wrap(tridiagonal.solve)(system(3)), { code: 'ERR_WARPLOOM_DISPOSED' });
    strictEqual(pool.closed, true);
  });
});

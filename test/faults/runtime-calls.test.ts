// Every runtime call of a GPU backend fails in turn, once and for good: the right error comes out, no memory is
// lost, and the next call works. Numbers of errors are the CUDA runtime's, on both backends.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { WarploomError } from '../../lib/core/errors.ts';
import { scan } from '../../lib/scan/index.ts';
import { multiply, plan, solve, vjp } from '../../lib/tridiagonal/index.ts';
import { hasBackend, skipCases } from '../support/backends.ts';
import { affine, canCompile, moduleText } from '../support/modules.ts';

const errors = [
  { name: 'out of memory', number: 2, code: 'ERR_WARPLOOM_OUT_OF_MEMORY' },
  { name: 'launch out of resources', number: 701, code: 'ERR_WARPLOOM_INTERNAL' },
  { name: 'illegal address', number: 700, code: 'ERR_WARPLOOM_DEVICE_LOST' },
] as const;

const sums = Float64Array.from({ length: 3000 }, (_, i) => i % 3);

/** Array, scan with several launches and a workspace, download; segmented and in place on the host. */
async function scanning(device: Device): Promise<void> {
  using values = await device.array(sums);
  const { result } = await scan(values, { algorithm: 'regpack', depth: 2 });
  try {
    const [first, last] = [sums[0], sums.reduce((a, b) => a + b)];
    const read = await result.read() as Float64Array;
    deepStrictEqual([read[0], read.at(-1)], [first, last]);
  } finally {
    result.dispose();
  }
}

/** A checked solve from the host's arrays. */
async function solving(device: Device): Promise<void> {
  const n = 70;
  const { solution, status } = await solve({
    lower: new Float64Array(n).fill(-1), diagonal: new Float64Array(n).fill(4), upper: new Float64Array(n).fill(-1),
    rhs: new Float64Array(n).fill(1), check: true, device,
  });
  ok(status.allOk && Math.abs(solution[n / 2]! - 0.5) < 1e-12);
}

/** Results that calls make on the device, beside arrays there: freed when the call that made them fails. */
async function chaining(device: Device): Promise<void> {
  using rhs = await device.array(Float64Array.of(1, 2, 3, 4));
  const matrix = { lower: -1, diagonal: Float64Array.of(4, 4, 4, 4), upper: -1 };
  using solution = (await solve({ ...matrix, rhs })).solution;
  using again = (await multiply({ ...matrix, x: solution })).y;
  const product = await again.read() as Float64Array;
  ok(product.every((value, i) => Math.abs(value - i - 1) < 1e-14), `${product}`);
  await using factored = await plan({ ...matrix, device });
  using factoredSolution = (await factored.solve({ rhs })).solution;
  using gradient = (await vjp({ ...matrix, solution: factoredSolution, cotangent: rhs })).rhs;
  strictEqual(gradient.length, 4);
}

/** A module from the cache: loading it, launches alone and in a list. */
async function launching(device: Device): Promise<void> {
  using module = await device.module({ source: moduleText({ affine }), kernels: ['affine'] });
  using data = await device.array(Float32Array.of(1, 2, 3));
  const launch = { blocks: 1, threads: 32, sharedBytes: 60_000, arguments: [data, { f32: 2 }, { f32: 1 }, { i64: 3 }] };
  await Promise.all([module.launch('affine', launch), module.launchAll([{ kernel: 'affine', ...launch }, { kernel: 'affine', ...launch }])]);
  deepStrictEqual(await data.read(), Float32Array.of(15, 23, 31));
}

/** What a piece of work did: undefined, or the code of the WarploomError it rejected with. */
async function outcome(work: (device: Device) => Promise<void>, device: Device): Promise<string | undefined> {
  try {
    await work(device);
    return undefined;
  } catch (error) {
    if (error instanceof WarploomError) return error.code;
    throw error;
  }
}

describe('failing runtime calls', function () {
  this.timeout(300_000);
  for (const [backend, faults] of [['simt', () => addon().faults!], ['cuda', () => addon().cudaFaults!]] as const) {
    if (!hasBackend(backend)) {
      skipCases(`${backend}: fault injection needs the backend`, 25);
      continue;
    }
    afterEach(() => faults().disarm());

    for (const [workName, work] of [['scan', scanning], ['solve', solving], ['chain', chaining], ['module', launching]] as const) {
      for (const { name, number, code } of errors) {
        for (const persistent of [false, true]) {
          it(`${backend}: ${workName}, ${name}, ${persistent ? 'from then on' : 'once'}`, async function () {
            if (work === launching && !await canCompile(backend, 1)) this.skip();
            let device = await openDevice({ backend });
            try {
              await work(device);
              await work(device);  // pools are warm
              const before = faults().calls();
              await work(device);
              const calls = faults().calls() - before;
              ok(calls >= 4, `only ${calls} runtime calls`);
              let failures = 0;
              for (let skip = 0; skip < calls; skip += 1) {
                faults().arm(skip, number, persistent);
                const failed = await outcome(work, device);
                faults().disarm();
                if (failed !== undefined) {
                  strictEqual(failed, code, `call ${skip} of ${calls}`);
                  failures += 1;
                }
                if (failed === 'ERR_WARPLOOM_DEVICE_LOST') {
                  strictEqual(await outcome(work, device), 'ERR_WARPLOOM_DEVICE_LOST', 'a lost device stays lost');
                  await device.close();
                  device = await openDevice({ backend });
                }
                strictEqual(await outcome(work, device), undefined, `the call after failing call ${skip}`);
                await device.trim();  // behind the releases
                strictEqual(device.memory().inUseBytes, 0, `memory after failing call ${skip}`);
              }
              ok(failures >= calls / 2, `${failures} of ${calls} failing calls were noticed`);
            } finally {
              await device.close();
            }
          });
        }
      }
    }

    it(`${backend}: opening a device fails cleanly at every call`, async () => {
      const before = faults().calls();
      await (await openDevice({ backend })).close();
      const calls = faults().calls() - before;
      for (let skip = 0; skip < calls; skip += 1) {
        faults().arm(skip, 701, false);
        const failed = await openDevice({ backend }).then((device) => device.close(), (error: unknown) => error);
        faults().disarm();
        ok(failed === undefined || failed instanceof WarploomError, String(failed));
      }
      const device = await openDevice({ backend });
      await scanning(device);
      await device.close();
    });
  }
});

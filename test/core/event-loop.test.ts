// The event loop gets its turns while calls come and go: counted in turns, not in time.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { openDevice } from '../../lib/core/device.ts';

const n = 64;
const batch = 3500; // too long to run where the call is made
const brief = 500;

const view = (data: Float64Array): object => ({ data, extents: [data.length / n, n] });

function scanning(rows = batch): Record<string, unknown> {
  const values = new Float64Array(n * rows).fill(1);
  return { type: 'float64', n, batch: rows, values: view(values), result: view(new Float64Array(n * rows)) };
}

describe('the event loop with calls in flight', function () {
  this.timeout(60_000);

  it('turns at least once for every few calls that settle, and timers fire', async () => {
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const calls = 600;
    let left = calls;
    let inTurn = 0;
    let most = 0;
    let fired = 0;
    const timer = setInterval(() => (fired += 1), 1);
    const turn = (): void => {
      inTurn = 0;
      if (left > 0) setImmediate(turn);
    };
    setImmediate(turn);
    const chain = async (): Promise<void> => {
      const parameters = scanning();
      while (left > 0) {
        left -= 1;
        await device.run('scan.prefix', parameters);
        inTurn += 1;
        most = Math.max(most, inTurn);
      }
    };
    await Promise.all([chain(), chain(), chain()]);
    clearInterval(timer);
    await device.close();
    // Each of the three chains settles at most once in one wake-up, and two wake-ups fit between two turns.
    ok(most <= 6, `${most} calls settled without a turn of the event loop`);
    ok(fired > 0, 'no timer fired');
  });

  for (const rows of [1, brief]) {
    it(`turns between short calls too, which run and settle at once: ${rows} rows`, () => shortCalls(rows));
  }

  const shortCalls = async (rows: number): Promise<void> => {
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const parameters = scanning(rows);
    let settled = 0;
    let most = 0;
    let turns = 0;
    let going = true;
    const turn = (): void => {
      most = Math.max(most, settled);
      settled = 0;
      turns += 1;
      if (going) setImmediate(turn);
    };
    setImmediate(turn);
    for (let i = 0; i < 2000; i += 1) {
      await device.run('scan.prefix', parameters);
      settled += 1;
    }
    going = false;
    await device.close();
    ok(most <= 66, `${most} calls settled without a turn of the event loop`);
    ok(turns >= Math.ceil(2000 / 66) - 1, `${turns} turns`); // between so many groups of calls
  };

  it('settles calls in their order, short ones behind long ones', async () => {
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const order: number[] = [];
    const calls = [0, 1, 2, 3, 4, 5].map(async (i) => {
      await device.run('scan.prefix', scanning(i % 2 === 0 ? batch : 1));
      order.push(i);
    });
    await Promise.all(calls);
    await device.close();
    deepStrictEqual(order, [0, 1, 2, 3, 4, 5]);
  });
});

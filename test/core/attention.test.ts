// How the event loop is kept awake for short calls, with a clock and turns of the test's own.
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { Attention } from '../../lib/core/attention.ts';

/** An attention whose time passes as the test says. */
function setUp() {
  let now = 0;
  const turns: (() => void)[] = [];
  const attention = new Attention(() => now, (turn) => turns.push(turn));
  /** One call that takes so many milliseconds; turns of the event loop every 0.1 ms. */
  const call = async (milliseconds: number): Promise<number> => {
    let settle = (): void => undefined;
    const pending = attention.pay(new Promise<void>((resolve) => { settle = resolve; }));
    let taken = 0;
    for (let passed = 0; passed < milliseconds; passed += 0.1) {
      now += 0.1;
      const turn = turns.shift();
      if (turn === undefined) continue;
      taken += 1;
      turn();
    }
    settle();
    await pending;
    await Promise.resolve();
    turns.shift()?.(); // it sees that nothing is under way
    return taken;
  };
  return { attention, call, turns };
}

describe('attention to short calls', () => {
  it('keeps the event loop turning until the call settles', async () => {
    const { attention, call, turns } = setUp();
    strictEqual(await call(0.3) >= 3, true);
    deepStrictEqual([attention.turning, turns.length], [false, 0]);
  });

  it('never for longer than a millisecond, and not again where calls are long', async () => {
    const { attention, call } = setUp();
    const taken = [];
    for (let i = 0; i < 12; i += 1) taken.push(await call(20));
    strictEqual(taken.every((turns) => turns <= 11), true, String(taken));
    deepStrictEqual(taken.slice(-4), [0, 0, 0, 0]);
    strictEqual(attention.turning, false);
  });

  it('comes back when calls are short again', async () => {
    const { call } = setUp();
    for (let i = 0; i < 12; i += 1) await call(20);
    const taken = [];
    for (let i = 0; i < 40; i += 1) taken.push(await call(0.2));
    strictEqual(taken[0], 0);
    strictEqual(taken.at(-1)! >= 2, true, String(taken));
  });

  it('gives the call as it is: its value, and its error once', async () => {
    const { attention } = setUp();
    strictEqual(await attention.pay(Promise.resolve(7)), 7);
    const reason = new Error('no');
    strictEqual(await attention.pay(Promise.reject(reason)).catch((error: unknown) => error), reason);
    strictEqual(attention.turning, true); // until its next turn
  });
});

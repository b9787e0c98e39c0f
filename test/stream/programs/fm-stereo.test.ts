// The stereo receiver gives back what was broadcast.
import assert from 'node:assert/strict';
import { distortion, kSignalRate, kSoundRate, stereoBroadcast, stereoSound } from '../../../lib/jobs/stream/signal.ts';
import { program, run } from './support.ts';

const graph = program('fm-stereo');
const settled = Math.round(0.04 * kSoundRate);

/** Squares of left and right after the receiver has settled, of the sound and of its difference to what was sent. */
function powers(output: readonly number[], sent: (t: number) => readonly [number, number]): { power: number[]; error: number[] } {
  const [power, error] = [[0, 0], [0, 0]];
  for (let n = settled; 2 * n < output.length; ++n) {
    const expected = sent(n / kSoundRate + 66 / kSignalRate);
    for (const side of [0, 1]) {
      power[side]! += output[2 * n + side]! ** 2;
      error[side]! += (output[2 * n + side]! / 0.9 - expected[side]!) ** 2;
    }
  }
  return { power, error };
}

describe('FMStereo', function () {
  this.timeout(60_000);

  it('receives the melody 35 dB above noise and distortion', () => {
    const { output } = run(graph, stereoBroadcast(0.09));
    assert.equal(output.length, 2 * (Math.floor((0.09 * kSignalRate - 128) / 5) + 1));
    const { power, error } = powers(output, stereoSound);
    assert.ok(power[0]! + power[1]! > 3000 * (error[0]! + error[1]!), `${power} against ${error}`);
  });

  for (const side of [0, 1]) {
    it(`keeps the ${['left', 'right'][side]} side apart by 40 dB`, () => {
      const tone = (t: number): readonly [number, number] => (side === 0 ? [Math.sin(6283 * t), 0] : [0, Math.sin(6283 * t)]);
      const { power } = powers(run(graph, stereoBroadcast(0.07, 0, tone)).output, tone);
      assert.ok(power[side]! > 1e4 * power[1 - side]!, `${power}`);
    });
  }

  it('measures what it received', () => {
    const { output } = run(graph, stereoBroadcast(0.15));
    assert.ok(distortion(output) < 0.015, String(distortion(output)));
    assert.ok(distortion(output.map((value, n) => value + (n % 2 === 0 ? 0.1 : -0.1))) > 0.1);
  });
});

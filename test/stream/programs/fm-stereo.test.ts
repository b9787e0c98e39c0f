// The stereo receiver gives back what was broadcast.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { kSignalRate, kSoundRate, stereoBroadcast, stereoSound, wavFile } from '../../../examples/stream/fm-signal.ts';
import { program, run } from './support.ts';

const root = new URL('../../../', import.meta.url);
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
      const { power } = powers(run(graph, stereoBroadcast(0.07, tone, 0)).output, tone);
      assert.ok(power[side]! > 1e4 * power[1 - side]!, `${power}`);
    });
  }

  it('is heard: the example writes a WAV file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'warploom-fm-'));
    try {
      const path = join(folder, 'melody.wav');
      const env = { ...process.env, TSX_TSCONFIG_PATH: fileURLToPath(new URL('tsconfig.all.json', root)) };
      const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', 'examples/stream/fm-stereo.ts', path, '0.12'], { cwd: fileURLToPath(root), env });
      assert.match(stdout, /0\.12 s, \d\d\.\d dB/);
      assert.equal((await readFile(path)).length, 44 + 4 * (Math.floor((0.12 * kSignalRate - 128) / 5) + 1));
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('writes WAV files that say what they hold', () => {
    const bytes = wavFile([0, 0.5, -1, 2], 2);
    const view = new DataView(bytes.buffer);
    const text = Buffer.from(bytes).toString('latin1');
    assert.deepEqual([text.slice(0, 4), text.slice(8, 16), text.slice(36, 40)], ['RIFF', 'WAVEfmt ', 'data']);
    assert.deepEqual([4, 16, 24, 28, 40].map((at) => view.getUint32(at, true)), [44, 16, 48000, 192000, 8]);
    assert.deepEqual([20, 22, 32, 34].map((at) => view.getUint16(at, true)), [1, 2, 4, 16]);
    assert.deepEqual([44, 46, 48, 50].map((at) => view.getInt16(at, true)), [0, 16384, -32767, 32767]);
  });
});

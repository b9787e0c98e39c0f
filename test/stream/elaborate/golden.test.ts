// Graphs and code of whole programs against files. WARPLOOM_UPDATE_GOLDEN=1 writes them again.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describeGraph } from '../../../lib/stream/elaborate/index.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { graphOf } from '../support.ts';

const program = (name: string): string => readFileSync(new URL(`./programs/${name}.str`, import.meta.url), 'utf8');

function matches(name: string, text: string): void {
  const path = new URL(`./golden/${name}.txt`, import.meta.url);
  if (process.env['WARPLOOM_UPDATE_GOLDEN'] === '1') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

/** Graph and structure, without lists of numbers that come from sines and exponentials. */
const structure = (source: string): string => describeGraph(graphOf(source));

describe('whole programs', () => {
  it('an FM receiver', () => {
    matches('fm-radio', structure(program('fm-radio')));
  });

  it('a small FFT with its code', () => {
    matches('fft-4', describeGraph(graphOf(program('fft').replace('SIZE', '4')), { code: true }));
  });

  it('an FFT gives what the sum of the definition gives', () => {
    const n = 32;
    const input = Array.from({ length: 2 * n }, (_, i) => Math.fround(Math.sin(i * i)));
    const { output } = interpretSync(graphOf(program('fft').replace('SIZE', String(n))), { input });
    for (let k = 0; k < n; ++k) {
      let [re, im] = [0, 0];
      for (let i = 0; i < n; ++i) {
        const angle = -2 * Math.PI * i * k / n;
        re += input[2 * i]! * Math.cos(angle) - input[2 * i + 1]! * Math.sin(angle);
        im += input[2 * i]! * Math.sin(angle) + input[2 * i + 1]! * Math.cos(angle);
      }
      assert.ok(Math.hypot(output[2 * k]! - re, output[2 * k + 1]! - im) < 2e-5, `bin ${k}`);
    }
  });

  it('an FFT of 1024 points, more than a thousand nodes, takes seconds of one core', () => {
    const source = program('fft').replace('SIZE', '1024');
    const start = process.cpuUsage();
    assert.ok(graphOf(source).nodes.length > 1000);
    assert.ok(process.cpuUsage(start).user < 10e6);
  });
});

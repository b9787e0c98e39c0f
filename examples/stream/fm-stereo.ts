// A stereo broadcast of a melody is synthesised, received by fm-stereo.str and written as sound. Arguments: a WAV file and seconds.
import { readFile, writeFile } from 'node:fs/promises';
import { stream } from 'warploom';
import { kSignalRate, kSoundRate, stereoBroadcast, stereoSound, wavFile } from './fm-signal.ts';

const path = process.argv[2] ?? 'melody.wav';
const seconds = Number(process.argv[3] ?? 2);
const source = await readFile(new URL('fm-stereo.str', import.meta.url), 'utf8');
const { graph } = await stream.elaborate(source, { file: 'fm-stereo.str' });
const received = await stream.interpret(graph, { input: stereoBroadcast(seconds) });
await writeFile(path, wavFile(received.output, 2));

// What was received against what was sent: the receiver's filters delay it by 64 samples of the signal, and its deemphasis at the
// sound's rate by 2 less than the sender's emphasis at the signal's.
let [error, power] = [0, 0];
for (let n = kSoundRate / 10; 2 * n < received.output.length; ++n) {
  const sent = stereoSound(n / kSoundRate + 66 / kSignalRate);
  for (const channel of [0, 1]) {
    error += (received.output[2 * n + channel]! / 0.9 - sent[channel]!) ** 2;
    power += sent[channel]! ** 2;
  }
}
const ratio = 10 * Math.log10(power / error);
console.log(`${path}: ${(received.output.length / 2 / kSoundRate).toFixed(2)} s, ${ratio.toFixed(1)} dB above noise and distortion`);
if (!(ratio > 35)) process.exitCode = 1;

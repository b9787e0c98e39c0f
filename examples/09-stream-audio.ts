// Audio through a stream program as it comes: an endless source, an FM receiver, and a slow reader that holds both back.
import { readFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { stream } from 'warploom';

const source = await readFile(new URL('./stream/fm-radio.str', import.meta.url), 'utf8');
const { graph } = await stream.elaborate(source);

/** A carrier whose frequency follows a tone, in blocks of 1000 samples; it counts what was read of it. */
let blocksRead = 0;
function* antenna(): Generator<Float32Array> {
  for (let phase = 0; ; ++blocksRead) {
    const first = 1000 * blocksRead;
    yield Float32Array.from({ length: 1000 }, (_, i) => Math.sin(phase += 0.6 + 0.2 * Math.sin(2 * Math.PI * (first + i) / 500)));
  }
}

// As an iteration: the antenna is read block by block, no faster than the loop takes what comes out.
const heard: number[] = [];
const session = await stream.open<Float32Array>(graph);
console.log(`a session by ${session.backend}; it holds back ${session.latency} samples`);
for await (const block of session.process(antenna())) {
  heard.push(...block);
  if (heard.length >= 4000) break; // ends the antenna and the session
}
console.log(`${heard.length} samples of sound from ${blocksRead} blocks`);

// As a Node stream, into a loudspeaker that takes 1 ms for each block: the antenna waits for it.
const before = blocksRead;
let played = 0, ahead = 0;
const speaker = new Writable({
  objectMode: true, highWaterMark: 1,
  write: (block: Float32Array, _, done) => {
    played += block.length;
    ahead = Math.max(ahead, blocksRead - before - Math.floor(played / 200));
    void wait(1).then(() => { done(); });
  },
});
const stop = new AbortController();
setTimeout(() => { stop.abort(); }, 200);
const receiver = await stream.open(graph, { signal: stop.signal });
await pipeline(Readable.from(antenna(), { highWaterMark: 1 }), receiver.duplex(), speaker).catch((error: unknown) => {
  if (!stop.signal.aborted) throw error;
});
console.log(`${played} samples played; the antenna was at most ${ahead} blocks ahead`);

// What a session gives is what a run gives, to the bit.
const all = new Float32Array(1000 * 25);
let at = 0;
blocksRead = 0;
for (const block of antenna()) {
  if (at === all.length) break;
  all.set(block, at);
  at += block.length;
}
const { output } = await stream.run(graph, { input: all });
const isEqual = heard.every((sample, i) => i >= output.length || sample === output[i]);
console.log(`the first ${Math.min(heard.length, output.length)} samples are those of stream.run: ${isEqual}`);
if (!isEqual || ahead > 12 || !session.closed || !receiver.closed) process.exitCode = 1;

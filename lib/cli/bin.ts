#!/usr/bin/env node
// Entry point of the `warploom` executable: process streams, signals and exit code.
import { main } from './main.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => stop.abort(new Error(`stopped by ${signal}`)));
}
// A reader that closes early (warploom info | head) is no failure of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2), {
  out: process.stdout, err: process.stderr, signal: stop.signal,
});

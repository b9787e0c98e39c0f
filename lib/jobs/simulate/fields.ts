// The fields of a simulation that a job writes and draws.
import type { RealArray } from '../../swept/types.ts';

/** Fields of one snapshot by name. */
export type Fields = Readonly<Record<string, RealArray>>;

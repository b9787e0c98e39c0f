// The state of a simulation as a job writes and draws it.
import type { RealArray } from '../../swept/types.ts';

/** Fields of one snapshot by name. */
export type Fields = Readonly<Record<string, RealArray>>;

// The limit on the text of a program for a device: compilers take time and memory for each character.
import { UnsupportedProgram } from '../plan/unsupported.ts';

/** Characters that the text of a program may have. The longest of the twelve programs has about 260,000. */
export const mostText = 1_000_000;

/** Throws UnsupportedProgram for text that is too long to be compiled. */
export function checkLength({ length }: string, most = mostText): void {
  if (length > most) throw new UnsupportedProgram(`its text for the device has ${length} characters, and at most ${most} are compiled`);
}

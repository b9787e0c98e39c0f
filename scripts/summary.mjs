// The one line every runner of this project ends with: «N passed, N failed, N skipped».

/** Matches the line; groups are the three counts. */
export const kSummary = /^(\d+) passed, (\d+) failed, (\d+) skipped$/gm;

/** Prints the line and sets the exit code. */
export function printSummary([passed, failed, skipped]) {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (failed > 0) process.exitCode = 1;
}

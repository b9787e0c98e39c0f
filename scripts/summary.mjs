// The line with which every runner of this project ends: "N passed, N failed, N skipped".

/** Matches the line; the groups are the three counts. */
export const kSummary = /^(\d+) passed, (\d+) failed, (\d+) skipped$/gm;

/** Prints the line and sets the exit code. */
export function printSummary([passed, failed, skipped]) {
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (failed > 0) process.exitCode = 1;
}

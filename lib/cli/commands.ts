// All commands, in the order in which the help lists them. A new command is declared here, and nowhere else.
import { benchCommand, hasBenchmarks } from './bench.ts';
import type { Command } from './command.ts';
import { completionCommand } from './completion-command.ts';
import { denoiseCommand } from './denoise.ts';
import { doctorCommand } from './doctor.ts';
import { infoCommand } from './info.ts';
import { registerCommand } from './register.ts';
import { runCommand } from './run.ts';
import { scratchpadCommand } from './scratchpad.ts';
import { segmentCommand } from './segment.ts';
import { serveCommand } from './serve.ts';
import { simulateCommand } from './simulate.ts';
import { solveCommand } from './solve.ts';
import { streamCommand } from './stream.ts';
import { studioCommand } from './studio.ts';
import { submitCommand, workerCommand } from './submit.ts';

/** The commands of this installation. */
export function commands(): readonly Command[] {
  const list = [
    infoCommand, doctorCommand, runCommand, submitCommand, workerCommand, solveCommand, simulateCommand, denoiseCommand, segmentCommand,
    registerCommand, scratchpadCommand, streamCommand, serveCommand, studioCommand, ...(hasBenchmarks() ? [benchCommand] : []),
  ];
  return [...list, completionCommand(list)];
}

// Job kind `stream`: a program in the StreamIt language over a file or a generated signal.
import { z } from 'zod';
import { common, path } from '../fields.ts';

/** Files of a job that its output must not replace. */
const taken: readonly string[] = ['result.json', 'graph.svg', 'state.checkpoint', 'state.checkpoint.previous', 'result.zarr'];

/** `stream`. */
export const streamJobSchema = z.strictObject({
  ...common,
  kind: z.literal('stream'),
  program: path.describe('the program, a .str file'),
  main: z.string().min(1).optional().describe('the main stream; default: the void->void stream that no other adds'),
  parameters: z.record(z.string(), z.union([z.number(), z.boolean(), z.string(), z.array(z.number())])).optional()
    .describe('values for the parameters of that stream, by name'),
  input: z.union([
    path.describe('items of an open input: .npy, .wav, .txt, or raw 32-bit words'),
    z.strictObject({
      signal: z.literal('fm-stereo').describe('a melody in stereo, modulated as in broadcasting; complex samples at 240 kHz'),
      seconds: z.number().min(0.2).max(600).default(5),
      noise: z.number().min(0).max(1).default(0.01)
        .describe('standard deviation of the noise in the real and the imaginary part; the carrier is 1'),
    }),
  ]).optional(),
  output: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/)
    .refine((name) => !taken.includes(name.toLowerCase().replace(/\.+$/, '')), { error: 'the job itself writes a file of this name' })
    .default('output.npy').describe('file for the items of an open output'),
  channels: z.number().int().min(1).max(16).default(1).describe('of a .wav output, interleaved'),
  rate: z.number().int().min(1).max(1_000_000).optional()
    .describe('samples per second of a .wav output; default that of the input, or 48000'),
  items: z.number().int().min(1).optional().describe('end after this many items; default: when the input ends'),
  iterations: z.number().int().min(1).optional().describe('end after this many steady states'),
  backend: z.enum(['auto', 'cuda', 'wasm', 'cpp', 'interpret', 'simt', 'js']).default('auto')
    .describe('auto: cuda for long runs on a GPU, otherwise wasm, or interpret for programs that wasm does not support; '
      + 'cpp needs a C++ compiler; simt: for tests; js: the former name of wasm'),
  algebraic: z.boolean().optional()
    .describe('multiplies linear filters together where that takes fewer operations; the output changes within rounding'),
  threads: z.number().int().min(1).max(1024).optional()
    .describe('maximum number of threads of a compiled program; default: all cores for long runs'),
});
export type StreamJob = z.infer<typeof streamJobSchema>;

// Flags that denoise, segment and register share.
import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { openDevice, type Device } from '../core/device.ts';
import { makeFolder } from '../core/files.ts';
import { elementAt } from '../core/known.ts';
import { formatOfPath, imageEndings } from '../files/write-image.ts';
import type { ItemReport } from '../jobs/kind.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, numberFlag, UsageError, type CommandContext, type Options,
} from './command.ts';
import { isStandardOutput } from './standard-output.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;

/** For `parseFlags`. */
export const imageFlags = {
  out: { type: 'string', short: 'o', takes: 'file' }, preview: file, mask: file, range: text, 'add-noise': text,
  precision: { type: 'string', values: ['float32', 'float64'] }, page: text, series: text,
  axes: { type: 'string', values: ['yx', 'zyx', 'cyx', 'czyx', 'yxc', 'zyxc'] }, raw: text, 'max-pixels': text,
  backend: { type: 'string', values: backendNames },
} as const satisfies Options;

/** Their help, for the end of a command's list. */
export const imageHelp = `  Files: PNG, JPEG and WebP (need npm install sharp), TIFF (stacks are volumes),
  NIfTI (.nii, .nii.gz), DICOM (a file, or a folder of slices; read only), .npy, raw.
  -o - writes to standard output, in the format of the input; -o -.npy in another one.
  Instead of a file: - for standard input, phantom:shepp-logan,size=64,dimensions=3 or phantom:discs,size=256.

      --range R          intensities that are mapped to 0 and 1: unit, own, or LOW,HIGH. Default: unit for PNG, JPEG,
                         WebP and TIFF integers and phantoms, own (smallest to largest) for all others; results are scaled back
      --mask FILE        an image of the same extents: measure only where it is not 0
      --add-noise N      adds noise first: gaussian:sigma=0.1,seed=1 or impulsive:amount=0.1
      --precision P      float32 (default), float64
      --page N           one page of a TIFF, from 0
      --series UID       one series of a DICOM folder that holds several
      --axes A           axes of a .npy array, slowest first: yx, zyx, cyx, czyx, yxc, zyxc
      --raw LAYOUT       of a file without a header: 640x480:uint16, 64x64x32:float32, 640x480x1x3:uint8:interleaved;
                         :big-endian and :offset=512 where needed
      --max-pixels N     reject images with more samples (default 268435456)
      --backend B        auto, cuda, cpu, simt
`;

export const exitCodesHelp = 'Exit codes: 0 success; 1 failure; 2 invalid flags or image; 3 device; 130 interrupted.\n';

export type FlagValues = Readonly<Record<string, string | boolean | undefined>>;

export const realFlag = (values: FlagValues, name: string): number | undefined =>
  numberFlag(name, values[name] as string | undefined);

export const wholeFlag = (values: FlagValues, name: string, low: number, high: number): number | undefined =>
  integerFlag(name, values[name] as string | undefined, low, high);

/** Numbers with commas between them. */
export function numbersFlag(values: FlagValues, name: string): readonly number[] | undefined {
  const value = values[name];
  if (typeof value !== 'string') return undefined;
  const numbers = value.split(',').map((word) => (word.trim() === '' ? NaN : Number(word)));
  if (!numbers.every(Number.isFinite)) throw new UsageError(`--${name} takes numbers with commas between them, not '${value}'`);
  return numbers;
}

/** `kind:key=value,…` as an object; a value that is a number becomes one. */
function pairs(name: string, value: string): Record<string, unknown> {
  return Object.fromEntries(value.split(',').filter((part) => part !== '').map((part) => {
    const [key = '', word] = part.split('=');
    if (word === undefined || word === '') throw new UsageError(`${name}: ${part} is not key=value`);
    return [key, Number.isFinite(Number(word)) ? Number(word) : word];
  }));
}

/** A file, or `phantom:NAME,key=value,…`. */
export function inputFlag(value: string): unknown {
  const named = /^phantom:([a-z-]+)(?:,(.*))?$/.exec(value);
  return named === null ? value : { phantom: named[1], ...pairs('phantom', named[2] ?? '') };
}

/** `NAME`, or a first contour with its place: `ball:x=170,y=105,radius=40`, `box:x0=4,y0=4,x1=60,y1=60`, `checkerboard:square=9`. */
export function contourFlag(value: string | undefined): unknown {
  const [kind, rest] = value?.split(/:(.*)/s) ?? [];
  if (rest === undefined) return kind;
  const fields = pairs('--initial', rest);
  const corner = (suffix: string) => ['x', 'y', 'z'].map((axis) => fields[axis + suffix]).filter((number) => number !== undefined);
  const taken = kind === 'box' ? ['x0', 'y0', 'z0', 'x1', 'y1', 'z1'] : kind === 'ball' ? ['x', 'y', 'z'] : [];
  const others = Object.fromEntries(Object.entries(fields).filter(([key]) => !taken.includes(key)));
  const points: Record<string, unknown[]> = kind === 'box' ? { low: corner('0'), high: corner('1') }
    : kind === 'ball' ? { centre: corner('') } : {};
  return { kind, ...others, ...Object.fromEntries(Object.entries(points).filter(([, list]) => list.length > 0)) };
}

function noiseFlag(value: string | undefined): unknown {
  if (value === undefined) return undefined;
  const [kind, rest = ''] = value.split(/:(.*)/s);
  return { kind, ...pairs('--add-noise', rest) };
}

function rangeFlag(value: string | undefined): unknown {
  if (value === undefined || value === 'unit' || value === 'own') return value;
  const numbers = value.split(',').map(Number);
  if (numbers.length !== 2 || !numbers.every(Number.isFinite)) throw new UsageError(`--range takes unit, own or LOW,HIGH, not '${value}'`);
  return numbers;
}

/** WIDTHxHEIGHT[xDEPTH[xCHANNELS]]:TYPE[:big-endian][:interleaved][:offset=BYTES]. */
function rawFlag(value: string | undefined): unknown {
  if (value === undefined) return undefined;
  const [extents = '', sampleType, ...rest] = value.split(':');
  const [width, height, depth, channels] = extents.split('x').map(Number);
  const layout: Record<string, unknown> = { width, height, depth, channels, sampleType };
  for (const word of rest) {
    const offset = /^offset=(\d+)$/.exec(word)?.[1];
    if (word === 'big-endian') layout['littleEndian'] = false;
    else if (word === 'interleaved') layout['interleaved'] = true;
    else if (offset !== undefined) layout['offset'] = Number(offset);
    else throw new UsageError(`--raw: ${word} is not big-endian, interleaved or offset=BYTES`);
  }
  return present(layout);
}

/** Without the fields that are undefined. */
export function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Fields of an image job from the shared flags. */
export function imageJobFields(values: FlagValues): Record<string, unknown> {
  const word = (name: string) => values[name] as string | undefined;
  const read = present({
    page: wholeFlag(values, 'page', 0, 2 ** 31), series: word('series'), axes: word('axes'), raw: rawFlag(word('raw')),
    maxPixels: wholeFlag(values, 'max-pixels', 1, 2 ** 40),
  });
  return present({
    precision: word('precision'), range: rangeFlag(word('range')), addNoise: noiseFlag(word('add-noise')), mask: word('mask'),
    read: Object.keys(read).length > 0 ? read : undefined,
  });
}

/** The job that flags stand for; names what the schema refuses. */
export function parseImageJob<T>(schema: z.ZodType<T>, job: Readonly<Record<string, unknown>>): T {
  const parsed = schema.safeParse(present(job));
  if (parsed.success) return parsed.data;
  const issue = elementAt(parsed.error.issues, 0);
  const keys = 'keys' in issue ? (issue.keys).join(', ') : '';
  throw new UsageError(`${[...issue.path, keys].filter((part) => part !== '').join('.')}: ${issue.message}`);
}

/** What `--json` writes of an image command. */
export const imageResult = (
  report: Omit<ItemReport, 'files'>, { backend, name }: Device, files: Readonly<Record<string, unknown>>,
): object => ({ ...report, device: { backend, name }, files });

/** Opens the device of `--backend`, runs with a progress bar, and closes it. */
export async function withImageDevice(
  name: string, values: FlagValues, context: CommandContext,
  body: (running: { device: Device; signal: AbortSignal; onProgress: (done: number, total: number) => void }) => Promise<void>,
): Promise<ExitCode> {
  const backend = choiceFlag('backend', values['backend'] as string | undefined, backendNames) ?? 'auto';
  const device = await openDevice({ backend });
  const bar = context.progress();
  try {
    await body({ device, signal: context.signal, onProgress: (done, total) => bar.update(name, done, total) });
    return ExitCode.ok;
  } finally {
    bar.clear();
    await device.close();
  }
}

/** The path of a result, which some format must have the ending of; undefined when the flag is absent. `out` may be -. */
export function imagePathFlag(values: FlagValues, name: string): string | undefined {
  const path = values[name];
  if (typeof path !== 'string') return undefined;
  if (!(name === 'out' && path === '-') && formatOfPath(path) === undefined) {
    throw new UsageError(`--${name} takes a path ending in ${imageEndings}, not '${path}'`);
  }
  return path;
}

/** Refuses results of which one would overwrite the other. */
export function requireApart(paths: Readonly<Record<string, string | undefined>>): void {
  const named = new Map<string, string>();
  for (const [flag, path] of Object.entries(paths)) {
    if (path === undefined) continue;
    const other = named.get(resolve(path));
    if (other !== undefined) throw new UsageError(`--${other} and --${flag} name the same file, '${path}'`);
    named.set(resolve(path), flag);
  }
}

/** Where the picture goes. */
export function previewFlag(values: FlagValues): string | undefined {
  const path = values['preview'];
  if (typeof path !== 'string') return undefined;
  if (!/\.(svg|png)$/i.test(path)) throw new UsageError(`--preview takes a path ending in .svg or .png, not '${path}'`);
  return path;
}

/** Where the result goes; - is standard output. The folder is made. */
export async function outputFlag(values: FlagValues): Promise<string> {
  const path = imagePathFlag(values, 'out');
  if (path === undefined) throw new UsageError('say where the result goes: -o FILE');
  if (!isStandardOutput(path)) await makeFolder(dirname(path));
  return path;
}

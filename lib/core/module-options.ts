// Options of Device.module: read and checked at the call, before anything is compiled.
import { describeValue } from './arrays.ts';
import { abortSignal, anything, fileName, hasFields, requireList, requireText, text, truth, whole } from './checks.ts';
import { refusal } from './errors.ts';
import { needed, normally, optionsOf, type ChecksOf } from './options.ts';

/** Options of {@link Device.module}. */
export interface ModuleOptions {
  /**
   * Text that includes "cuda/core/module.cuh" and declares each kernel: `WARPLOOM_KERNEL(name, Agent)`. At most 64 Mi characters with its
   * headers.
   */
  readonly source: string;
  /** Names of the kernels to load. */
  readonly kernels: readonly string[];
  /** Maximum number of registers per thread, 16 to 255; default: as many as the agents' kMaxThreads and kMinBlocks allow. */
  readonly maxRegisters?: number;
  /** Allows fused multiply-adds, inexact division and square roots, and flushing of subnormal numbers; default false. */
  readonly fast?: boolean;
  /** Headers that the text includes, by name (`'tables/sine.h'`). */
  readonly headers?: Readonly<Record<string, string>>;
  /** Folder for compiled modules. Default: `warploom/modules` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Time limit for the compiler in milliseconds; default 300,000. */
  readonly timeout?: number;
  /** Stops the compiler; the call then rejects with `signal.reason`. */
  readonly signal?: AbortSignal;
}

/** Options with their defaults, copied. */
export interface ReadModuleOptions {
  readonly source: string;
  readonly kernels: readonly string[];
  readonly maxRegisters: number | undefined;
  readonly fast: boolean;
  readonly headers: ReadonlyMap<string, string>;
  readonly cacheFolder: string | undefined;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
  /** Whether the compiler gives way to other programs, and to the end of this process. */
  readonly isBackground: boolean;
}

/** Limit on the characters of the text and its headers; compilers take minutes for less. */
const mostText = 2 ** 26;
const mostKernels = 4096, mostHeaders = 1024;

const moduleOptions = optionsOf('module', {
  source: needed(text()), kernels: needed(anything), maxRegisters: whole(16, 255), fast: normally(truth, false), headers: anything,
  cacheFolder: fileName, timeout: normally(whole(1, 2 ** 31 - 1), 300_000), signal: abortSignal,
} satisfies ChecksOf<ModuleOptions>);

function readKernels(given: unknown): string[] {
  requireList(given, 'kernels');
  if (given.length < 1 || given.length > mostKernels) throw refusal('kernels', `1 to ${mostKernels} names`, String(given.length));
  const names = new Set<string>();
  for (let i = 0; i < given.length; i += 1) {
    const name: unknown = given[i];
    if (typeof name !== 'string' || !/^[A-Za-z]\w{0,60}$/.test(name)) {
      throw refusal(`kernels[${i}]`, 'a name of C of at most 61 letters, digits and underscores', describeValue(name));
    }
    if (names.has(name)) throw refusal(`kernels[${i}]`, 'names that differ', `${name} again`);
    names.add(name);
  }
  return [...names];
}

/** Headers are placed next to the text, module.cu, and must not hide the library's own. */
const headerName = /^(?!cuda\/|simt\/|module\.cu(?:\/|$))(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;

function readHeaders(given: unknown): Map<string, string> {
  if (given === undefined) return new Map();
  if (!hasFields(given)) throw refusal('headers', 'an object of texts by name', describeValue(given));
  const headers = new Map<string, string>();
  for (const [name, header] of Object.entries(given)) {
    if (!headerName.test(name) || name.length > 200) {
      throw refusal('headers', "names like 'tables/sine.h', outside cuda/ and simt/, and not module.cu", JSON.stringify(name));
    }
    requireText(header, `headers[${JSON.stringify(name)}]`);
    headers.set(name, header);
  }
  if (headers.size > mostHeaders) throw refusal('headers', `at most ${mostHeaders}`, String(headers.size));
  for (const name of headers.keys()) {
    for (let at = name.indexOf('/'); at >= 0; at = name.indexOf('/', at + 1)) {
      if (headers.has(name.slice(0, at))) throw refusal('headers', 'no header whose name is a folder of another', name.slice(0, at));
    }
  }
  return headers;
}

/** Reads and checks the options of a call. Throws ArgumentError. */
export function readModuleOptions(given: ModuleOptions, isBackground = false): ReadModuleOptions {
  const { source, maxRegisters, fast, cacheFolder, timeout, signal, ...rest } = moduleOptions.read(given);
  const kernels = readKernels(rest.kernels);
  const headers = readHeaders(rest.headers);
  const texts = [source, ...headers.values()];
  const length = texts.reduce((sum, each) => sum + each.length, 0);
  if (length > mostText) throw refusal('source', `at most ${mostText} characters, headers included`, String(length));
  const declared = new Set(texts.flatMap((each) => [...each.matchAll(/\bWARPLOOM_KERNEL\s*\(\s*(\w+)\s*,/g)].map((match) => match[1])));
  for (const [i, name] of kernels.entries()) {
    if (!declared.has(name)) {
      throw refusal(`kernels[${i}]`, 'a kernel that the text declares (WARPLOOM_KERNEL)', name);
    }
  }
  return { source, kernels, maxRegisters, fast, headers, cacheFolder, timeout, signal, isBackground };
}

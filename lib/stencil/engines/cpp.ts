// Runs equations as C++: compiled by the system's compiler, and run in a child process, so that a crash stays confined to it. The state
// is in that process.
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { compilerArguments, compileSources, gccArguments, type CompilerOptions } from '../../core/compile/sources.ts';
import { PipedChild } from '../../core/compile/piped.ts';
import { OutOfMemoryError, WarploomError } from '../../core/errors.ts';
import { readBytesSync } from '../../core/files.ts';
import { leading } from '../../core/known.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import { blockedText, ranked } from '../compile/blocked.ts';
import type { StencilProgram, Target } from '../compile/stages.ts';
import type { RealArray } from '../types.ts';
import type { StepClock } from './adaptive.ts';
import { tileShape, type TileShape } from './tiles.ts';
import { arrayOf, type Content, type Engine, type Outcome, type Span } from './span.ts';

/** What a run in C++ begins with. */
export interface CppParts {
  readonly made: StencilProgram;
  readonly target: Target;
  readonly content: Content;
  readonly threads: number | undefined;
  readonly depth: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Default: chosen by a model. */
  readonly shape?: TileShape;
  readonly compiler?: Omit<CompilerOptions, 'signal'>;
  /** Milliseconds that a request may take; default ten minutes. */
  readonly timeout?: number;
}

/** Requests, and the statuses of answers, as in runtime/main.cpp. */
const runRequest = 1, readRequest = 2, probeRequest = 3, runLimited = 4, probeLimited = 5;
const noMemory = 1;

/** Cells and steps that are worth a thread of their own. */
const worthThread = 2 ** 13;

function runtimeFile(name: string): string {
  return readBytesSync(fileURLToPath(new URL(`../runtime/${name}`, import.meta.url))).toString('utf8');
}

/** For AMD's processors GCC reads numbers from memory again where it could keep them: a heat equation then takes 1.3 times as long. */
const tuning = process.arch === 'x64' ? ['-mtune=skylake'] : [];

const runtimeHeaders = ['blocked.h', 'clock.h', 'crew.h', 'places.h', 'rings.h', 'rows.h', 'stencil.h', 'wide.h'];

/** The path of an equation's program, compiled if necessary. */
async function compileEquation(made: StencilProgram, target: Target, options: CompilerOptions): Promise<string> {
  const own = Object.fromEntries(runtimeHeaders.map((name) => [name, runtimeFile(name)]));
  const headers = { 'arithmetic.h': arithmeticHeader(), ...own };
  const sources = { cache: 'stencil', program: [blockedText(made, target)], headers, runtime: runtimeFile('main.cpp') } as const;
  const more = await gccArguments(false, options.compiler);
  return compileSources(sources, [...compilerArguments('strict', options.effort), ...more, ...tuning], options);
}

/** Compiles an equation, so that {@link CppEngine.begin} finds it in the cache. */
export async function prepareCpp(made: StencilProgram, target: Target, options: CompilerOptions): Promise<void> {
  await compileEquation(made, target, options);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength);

export class CppEngine implements Engine {
  readonly backend = 'cpp';
  readonly variant = 'streaming';
  readonly shapes = [];
  readonly threads: number;
  readonly depth: number;
  readonly reason: string;
  readonly #child: PipedChild;
  readonly #content: Content;
  readonly #timeout: number;

  private constructor(child: PipedChild, { content, timeout = 600_000 }: CppParts, { depth, tile }: TileShape,
    threads: number) {
    this.#child = child;
    this.#content = content;
    this.#timeout = timeout;
    this.threads = threads;
    this.depth = depth;
    const size = tile.slice(content.grid.shape.length === 1 ? 2 : 0).filter((_, axis) => axis !== 1 || content.grid.shape.length === 3)
      .join(' × ');
    this.reason = `${depth} step${depth === 1 ? '' : 's'} per pass, tiles of ${size} cells, ${threads} thread${threads === 1 ? '' : 's'}`;
  }

  /**
   * Compiles the equation and hands the state to its process.
   * @throws NoCompilerError; WarploomError if the compiler or the process fails; OutOfMemoryError
   */
  static async begin(parts: CppParts): Promise<CppEngine> {
    const { made, target, content, depth, signal, compiler } = parts;
    const { grid, precision } = content;
    const threads = parts.threads ?? Math.max(1, Math.min(availableParallelism(), Math.floor((grid.cells * grid.members) / worthThread)));
    const shape = tileShape(made, target, grid, threads, parts.shape ?? (depth === undefined ? {} : { depth }));
    const path = await compileEquation(made, target, { ...compiler, ...(signal === undefined ? {} : { signal }) });
    const child = new PipedChild(path, [], 'the compiled equation');
    const engine = new CppEngine(child, parts, shape, threads);
    try {
      await engine.#hand(shape, made.names.parameters.length, made.names.coefficients.length, precision === 'f32' ? 4 : 8);
      return engine;
    } catch (error) {
      child.dispose();
      throw error;
    }
  }

  async #hand({ depth, tile }: TileShape, parameters: number, coefficients: number, bytes: number): Promise<void> {
    const { grid, parameters: given, coefficients: cells, initial, precision } = this.#content;
    const program = [bytes, parameters, coefficients, grid.fields, 0, 0, 0];
    const head = [this.threads, ...ranked(grid.shape, 1), grid.members, depth, ...tile, ...program];
    const numbers = arrayOf(precision, given.length);
    numbers.set(given);
    const { status } = await this.#ask([BigInt64Array.from(head, BigInt), numbers, cells, initial]);
    if (status === noMemory) {
      const requestedBytes = 2 * initial.byteLength;
      throw new OutOfMemoryError('the memory of a compiled equation is too small for this grid: take a smaller one or float32',
        { requestedBytes, inUseBytes: 0, limitBytes: requestedBytes });
    }
    if (status !== 0) throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the compiled equation answered with status ${status}`);
  }

  async #ask(parts: readonly ArrayBufferView[]): Promise<Outcome & { readonly status: number; readonly clock: StepClock }> {
    this.#child.write(parts.map(bytesOf));
    const answer = await this.#read(64);
    const [status, completed, seconds, time, dt, rate, stuck] = leading(new Float64Array(answer.buffer, 0, 8), 7);
    return { status, completed, seconds, clock: { time, dt, rate, isStuck: stuck !== 0 } };
  }

  /** The next bytes of the answer. A process that does not give them in time is ended. */
  async #read(bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const late = { is: false };
    const timer = setTimeout(() => {
      late.is = true;
      this.#child.dispose();
    }, this.#timeout);
    try {
      return await this.#child.read(bytes);
    } catch (cause) {
      if (!late.is) throw cause;
      throw new WarploomError('ERR_WARPLOOM_SYSTEM_FAILED', `the compiled equation took more than ${this.#timeout} ms`, { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  #request(kind: 'run' | 'probe', { steps, originTime, from, unit, dt, limits }: Span): Float64Array {
    if (limits === undefined) return Float64Array.of(kind === 'run' ? runRequest : probeRequest, steps, originTime, from, unit, dt, 0, 0);
    const { time, until, most, h, g } = limits;
    return Float64Array.of(kind === 'run' ? runLimited : probeLimited, steps, time, until, most, h, g, 0);
  }

  async advance(span: Span): Promise<Outcome> {
    const { completed, seconds, clock } = await this.#ask([this.#request('run', span)]);
    return { completed, seconds, ...(span.limits === undefined ? {} : { clock }) };
  }

  probe(span: Span): Promise<RealArray> {
    return this.#array(this.#request('probe', span));
  }

  read(): Promise<RealArray> {
    return this.#array(Float64Array.of(readRequest, 0, 0, 0, 0, 0, 0, 0));
  }

  async #array(request: Float64Array): Promise<RealArray> {
    const { precision, initial } = this.#content;
    this.#child.write([bytesOf(request)]);
    const { buffer } = await this.#read(initial.byteLength);
    return precision === 'f32' ? new Float32Array(buffer) : new Float64Array(buffer);
  }

  dispose(): void {
    this.#child.dispose();
  }
}

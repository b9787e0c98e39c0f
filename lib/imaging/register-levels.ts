// The levels of a registration, the coarsest first, on the device of the call.
import { callOptions, newReals, release, viewOf } from '../core/call.ts';
import { Device, DeviceArray, inputArray, resultArray } from '../core/device.ts';
import { refusal } from '../core/errors.ts';
import { elementAt, lastOf, required } from '../core/known.ts';
import type { CallOptions } from '../core/progress.ts';
import { spacingFields, type Pixels } from '../files/image.ts';
import { landmarkError } from './landmarks.ts';
import { hostPixels, maskedStack, unstacked } from './mask.ts';
import { double, halve, planPyramid, pointsOf, type PyramidLevel, type Resampled } from './pyramid.ts';
import type { RegisterCall, RegisterResult, RegistrationLevel } from './register-options.ts';
import { statusOf, type IterationStatus } from './status.ts';
import { gridOf } from './warp.ts';

type Outcome = Omit<RegisterResult, 'displacement' | 'warped'> & { readonly displacement: Pixels; readonly warped: Pixels };

/** Both images on one level. */
interface LevelImages {
  readonly reference: Pixels;
  readonly template: Pixels;
}

function ignore(): void {}

/** Iterations over which `tolerance` looks at the fall of the measure. */
const window = 10;

/** How a level ended. */
function statusOfLevel({ converged, iterations, values, width, height, depth }: RegistrationLevel, tolerance: number): IterationStatus {
  const before = values[values.length - 1 - window];
  const measure = before === undefined ? NaN : (before - lastOf(values)) / before;
  const level = `${width} × ${height}${depth > 1 ? ` × ${depth}` : ''}`;
  return statusOf({ converged, iterations, measure, tolerance },
    `on the finest level (${level}), the measure's relative fall over ${window} iterations`, 'raise iterations or tolerance');
}

/** Steps of a registration that wait on the device at a time, where its queue is long: no pause between them, and room for others. */
const stepsAhead = 4;

const sumOf = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0);

/** The levels of a registration, finest first, and the iterations of each, coarsest first. */
function planned(call: RegisterCall): { levels: readonly PyramidLevel[]; iterations: readonly number[] } {
  const { levels: most = call.initial === undefined ? undefined : 1, iterations } = call.options;
  const levels = planPyramid(call.reference, Array.isArray(iterations) ? most ?? iterations.length : most);
  const each = (iterations as number | undefined) ?? (call.axes === 3 ? 40 : 60);
  if (!Array.isArray(iterations)) return { levels, iterations: levels.map(() => each) };
  if (iterations.length !== levels.length) {
    throw refusal('iterations', `an entry for each of the ${levels.length} levels`, `${iterations.length} entries`);
  }
  return { levels, iterations };
}

/** Iterations of all levels: the total of which progress is reported. */
export const plannedIterations = (call: RegisterCall): number => sumOf(planned(call).iterations);

/** One registration: what it holds in device memory, the steps that are under way, and what it has found so far. */
class Registration {
  readonly #call: RegisterCall;
  readonly #levels: readonly PyramidLevel[];
  readonly #iterations: readonly number[];
  readonly #own: DeviceArray[] = [];
  readonly #steps: Promise<unknown>[] = [];
  readonly #history: RegistrationLevel[] = [];
  #told: Promise<void> = Promise.resolve();
  #seconds = 0;
  #done = 0;

  constructor(call: RegisterCall) {
    this.#call = call;
    ({ levels: this.#levels, iterations: this.#iterations } = planned(call));
  }

  /** Resolves when no step is in flight any more. */
  async release(): Promise<void> {
    await Promise.allSettled(this.#steps);
    release(this.#own);
  }

  async run(): Promise<Outcome> {
    const given = { reference: this.#taken(this.#call.reference.data), template: this.#taken(this.#call.template.data) };
    const initial = this.#call.initial === undefined ? undefined : this.#taken(this.#call.initial);
    const images = await this.#images(await this.#weighted(given));
    const before = this.#level(0, elementAt(images, 0), initial, 0, {});
    let field = await this.#coarsest(initial);
    await this.#follow(before.level);
    for (let level = this.#levels.length - 1; level >= 0; level -= 1) {
      if (level < this.#levels.length - 1) field = await this.#finer(field, level);
      const iterations = elementAt(this.#iterations, this.#levels.length - 1 - level);
      const found = this.#level(level, elementAt(images, level), field, iterations, this.#progress());
      field = found.field;
      this.#done += iterations;
      this.#told = this.#tell(this.#told, found.level);
      await this.#follow(this.#told);
    }
    return this.#conclude(field as DeviceArray, given.template, before.level);
  }

  /** Tells of a level, unless what heard of those before it would not go on. */
  async #tell(before: Promise<void>, level: Promise<RegistrationLevel>): Promise<void> {
    level.catch(ignore); // heard of where those before it were told
    await before;
    const found = await level;
    this.#history.push(found);
    this.#call.options.onLevel?.(found);
  }

  /** Goes on behind a step, which the device does in its turn; waits where enough do, and tells of those that failed. */
  async #follow(step: Promise<unknown>): Promise<void> {
    step.catch(ignore); // told when its turn comes
    this.#steps.push(step);
    const most = Math.min(stepsAhead, Math.ceil(Device.queueLimit(this.#call.device) / 64));
    while (this.#steps.length >= most) {
      const [oldest] = this.#steps;
      await oldest;
      void this.#steps.shift();
    }
  }

  /** Reports the iterations of all levels; the levels' own reports count theirs. */
  #progress(): CallOptions {
    const { signal, onProgress } = this.#call.options;
    const total = sumOf(this.#iterations);
    const done = this.#done;
    const report = onProgress === undefined ? undefined : (part: number): void => onProgress(done + part, total);
    return callOptions({ ...(signal === undefined ? {} : { signal }), ...(report === undefined ? {} : { onProgress: report }) });
  }

  /** What an array holds at the call. */
  #taken(data: Pixels): DeviceArray {
    const array = inputArray(this.#call.device, data);
    this.#own.push(array);
    return array;
  }

  async #resampled({ array, seconds }: Resampled): Promise<DeviceArray> {
    this.#own.push(array);
    await this.#follow(this.#timed(seconds));
    return array;
  }

  async #timed(seconds: Promise<number>): Promise<void> {
    const taken = await seconds; // read #seconds after it: other steps add to them meanwhile
    this.#seconds += taken;
  }

  /** Both images, their channels by the roots of the weights: the squares of their differences then have the weights. */
  async #weighted(given: { readonly reference: DeviceArray; readonly template: DeviceArray }): Promise<LevelImages> {
    const { options: { weights, signal }, reference: { points } } = this.#call;
    if (weights === undefined) return given;
    const weighted = async (image: DeviceArray): Promise<DeviceArray> => {
      const pixels = await hostPixels(image, signal);
      for (let i = 0; i < pixels.length; i += 1) pixels[i] = elementAt(pixels, i) * Math.sqrt(elementAt(weights, Math.floor(i / points)));
      return this.#taken(pixels);
    };
    return { reference: await weighted(given.reference), template: await weighted(given.template) };
  }

  async #images(finest: LevelImages): Promise<LevelImages[]> {
    const { device, reference, options } = this.#call;
    const images: LevelImages[] = [finest];
    for (let level = 1; level < this.#levels.length; level += 1) {
      const fine = elementAt(this.#levels, level - 1);
      const coarse = elementAt(this.#levels, level);
      const last = lastOf(images);
      images.push({
        reference: await this.#resampled(halve(device, reference.type, last.reference, fine, coarse, options, reference.channels)),
        template: await this.#resampled(halve(device, reference.type, last.template, fine, coarse, options, reference.channels)),
      });
    }
    return this.#call.inside === undefined ? images : await this.#masked(images, this.#call.inside);
  }

  /** The images, the reference without what is outside the mask on every level: means of the pixels inside. */
  async #masked(images: readonly LevelImages[], inside: Uint8Array): Promise<LevelImages[]> {
    const { device, reference: { type, points, channels }, options } = this.#call;
    let stack = maskedStack(await hostPixels(elementAt(images, 0).reference, options.signal), inside);
    const masked: LevelImages[] = [];
    for (const [level, { template }] of images.entries()) {
      if (level > 0) {
        const [fine, coarse] = [elementAt(this.#levels, level - 1), elementAt(this.#levels, level)];
        const halved = await this.#resampled(halve(device, type, this.#taken(stack), fine, coarse, options, 2 * channels));
        stack = await hostPixels(halved, options.signal);
      }
      const samples = channels * (level === 0 ? points : pointsOf(elementAt(this.#levels, level)));
      masked.push({ reference: this.#taken(unstacked(stack, samples)), template });
    }
    return masked;
  }

  /** The displacement that the coarsest level starts from, in its pixels. */
  async #coarsest(initial: DeviceArray | undefined): Promise<DeviceArray | undefined> {
    const { device, reference: { type }, axes, options } = this.#call;
    let field = initial;
    for (let level = 1; field !== undefined && level < this.#levels.length; level += 1) {
      const [fine, coarse] = [elementAt(this.#levels, level - 1), elementAt(this.#levels, level)];
      const halved = await this.#resampled(halve(device, type, field, fine, coarse, options, axes));
      const pixels = await hostPixels(halved, options.signal);
      const halves = [fine.halved.halveX, fine.halved.halveY, fine.halved.halveZ];
      const points = pointsOf(coarse);
      for (let i = 0; i < pixels.length; i += 1) if (halves[Math.floor(i / points)] === true) pixels[i] = elementAt(pixels, i) / 2;
      field = this.#taken(pixels);
    }
    return field;
  }

  #finer(field: DeviceArray | undefined, level: number): Promise<DeviceArray> {
    const { device, reference, options } = this.#call;
    return this.#resampled(double(device, reference.type, required(field), elementAt(this.#levels, level), options));
  }

  /** The iterations of one level: the displacement that they lead to, which calls may use at once, and how they went. */
  #level(
    level: number, images: LevelImages, initial: DeviceArray | undefined, iterations: number, calling: CallOptions,
  ): { field: DeviceArray; level: Promise<RegistrationLevel> } {
    const { device, reference: { type, channels }, axes, options } = this.#call;
    const { measure, alpha, tau = 0, tolerance, variant } = options;
    const explicit = variant === 'explicit';
    const size = elementAt(this.#levels, level);
    const { width, height, depth } = size;
    const field = resultArray(device, type, axes * pointsOf(size), true);
    this.#own.push(field);
    const run = device.run('imaging.registration', {
      type, width, height, depth, channels, ...spacingFields(size), variant, measure, alpha, step: tau,
      accelerate: !explicit && options.accelerate !== false,
      stepScale: explicit ? 1.5 : 1, iterations, tolerance,
      reference: viewOf(images.reference), template: viewOf(images.template),
      ...(initial === undefined ? {} : { initial: viewOf(initial) }), result: viewOf(field),
    }, calling);
    return {
      field,
      level: run.then(({ deviceSeconds, report: { iterations: made, converged, step, history } }) => {
        this.#seconds += deviceSeconds;
        return { width, height, depth, iterations: made, converged, tau: step, values: history.column('value') };
      }),
    };
  }

  async #conclude(field: DeviceArray, template: DeviceArray, before: Promise<RegistrationLevel>): Promise<Outcome> {
    const { device, reference, axes, options } = this.#call;
    const calling = callOptions({ ...(options.signal === undefined ? {} : { signal: options.signal }) });
    const displacement = options.out?.displacement ?? newReals(reference.data, reference.type, axes * reference.points, device);
    const warped = options.out?.warped ?? newReals(reference.data, reference.type, reference.channels * reference.points, device);
    try {
      const warping = device.run('imaging.warp', {
        ...gridOf(reference), channels: reference.channels, relative: true, count: reference.points,
        image: viewOf(template), positions: viewOf(field), result: viewOf(warped),
      }, calling);
      await this.#follow(this.#timed(warping.then(({ deviceSeconds }) => deviceSeconds)));
      const bounding = device.run('imaging.jacobian', { ...gridOf(reference), displacement: viewOf(field) }, calling);
      await this.#follow(this.#timed(bounding.then(({ deviceSeconds }) => deviceSeconds)));
      await this.#follow(displacement instanceof DeviceArray ? displacement.copyFrom(field, calling)
        : field.read(displacement, 0, calling));
      const tre = options.landmarks === undefined ? undefined
        : await landmarkError(device, field, reference, options.landmarks, calling);
      await Promise.all(this.#steps);
      const { least: min, most: max, folded, unknown } = (await bounding).report.bounds;
      const last = lastOf(this.#history);
      return {
        displacement, warped, jacobian: { min, max, folded, unknown }, ...(tre === undefined ? {} : { tre }), history: this.#history,
        status: statusOfLevel(last, options.tolerance),
        iterations: this.#history.reduce((sum, level) => sum + level.iterations, 0), converged: last.converged,
        initialMeasure: elementAt((await before).values, 0), measure: lastOf(last.values),
        info: { backend: device.backend, deviceSeconds: this.#seconds },
      };
    } catch (error) {
      await Promise.allSettled(this.#steps);
      release([options.out?.displacement === undefined ? displacement : undefined, options.out?.warped === undefined ? warped : undefined]);
      throw error;
    }
  }
}

/** Registers checked images. */
export async function registerLevels(call: RegisterCall): Promise<Outcome> {
  const registration = new Registration(call);
  try {
    return await registration.run();
  } finally {
    await registration.release();
  }
}

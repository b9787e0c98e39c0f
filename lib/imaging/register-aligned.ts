// imaging.register with an alignment before it: the displacement of both together.
import { typedCopy } from '../core/arrays.ts';
import { callOptions, release } from '../core/call.ts';
import { type Device, DeviceArray, inputArray } from '../core/device.ts';
import { required } from '../core/known.ts';
import { checkImage, spacingOf, type CheckedImage, type Image, type Pixels } from '../files/image.ts';
import { align } from './align.ts';
import { composeDisplacements } from './displacement.ts';
import { plannedIterations } from './register-levels.ts';
import type { RegisterCall, RegisterResult } from './register-options.ts';
import { warp } from './warp.ts';

/** An image as it is at the call. */
function taken(image: CheckedImage, device: Device, made: Pixels[]): CheckedImage {
  const data = image.data instanceof DeviceArray ? inputArray(device, image.data) as Pixels : typedCopy(image.data);
  made.push(data);
  return { ...image, data };
}

/** The image that was checked. */
const imageOf = ({ data, width, height, depth, channels, ...rest }: CheckedImage): Image =>
  ({ data, width, height, depth, channels, ...spacingOf(rest) });

/**
 * Aligns, registers what is left, and composes both: the regulariser sees the second displacement only, and what it returns is measured
 * with the template itself, interpolated once.
 */
export async function registerAligned(
  call: RegisterCall, register: (call: RegisterCall) => Promise<RegisterResult>,
): Promise<RegisterResult> {
  const { device } = call;
  const { align: model, landmarks, out, mask, ...options } = call.options;
  const { measure, levels, signal, weights, onProgress } = options;
  // Both count iterations; those of the alignment come first.
  const ahead = plannedIterations(call);
  let before = 0;
  const told = onProgress === undefined ? {} : { onProgress: (done: number, total: number) => {
    before = total;
    onProgress(done, total + ahead);
  } };
  const then = onProgress === undefined ? {} : { onProgress: (done: number) => { onProgress(before + done, before + ahead); } };
  const calling = { ...callOptions({ signal }), device };
  const made: Pixels[] = [];
  const keep = <V extends Image>(image: V): V => {
    made.push(image.data);
    return image;
  };
  try {
    const reference = taken(call.reference, device, made);
    const template = taken(call.template, device, made);
    const { displacement, ...alignment } = await align(imageOf(reference), imageOf(template), {
      model: required(model), measure, ...calling, ...told,
      ...(weights === undefined ? {} : { weights }), ...(mask === undefined ? {} : { mask }),
      ...(levels === undefined ? {} : { levels }),
    });
    const first = keep(displacement);
    const { image: near } = await warp(imageOf(template), first, calling);
    const found = await register({ ...call, reference, template: checkImage(keep(near), 'template'), options: { ...options, ...then } });
    const { displacement: both } = await composeDisplacements(keep(found.displacement), first, calling);
    made.push(found.warped.data, both.data);
    const { onLevel: _told, onProgress: _reported, ...quiet } = options;
    const still = { ...call, reference, template, options: { ...quiet, levels: 1, iterations: 0 } };
    const start = await register(still);
    made.push(start.displacement.data, start.warped.data);
    const end = await register({
      ...still, initial: both.data,
      options: { ...still.options, ...(landmarks === undefined ? {} : { landmarks }), ...(out === undefined ? {} : { out }) },
    });
    const { history, iterations, converged, status, info } = found;
    return {
      ...end, alignment, history, iterations, converged, status, initialMeasure: start.initialMeasure,
      info: { ...info, deviceSeconds: info.deviceSeconds + start.info.deviceSeconds + end.info.deviceSeconds },
    };
  } finally {
    release(made);
  }
}

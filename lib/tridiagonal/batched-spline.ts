// How calls of cubicSpline share launches (core/batching): the series of splines with the same knots, one after the other.
import { isReal } from '../core/arrays.ts';
import { giveBack, joined, partOf } from '../core/batching/parts.ts';
import { batchable, loneBytes, type Outcome, type TakenCall } from '../core/batching/rule.ts';
import type { Device } from '../core/device.ts';
import { snapshot } from '../core/snapshot.ts';
import { CubicSpline, cubicSpline, splineOptions, type SplineOptions } from './cubic-spline.ts';

interface SeriesCall extends TakenCall<Device> {
  readonly y: Float64Array;
}

batchable<Device>(cubicSpline, 'tridiagonal.cubicSpline', ([x, y, given = {}]) => {
  const { signal, device: _, boundary, slopes } = splineOptions.read(given as SplineOptions);
  const plain = isReal(x) && isReal(y) && x.length > 0 && y.length > 0 && y.length % x.length === 0;
  const [knots, values] = [x, y].map((each) => (plain ? Float64Array.from(each as Float64Array) : snapshot(each))) as
    [Float64Array, Float64Array];
  const options = { boundary, slopes: [slopes[0], slopes[1]] as const };
  const bytes = plain ? knots.byteLength + values.byteLength : 0;
  const run = (all: Float64Array, device: Device, stop: AbortSignal | undefined): Promise<CubicSpline> =>
    cubicSpline(knots, all, { ...options, device, ...(stop === undefined ? {} : { signal: stop }) });
  const call: SeriesCall = {
    name: 'tridiagonal.cubicSpline', y: values, bytes, items: plain ? values.length / knots.length : 1, signal,
    alone: (device, stop) => run(values, device, stop),
    keyOn: (device) => {
      // A GPU's policy chooses by the number of right-hand sides.
      if (!plain || bytes >= loneBytes || device.backend !== 'cpu') return undefined;
      const exact = Buffer.from(knots.buffer, knots.byteOffset, knots.byteLength).toString('latin1');
      return ['spline', boundary, ...options.slopes, values.length, exact].join(' ');
    },
    together: async (device, calls, stop): Promise<readonly Outcome[]> => {
      const series = joined((calls as readonly SeriesCall[]).map((each) => each.y));
      const all = await run(series, device, stop);
      giveBack([series]);
      return calls.map((each, index) => ({
        value: new CubicSpline(knots.slice(), (each as SeriesCall).y, partOf(all.curvature, index, calls.length), boundary),
      }));
    },
  };
  return call;
});

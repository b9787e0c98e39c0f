// How calls of scan share launches (core/batching): their rows one after the other.
import { isReal } from '../core/arrays.ts';
import { giveBack, joined, partOf } from '../core/batching/parts.ts';
import { batchable, loneBytes, outcomeOf, type Outcome, type TakenCall } from '../core/batching/rule.ts';
import { DeviceArray, type Device } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import { snapshot } from '../core/snapshot.ts';
import { prepare, scan, scanOptions, type ScanArray, type ScanOptions } from './prefix.ts';

type Values = Float32Array | Float64Array;

interface RowsCall extends TakenCall<Device> {
  readonly values: Values;
  readonly flags: Uint8Array | undefined;
  readonly out: Values | undefined;
}

batchable<Device>(scan, 'scan', ([values, given = {}], _target, owned) => {
  const options = scanOptions.read(given as ScanOptions);
  const { n, type } = prepare(values as ScanArray, options);
  const { signal, device: _, flags, out, batch, operator, exclusive, algorithm, depth, radix } = options;
  if (values instanceof DeviceArray || flags instanceof DeviceArray || out instanceof DeviceArray || !isReal(values)) {
    return onArrays(values as ScanArray, given as ScanOptions);
  }
  const rest = { operator, exclusive, algorithm, depth, radix };
  const run = async (calls: readonly RowsCall[], device: Device, stop: AbortSignal | undefined): Promise<readonly Outcome[]> => {
    const marks: { readonly flags?: Uint8Array } = call.flags === undefined ? {}
      : { flags: joined(calls.map((each) => each.flags as Uint8Array)) };
    const rows = joined(calls.map((each) => each.values));
    const all = await scan(rows, {
      ...rest, ...marks, batch: batch * calls.length, device, ...(stop === undefined ? {} : { signal: stop }),
    });
    giveBack(marks.flags === undefined ? [rows] : [rows, marks.flags]);
    return calls.map((each, index) => outcomeOf(() =>
      briefly('Scanned', { result: partOf(all.result, index, calls.length, each.out, owned), info: { ...all.info, batch } })));
  };
  const call: RowsCall = {
    name: 'scan', values: owned ? values : values.slice(), flags: owned ? flags : flags?.slice(), out, signal, items: batch,
    bytes: values.byteLength + (flags?.byteLength ?? 0),
    alone: async (device, stop) => {
      const [outcome] = await run([call], device, stop);
      if (outcome !== undefined && 'value' in outcome) return outcome.value;
      throw outcome?.error;
    },
    keyOn: () => {
      if (n === 0 || batch === 0 || call.bytes >= loneBytes) return undefined;
      return JSON.stringify([type, n, batch, rest, flags !== undefined]);
    },
    together: (device, calls, stop) => run(calls as RowsCall[], device, stop),
  };
  return call;
});

/** A scan of device arrays, on their own device. */
function onArrays(values: ScanArray, given: ScanOptions): TakenCall<Device> {
  const { signal, out, ...options } = given;
  const [kept, rest] = [snapshot(values), snapshot(options)];
  return {
    name: 'scan', bytes: 0, items: 1, signal,
    alone: (_, stop) => scan(kept, { ...rest, ...(out === undefined ? {} : { out }), ...(stop === undefined ? {} : { signal: stop }) }),
  };
}

// What `bench -- serve` sends: requests of the inference protocol, and the same calls in this process.
import { scan, tridiagonal } from '../../lib/index.ts';
import type { Device } from '../../lib/core/device.ts';

/** One kind of request. */
export interface ServeCase {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: GET. */
  readonly body: Buffer | undefined;
  /** Connections, each with one request at a time. */
  readonly connections: readonly number[];
  /** Whether it is also measured on a server whose launches take one call each. */
  readonly unbatched: boolean;
  /** The same call in this process, by a batcher or on its own; undefined: it calls nothing. */
  readonly call: ((batched: boolean) => Promise<Float64Array>) | undefined;
}

/** Smooth values that differ from place to place. */
const wave = (count: number, phase: number): Float64Array => Float64Array.from({ length: count }, (_, i) => Math.sin(i * 0.37 + phase));

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

/** A request with binary tensors, or all in JSON. */
function encoded(tensors: readonly Tensor[], binary: boolean): Pick<ServeCase, 'headers' | 'body'> {
  const inputs = tensors.map(({ name, shape, data }) => ({
    name, shape, datatype: 'FP64', ...(binary ? { parameters: { binary_data_size: data.byteLength } } : { data: [...data] }) }));
  const header = Buffer.from(JSON.stringify({ inputs, parameters: { binary_data_output: binary } }));
  if (!binary) return { headers: { 'content-type': 'application/json' }, body: header };
  return {
    headers: { 'content-type': 'application/octet-stream', 'inference-header-content-length': String(header.byteLength) },
    body: Buffer.concat([header, ...tensors.map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength))]),
  };
}

/** Solves of `batch` systems of `n` unknowns with bands of their own. */
function solving(
  device: Device, name: string, { batch, n, binary = true }: { readonly batch: number; readonly n: number; readonly binary?: boolean },
  more: Pick<ServeCase, 'connections' | 'unbatched'>,
): ServeCase {
  const total = batch * n, shape = [batch, n];
  const [lower, diagonal, upper, rhs] = [
    wave(total, 1), wave(total, 2).map((value) => 4 + value), wave(total, 3), wave(total, 4),
  ] as [Float64Array, Float64Array, Float64Array, Float64Array];
  const tensors = Object.entries({ lower, diagonal, upper, rhs }).map(([tensor, data]) => ({ name: tensor, shape, data }));
  const batcher = device.batcher();
  const batchedSolve = batcher.wrap(tridiagonal.solve);
  return {
    name, path: '/v2/models/tridiagonal_solve/infer', ...encoded(tensors, binary), ...more,
    call: async (batched) => {
      const problem = { lower, diagonal, upper, rhs, n, batch };
      const { solution } = batched ? await batchedSolve(problem) : await tridiagonal.solve({ ...problem, device });
      return solution as Float64Array;
    },
  };
}

function scanning(device: Device, n: number, more: Pick<ServeCase, 'connections' | 'unbatched'>): ServeCase {
  const data = wave(n, 1);
  const batchedScan = device.batcher().wrap(scan);
  return {
    name: `scan-${n}`, path: '/v2/models/scan/infer', ...encoded([{ name: 'values', shape: [n], data }], true), ...more,
    call: async (batched) => (batched ? await batchedScan(data) : await scan(data, { device })).result,
  };
}

/** The cases: `megabyte` has bodies of 1 MiB. */
export function serveCases(device: Device, quick: boolean): ServeCase[] {
  if (quick) {
    return [
      { name: 'health', path: '/v2/health/live', headers: {}, body: undefined, connections: [2], unbatched: false, call: undefined },
      solving(device, 'solve-8', { batch: 1, n: 8 }, { connections: [2], unbatched: true }),
    ];
  }
  return [
    { name: 'health', path: '/v2/health/live', headers: {}, body: undefined, connections: [64], unbatched: false, call: undefined },
    solving(device, 'solve-256', { batch: 1, n: 256 }, { connections: [1, 16, 64, 256, 1024], unbatched: true }),
    solving(device, 'solve-256-json', { batch: 1, n: 256, binary: false }, { connections: [64], unbatched: true }),
    solving(device, 'solve-4096', { batch: 1, n: 4096 }, { connections: [64], unbatched: true }),
    scanning(device, 256, { connections: [64], unbatched: true }),
    solving(device, 'megabyte', { batch: 128, n: 256 }, { connections: [8, 64], unbatched: true }),
  ];
}

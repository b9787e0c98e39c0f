// Requests that no honest client sends: bodies, headers and connections. Each is answered with an error, or the connection is closed.
import { connect } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';

/** One kind of hostile request. */
export interface Hostile {
  readonly name: string;
  /** The bytes that are sent, headers included. */
  readonly bytes: Buffer;
  /** Sends only so many of them and then closes the connection. */
  readonly until?: number;
  /** Whether an answer with status 200 is right: strange, but valid. */
  readonly mayPass?: boolean;
}

function post(path: string, body: Buffer | string, headers: Readonly<Record<string, string>> = {}, length?: number | string): Buffer {
  const content = Buffer.from(body as string);
  const lines = Object.entries({ host: 'localhost', connection: 'close', 'content-length': String(length ?? content.length), ...headers });
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`), content]);
}

const scan = '/v2/models/scan/infer', solve = '/v2/models/tridiagonal_solve/infer';
const values = (more: object): string => JSON.stringify({ inputs: [{ name: 'values', datatype: 'FP64', shape: [2], data: [1, 2], ...more }] });

/** Bodies for `scan`, by what is wrong with them. */
const bodies: Readonly<Record<string, string | Buffer>> = {
  'nothing': '', 'no JSON': 'hello', 'half of JSON': values({}).slice(0, 30), 'null': 'null', 'a number': '3', 'a list': '[]', 'a string': '"x"',
  'no inputs': '{}', 'inputs as an object': '{"inputs": {}}', 'an empty list of inputs': '{"inputs": []}', 'null as an input': '{"inputs": [null]}',
  'an input without a name': '{"inputs": [{"datatype": "FP64", "shape": [1], "data": [1]}]}',
  'a name that is a number': values({ name: 3 }), 'an empty name': values({ name: '' }), 'a long name': values({ name: 'x'.repeat(1e5) }),
  'a strange name': values({ name: '../../etc/passwd' }), 'the name of a prototype': values({ name: '__proto__' }),
  'another type': values({ datatype: 'FP32' }), 'an unknown type': values({ datatype: 'FP65' }), 'the type of a prototype': values({ datatype: 'constructor' }),
  'no type': values({ datatype: undefined }), 'no shape': values({ shape: undefined }), 'a shape that is a number': values({ shape: 2 }),
  'a negative shape': values({ shape: [-2] }), 'half a shape': values({ shape: [1.5] }), 'a huge shape': values({ shape: [2 ** 40, 2 ** 40] }),
  'a large shape': values({ shape: [2 ** 32] }), 'many dimensions': values({ shape: Array(100).fill(1) }), 'texts as a shape': values({ shape: ['2'] }),
  'too few elements': values({ data: [1] }), 'too many elements': values({ data: [1, 2, 3] }), 'texts as data': values({ data: ['1', '2'] }),
  'null as data': values({ data: null }), 'nulls in data': values({ data: [null, 1] }), 'an object as data': values({ data: { 0: 1, 1: 2, length: 2 } }),
  'mixed depth': values({ data: [[1], 2] }), 'deep data': values({ data: JSON.parse(`${'['.repeat(500)}1${']'.repeat(500)}`) as unknown }),
  'very deep JSON': `{"inputs": ${'['.repeat(2e5)}`, 'no data': values({ data: undefined }),
  'data and bytes': values({ parameters: { binary_data_size: 16 } }), 'bytes that are not there': values({ data: undefined, parameters: { binary_data_size: 16 } }),
  'a negative number of bytes': values({ data: undefined, parameters: { binary_data_size: -16 } }),
  'a huge number of bytes': values({ data: undefined, parameters: { binary_data_size: 2 ** 60 } }),
  'a text as number of bytes': values({ data: undefined, parameters: { binary_data_size: '16' } }),
  'bytes after the end': `${values({})}garbage`, 'parameters as a list': JSON.stringify({ inputs: [], parameters: [] }),
  'an unknown parameter': JSON.stringify({ ...JSON.parse(values({})) as object, parameters: { nothing: 1 } }),
  'a parameter of the library': JSON.stringify({ ...JSON.parse(values({})) as object, parameters: { device: {} } }),
  'a prototype as parameter': '{"inputs": [], "parameters": {"__proto__": {"x": 1}}}',
  'an unknown operator': JSON.stringify({ ...JSON.parse(values({})) as object, parameters: { operator: 'xor' } }),
  'a wrong priority': JSON.stringify({ ...JSON.parse(values({})) as object, parameters: { priority: -1 } }),
  'a wrong timeout': JSON.stringify({ ...JSON.parse(values({})) as object, parameters: { timeout: 'now' } }),
  'a long id': JSON.stringify({ ...JSON.parse(values({})) as object, id: 'x'.repeat(1e4) }),
  'an id that is an object': JSON.stringify({ ...JSON.parse(values({})) as object, id: {} }),
  'outputs as an object': JSON.stringify({ ...JSON.parse(values({})) as object, outputs: {} }),
  'an unknown output': JSON.stringify({ ...JSON.parse(values({})) as object, outputs: [{ name: 'x' }] }),
  'the same input twice': JSON.stringify({ inputs: [0, 1].map(() => ({ name: 'values', datatype: 'FP64', shape: [1], data: [1] })) }),
  'wrong flags': JSON.stringify({ inputs: [{ name: 'values', datatype: 'FP64', shape: [2], data: [1, 2] }, { name: 'flags', datatype: 'BOOL', shape: [3], data: [1, 0, 1] }] }),
  'flags of 2': JSON.stringify({ inputs: [{ name: 'values', datatype: 'FP64', shape: [1], data: [1] }, { name: 'flags', datatype: 'BOOL', shape: [1], data: [2] }] }),
  'bytes that are no UTF-8': Buffer.from([0xff, 0xfe, 0x7b, 0x7d]), 'zeros': Buffer.alloc(100), 'compressed': Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]),
};

const good = values({});

/** All kinds. */
export const hostile: readonly Hostile[] = [
  ...Object.entries(bodies).map(([name, body]) => ({ name, bytes: post(scan, body) })),
  ...['-1', 'x', '1e9', '99999999999999999999', '0x10', `${good.length + 1}`].map((length) =>
    ({ name: `header length ${length}`, bytes: post(scan, good, { 'inference-header-content-length': length }) })),
  { name: 'header length 0', bytes: post(scan, good, { 'inference-header-content-length': '0' }) },
  ...Object.entries({
    'a bomb': gzipSync(Buffer.alloc(2 ** 22)), 'a bomb in a bomb': gzipSync(gzipSync(Buffer.alloc(2 ** 24))), 'nothing, compressed': gzipSync(''),
    'no gzip': Buffer.from(good), 'half of gzip': gzipSync(good).subarray(0, 40), 'gzip with a wrong sum': gzipSync(good).fill(1, gzipSync(good).length - 8),
    'gzip twice': gzipSync(gzipSync(good)), 'deflate without a frame': deflateSync(good).subarray(2),
  }).map(([name, body]) => ({ name, bytes: post(scan, body, { 'content-encoding': 'gzip' }) })),
  { name: 'an unknown encoding', bytes: post(scan, good, { 'content-encoding': 'br' }) },
  { name: 'two encodings', bytes: post(scan, gzipSync(good), { 'content-encoding': 'gzip, gzip' }) },
  { name: 'compressed, and a wrong header length', bytes: post(scan, gzipSync(good), { 'content-encoding': 'gzip', 'inference-header-content-length': '9999' }) },
  { name: 'shared memory', bytes: post(scan, values({ data: undefined, parameters: { shared_memory_region: 'x', shared_memory_byte_size: 16 } })) },
  { name: 'shared memory for an output',
    bytes: post(scan, JSON.stringify({ ...JSON.parse(good) as object, outputs: [{ name: 'result', parameters: { shared_memory_region: 'x' } }] })) },
  { name: 'a class of an output',
    bytes: post(scan, JSON.stringify({ ...JSON.parse(good) as object, outputs: [{ name: 'result', parameters: { classification: 2 } }] })) },
  { name: 'a length twice', bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello`) },
  { name: 'a length with a sign', bytes: post(scan, good, {}, `+${good.length}`) },
  { name: 'a header with a space before the colon', bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\nhost: localhost\r\ncontent-length : 5\r\n\r\nhello`) },
  { name: 'a header in two lines', bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\ncontent-length: 5\r\n\r\nhello`) },
  { name: 'a chunked body within another encoding',
    bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n`) },
  { name: 'many headers', bytes: post(scan, good, Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`x-${i}`, '1']))) },
  { name: 'no host', bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}`) },
  { name: 'a body that is too long', bytes: post(scan, 'x'.repeat(100), {}, 2 ** 40) },
  { name: 'a length that is no number', bytes: post(scan, good, {}, 'many') },
  { name: 'a negative length', bytes: post(scan, good, {}, '-5') },
  { name: 'a body that ends early', bytes: post(scan, good, {}, good.length + 50), until: 1e6 },
  { name: 'a connection that ends in the headers', bytes: post(scan, good), until: 20 },
  { name: 'a connection that ends in the body', bytes: post(scan, good), until: post(scan, good).length - 5 },
  { name: 'a connection that ends at once', bytes: post(scan, good), until: 0 },
  { name: 'a request whose answer nobody reads', bytes: post(scan, good), until: 1e6, mayPass: true },
  { name: 'two lengths', bytes: post(scan, good, { 'transfer-encoding': 'chunked' }) },
  { name: 'wrong chunks', bytes: Buffer.from(`POST ${scan} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n`) },
  { name: 'no HTTP', bytes: Buffer.from('hello\r\n\r\n') }, { name: 'TLS', bytes: Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]) },
  { name: 'a path with dots', bytes: post('/v2/models/../../etc/passwd/infer', good) },
  { name: 'an encoded path', bytes: post('/v2/models/%2e%2e%2f%2e%2e%2fetc/infer', good) },
  { name: 'a broken encoding', bytes: post('/v2/models/%zz/infer', good) }, { name: 'a zero in the path', bytes: post('/v2/models/a%00b/infer', good) },
  { name: 'a long path', bytes: post(`/v2/models/${'x'.repeat(5000)}/infer`, good) }, { name: 'a prototype as model', bytes: post('/v2/models/__proto__/infer', good) },
  { name: 'headers that are too long', bytes: post(scan, good, { 'x-long': 'x'.repeat(20_000) }) },
  { name: 'another host', bytes: post(scan, good, { host: 'evil.example' }) }, { name: 'another origin', bytes: post(scan, good, { origin: 'https://evil.example' }) },
  { name: 'another method', bytes: Buffer.from(`DELETE ${scan} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`) },
  { name: 'bands that do not fit',
    bytes: post(solve, JSON.stringify({ inputs: ['lower', 'diagonal', 'rhs'].map((name, i) => ({ name, datatype: 'FP64', shape: [i + 2], data: Array(i + 2).fill(1) })) })) },
  { name: 'a system of no rows',
    bytes: post(solve, JSON.stringify({ inputs: ['lower', 'diagonal', 'upper', 'rhs'].map((name) => ({ name, datatype: 'FP64', shape: [0], data: [] })) })), mayPass: true },
  { name: 'too much work',
    bytes: post('/v2/models/heat/infer', JSON.stringify({ parameters: { steps: 1e15, fourier: 0.1 },
      inputs: [{ name: 'initial', datatype: 'FP64', shape: [3], data: [1, 2, 3] }] })) },
  { name: 'an unstable step',
    bytes: post('/v2/models/heat/infer', JSON.stringify({ parameters: { steps: 1, fourier: 7 }, inputs: [{ name: 'initial', datatype: 'FP64', shape: [3], data: [1, 2, 3] }] })) },
  { name: 'a job that is none', bytes: post('/v1/jobs', '{"job": {"kind": "x"}}') }, { name: 'a job that is a list', bytes: post('/v1/jobs', '{"job": []}') },
  { name: 'a job that reads files', bytes: post('/v1/jobs', '{"job": {"kind": "denoise", "name": "a", "input": "/etc/passwd", "weight": 1}}') },
];

/** Sends the bytes; the status of the answer, or undefined if there is none. */
export function sendRaw(port: number, { bytes, until, mayPass = false }: Hostile): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    const end = (): void => {
      socket.destroy();
      const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
      resolve(status === undefined ? undefined : Number(status));
    };
    socket.setTimeout(mayPass ? 60_000 : 2000, end); // some of the others are never answered
    socket.on('error', end).on('close', end);
    socket.on('data', (part: Buffer) => { text += part.toString('latin1'); if (/^HTTP\/1\.1 \d{3}/.test(text)) end(); });
    socket.on('connect', () => {
      socket.write(until === undefined ? bytes : bytes.subarray(0, until), () => { if (until !== undefined) end(); });
    });
  });
}

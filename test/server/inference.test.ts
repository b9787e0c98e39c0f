// The Open Inference Protocol v2: every model against the library itself, JSON and binary, errors, access and stopping.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { on, once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { deflateSync, gzipSync } from 'node:zlib';
import { imaging, kernel, scan, server, swept, tridiagonal } from '../../lib/index.ts';
import { keepConnections } from '../../lib/server/connections.ts';
import { skipCases } from '../support/backends.ts';
import { decode, infer, type SentTensor } from './client.ts';

const cpu = [{ backend: 'cpu', threads: 1 }] as const;
const numbers = (n: number, at: (i: number) => number): Float64Array => Float64Array.from({ length: n }, (_, i) => at(i));
const fp64 = (name: string, shape: readonly number[], data: Float64Array | readonly number[]): SentTensor => ({ name, datatype: 'FP64', shape, data });

describe('inference server', function () {
  this.timeout(120_000);
  let running: Awaited<ReturnType<typeof server.serve>>;
  let url = '';
  before(async () => {
    running = await server.serve({
      port: 0, devices: cpu, maxWork: 1e6, bodyLimit: 2 ** 20,
      maps: { axpy: { function: '(x, y, a) => a * x + y', inputs: { x: 'FP64', y: 'FP64', a: 'number' } } },
    });
    ({ url } = running);
  });
  after(() => running.close());
  const json = async (path: string): Promise<Record<string, unknown>> => (await fetch(url + path)).json() as Promise<Record<string, unknown>>;

  it('describes itself and its models', async () => {
    deepStrictEqual([await json('/v2/health/live'), await json('/v2/health/ready')], [{ live: true }, { ready: true }]);
    const { models, extensions, name } = await json('/v2') as { models: string[]; extensions: string[]; name: string };
    ok(extensions.includes('binary_tensor_data') && name === 'warploom' && models.includes('axpy'));
    for (const model of models) {
      const metadata = await json(`/v2/models/${model}`) as { name: string; versions: string[]; inputs: object[]; outputs: object[] };
      deepStrictEqual([metadata.name, metadata.versions], [model, ['1']]);
      ok(metadata.inputs.length > 0 && metadata.outputs.length > 0);
      strictEqual((await fetch(`${url}/v2/models/${model}/versions/1/ready`)).status, 200);
    }
    const { paths } = await json('/openapi.json') as { paths: object };
    ok('/v2/models/{name}/infer' in paths && '/v1/jobs' in paths);
  });

  it('solves, multiplies and scans as the library does, in JSON and in bytes', async () => {
    const n = 7, batch = 3;
    const lower = numbers(n, (i) => -1 - i / 9), diagonal = numbers(n * batch, (i) => 4 + (i % 5)), rhs = numbers(n * batch, (i) => Math.sin(i));
    const { solution, status, backwardError } = await tridiagonal.solve({ lower, diagonal, upper: -1, rhs, n, batch, check: true });
    const inputs = (binary: boolean): SentTensor[] => [fp64('lower', [n], binary ? lower : [...lower]), fp64('diagonal', [batch, n], binary ? diagonal : [...diagonal]),
      fp64('upper', [1], [-1]), fp64('rhs', [batch, n], binary ? rhs : [...rhs])];
    for (const binary of [false, true]) {
      const parameters = { check: true, binary_data_output: binary };
      const { outputs, json: header, status: code } = await infer(url, 'tridiagonal_solve', inputs(binary), { parameters, id: 'seven' });
      deepStrictEqual([code, header['id'], header['model_name'], header['model_version']], [200, 'seven', 'tridiagonal_solve', '1']);
      deepStrictEqual(outputs['solution']!.shape, [batch, n]);
      deepStrictEqual(Float64Array.from(outputs['solution']!.data as number[]), solution);
      deepStrictEqual(Int32Array.from(outputs['status']!.data as number[]), status.words);
      deepStrictEqual(Float64Array.from(outputs['backward_error']!.data as number[]), backwardError);
    }
    const only = await infer(url, 'tridiagonal_solve/versions/1', inputs(true), { outputs: [{ name: 'solution', parameters: { binary_data: true } }] });
    deepStrictEqual([Object.keys(only.outputs), only.outputs['solution']!.data], [['solution'], (await tridiagonal.solve({ lower, diagonal, upper: -1, rhs, n, batch })).solution]);
    const { y } = await tridiagonal.multiply({ lower, diagonal, upper: -1, x: rhs, n, batch, alpha: 2 });
    const product = await infer(url, 'tridiagonal_multiply', [...inputs(true).slice(0, 3), fp64('x', [batch, n], rhs)], { parameters: { alpha: 2 } });
    deepStrictEqual(Float64Array.from(product.outputs['y']!.data as number[]), y);
    const flags = Uint8Array.from({ length: 21 }, (_, i) => Number(i % 4 === 1));
    const summed = await infer(url, 'scan', [fp64('values', [batch, n], rhs), { name: 'flags', datatype: 'BOOL', shape: [21], data: flags }], { parameters: { exclusive: true } });
    deepStrictEqual(Float64Array.from(summed.outputs['result']!.data as number[]), (await scan(rhs, { batch, flags, exclusive: true })).result);
    const single = await infer(url, 'scan_fp32', [{ name: 'values', datatype: 'FP32', shape: [4], data: Float32Array.of(0.1, 0.2, 0.3, 0.4) }],
      { parameters: { binary_data_output: true } });
    deepStrictEqual(single.outputs['result']!.data, (await scan(Float32Array.of(0.1, 0.2, 0.3, 0.4))).result);
  });

  it('interpolates, treats images, advances the heat equation, and applies functions of its configuration', async () => {
    const x = [0, 1, 2.5, 4], y = numbers(8, (i) => i * i % 5);
    const spline = await tridiagonal.cubicSpline(Float64Array.from(x), y);
    const curve = await infer(url, 'cubic_spline', [fp64('x', [4], x), fp64('y', [2, 4], y), fp64('at', [2], [0.5, 3])], { parameters: { order: 1 } });
    deepStrictEqual([curve.outputs['values']!.shape, curve.outputs['values']!.data],
      [[2, 2], [...spline.evaluate([0.5, 3], { order: 1 }), ...spline.evaluate([0.5, 3], { order: 1, series: 1 })]]);
    const data = numbers(80, (i) => (i % 10 > 4 ? 1 : 0) + Math.sin(i * 7) / 9);
    const picture = { data, width: 10, height: 8 };
    const denoised = await infer(url, 'imaging_denoise', [fp64('image', [8, 10], data)], { parameters: { weight: 0.1, binary_data_output: true } });
    deepStrictEqual(denoised.outputs['image']!.data, (await imaging.denoise(picture, { weight: 0.1, iterations: 500 })).image.data);
    const segmented = await infer(url, 'imaging_segment', [fp64('image', [8, 10], data)], { parameters: { binary_data_output: true } });
    deepStrictEqual(segmented.outputs['mask']!.data, (await imaging.segment(picture)).mask);
    const shifted = numbers(80, (i) => data[Math.max(0, i - 1)]!);
    const registered = await infer(url, 'imaging_register', [fp64('reference', [8, 10], data), fp64('template', [8, 10], shifted)], { parameters: { binary_data_output: true } });
    deepStrictEqual(registered.outputs['warped']!.data, (await imaging.register(picture, { ...picture, data: shifted }, { iterations: 60 })).warped.data);
    const initial = numbers(18, (i) => (i % 9 === 4 ? 1 : 0));
    await using rod = await swept.heat({ n: 9, batch: 2, fourier: 0.3, initial });
    await rod.advance(12);
    const heated = await infer(url, 'heat', [fp64('initial', [2, 9], initial)], { parameters: { steps: 12, fourier: 0.3, binary_data_output: true } });
    deepStrictEqual(heated.outputs['state']!.data, await rod.read());
    const mapped = await infer(url, 'axpy', [fp64('x', [9], initial.slice(0, 9)), fp64('y', [9], initial.slice(9))], { parameters: { a: 3, binary_data_output: true } });
    deepStrictEqual(mapped.outputs['result']!.data, await kernel.map('(x, y, a) => a * x + y', [initial.slice(0, 9), initial.slice(9), 3]));
  });

  it('answers errors with the right status and a reason', async () => {
    const rhs = fp64('rhs', [2], [1, 2]), bands = ['lower', 'diagonal', 'upper'].map((name) => fp64(name, [1], [4]));
    const cases: readonly (readonly [string, readonly SentTensor[], object | undefined, number, RegExp])[] = [
      ['nothing', [rhs], undefined, 404, /no model 'nothing'/], ['scan/versions/2', [], undefined, 404, /only version 1/],
      ['tridiagonal_solve', [rhs], undefined, 400, /needs the input 'lower'/], ['scan', [rhs], undefined, 400, /no input 'rhs'/],
      ['scan', [{ ...rhs, name: 'values', datatype: 'FP32' }], undefined, 400, /takes FP64, received FP32/],
      ['tridiagonal_solve', [...bands, rhs], { algorithm: 'cr' }, 400, /no parameter 'algorithm'/],
      ['tridiagonal_solve', [...bands, rhs], { transpose: 'up' }, 400, /transpose: expected/],
      ['tridiagonal_solve', [...bands, rhs], { timeout: -1 }, 400, /timeout/],
      ['tridiagonal_solve', [...bands.slice(1), fp64('lower', [3], [1, 2, 3]), rhs], {}, 400, /input 'lower': expected the shape/],
      ['heat', [fp64('initial', [3], [1, 2, 3])], { steps: 1e9, fourier: 0.1 }, 413, /allows 1000000/],
      ['axpy', [fp64('x', [2], [1, 2]), fp64('y', [2], [1, 2])], {}, 400, /parameter a must be a number/],
    ];
    for (const [model, tensors, parameters, status, reason] of cases) {
      const answer = await infer(url, model, tensors, parameters === undefined ? {} : { parameters });
      strictEqual(answer.status, status, model);
      match(String(answer.json['error']), reason);
    }
    const missing = await infer(url, 'scan', [fp64('values', [2], [1, 2])], { outputs: [{ name: 'other' }] });
    deepStrictEqual([missing.status, missing.json['error']], [400, "there is no output 'other'; this request has result"]);
    // The server closes the connection while the body is still on its way; the client may have read the answer by then.
    const large = infer(url, 'scan', [fp64('values', [2 ** 18], new Float64Array(2 ** 18))]);
    strictEqual(await large.then(({ status }) => status, () => 413), 413);
  });

  it('gives up requests that take too long', async () => {
    await using slow = await server.serve({ port: 0, devices: cpu, jobs: false, maxDelay: 60_000 });
    const { status, json: body } = await infer(slow.url, 'scan', [fp64('values', [2], [1, 2])], { parameters: { timeout: 1000 } }); // microseconds
    deepStrictEqual([status, body['code']], [504, 'ERR_WARPLOOM_DEADLINE']);
    const gone = new AbortController();
    const call = infer(slow.url, 'scan', [fp64('values', [2], [1, 2])], { signal: gone.signal });
    while (slow.pool.members[0]!.waiting === 0) await new Promise((resolve) => { setTimeout(resolve, 5); });
    gone.abort();
    await rejects(call);
    while (slow.pool.members[0]!.waiting > 0) await new Promise((resolve) => { setTimeout(resolve, 5); });
  });

  it('keeps connections for longer than it announces, and closes them in the end', async () => {
    await using brief = await server.serve({ port: 0, devices: cpu, jobs: false, keepAliveTimeout: 1000 });
    const client = connect(Number(new URL(brief.url).port), '127.0.0.1');
    for (let turn = 0; turn < 2; turn += 1) {
      client.write('GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n');
      const [answer] = await once(client, 'data') as [Buffer];
      match(answer.toString(), /^HTTP\/1\.1 200 OK\r\n[^]*keep-alive: timeout=1\r\n/i);
      await new Promise((resolve) => { setTimeout(resolve, turn === 0 ? 1300 : 0); });
    }
    client.destroy();
    const plain = createServer((_, response) => { response.end(); });
    keepConnections(plain, 20, 20);
    plain.listen(0);
    await once(plain, 'listening');
    const idle = connect((plain.address() as AddressInfo).port);
    idle.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    idle.resume();
    await once(idle, 'close');
    // A connection that was never used counts as late to Node; it is kept for a while and closed without an answer.
    const unused = connect((plain.address() as AddressInfo).port);
    let answered = '';
    unused.on('data', (part: Buffer) => { answered += part.toString(); });
    const [own] = await once(plain, 'connection') as [Socket];
    plain.emit('clientError', Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), own);
    ok(!own.destroyed);
    await once(unused, 'close');
    strictEqual(answered, '');
    await new Promise((resolve) => { plain.close(resolve); });
  });

  it('lets in only those with the token, and no page of another site', async () => {
    const token = 'a-token-of-some-length';
    await using guarded = await server.serve({ port: 0, devices: cpu, jobs: false, token });
    const statusOf = async (headers: Record<string, string>, path = '/v2'): Promise<number> => (await fetch(guarded.url + path, { headers })).status;
    const authorization = `Bearer ${token}`;
    deepStrictEqual([
      await statusOf({}), await statusOf({ authorization: 'Bearer other' }), await statusOf({ authorization }), await statusOf({}, '/v2/health/live'),
      await statusOf({}, '/metrics')],
      [401, 401, 200, 200, 401]);
    const { port } = new URL(guarded.url);
    const asked = (headers: Record<string, string>): Promise<number | undefined> => new Promise((resolve, reject) => {
      request({ port, path: '/v2', headers: { authorization, ...headers } }, (response) => { response.resume(); resolve(response.statusCode); }).on('error', reject).end();
    });
    const own = { host: `localhost:${port}`, origin: `http://localhost:${port}` };
    deepStrictEqual([await asked({ host: 'evil.example' }), await asked({ origin: 'https://evil.example' }), await asked(own)], [403, 403, 200]);
    await rejects(server.serve({ host: '0.0.0.0', port: 0 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'token' });
    await rejects(server.serve({ maps: { f: { function: '(x) => x', inputs: {} } } }), { argument: 'maps.f.inputs' });
  });

  it('counts requests, launches and waiting for Prometheus', async () => {
    await infer(url, 'scan', [fp64('values', [2], [1, 2])]);
    const text = await (await fetch(`${url}/metrics`)).text();
    match(text, /warploom_requests_total\{model="scan",outcome="ok"\} \d+/);
    match(text, /warploom_batch_calls_count\{operation="tridiagonal.solve"\} \d+/);
    match(text, /warploom_queue_wait_seconds_count\{operation="scan"\} \d+/);
    match(text, /warploom_device_memory_bytes\{device="0"\} \d+/);
  });

  it('answers what it has before it stops', async () => {
    const stopping = await server.serve({ port: 0, devices: cpu, jobs: false, maxDelay: 60_000 });
    const call = infer(stopping.url, 'scan', [fp64('values', [2], [1, 2])]);
    while (stopping.pool.members[0]!.waiting === 0) await new Promise((resolve) => { setTimeout(resolve, 5); });
    const closed = stopping.close();
    deepStrictEqual((await call).outputs['result']!.data, [1, 3]);
    await closed;
    await rejects(fetch(`${stopping.url}/v2`));
  });

  it('stops although clients neither finish their requests nor read their answers', async () => {
    const stopping = await server.serve({ port: 0, devices: cpu, jobs: false, requestTimeout: 300 });
    const port = Number(new URL(stopping.url).port), n = 200_000;
    const sent = (length: number, body: string): Socket => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined).pause();
      socket.write(`POST /v2/models/scan/infer HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${length}\r\n\r\n${body}`);
      return socket;
    };
    const body = JSON.stringify({ inputs: [{ name: 'values', datatype: 'FP64', shape: [n], data: Array(n).fill(1.5) }] });
    const sockets = [sent(1000, '{'), sent(body.length, body), connect(port, '127.0.0.1')];
    sockets[2]!.on('error', () => undefined);
    await once(sockets[2]!, 'connect');
    await stopping.close(); // or the test takes too long
    for (const socket of sockets) socket.destroy();
  });

  it('answers the tritonclient of Python', function () {
    const program = `
import sys, numpy as np, tritonclient.http as http
client = http.InferenceServerClient(sys.argv[1])
assert client.is_server_live() and client.is_server_ready() and client.is_model_ready('scan')
client.get_server_metadata(); client.get_model_metadata('scan'); client.get_model_repository_index()
for binary in (True, False):
    value = http.InferInput('values', [2, 3], 'FP64')
    value.set_data_from_numpy(np.arange(6.0).reshape(2, 3), binary_data=binary)
    result = client.infer('scan', [value], outputs=[http.InferRequestedOutput('result', binary_data=binary)], request_id='1', priority=1, timeout=1000000)
    assert (result.as_numpy('result') == [[0, 1, 3], [3, 7, 12]]).all()
`;
    if (spawnSync('python3', ['-c', 'import tritonclient.http']).status !== 0) {
      skipCases('no tritonclient for Python');
      this.skip();
    }
    const { status, stderr } = spawnSync('python3', ['-c', program, url.replace('http://', '')], { encoding: 'utf8' });
    strictEqual(status, 0, stderr);
  });

  it('answers requests as that client makes them, raw and compressed, on one connection', async () => {
    const port = Number(new URL(url).port);
    const socket = connect(port, '127.0.0.1');
    /** Python's json.dumps puts spaces after commas and colons. */
    const header = (more: string, tail = ''): Buffer => Buffer.from(
      `{"id": "7", ${more}"inputs": [{"name": "values", "shape": [2, 3], "datatype": "FP64"${tail}}], "outputs": [{"name": "result", "parameters": {"binary_data": true}}]}`);
    const data = Buffer.from(numbers(6, (i) => i).buffer), bytes = ', "parameters": {"binary_data_size": 48}';
    const plain = header('"parameters": {"priority": 1, "timeout": 1000000}, ', bytes), brief = header('', ', "data": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]');
    const pack = { gzip: gzipSync, deflate: deflateSync };
    for (const encoding of ['', 'gzip', 'deflate'] as const) {
      for (const [json, tail] of [[plain, data], [brief, Buffer.alloc(0)]] as const) {
        const whole = Buffer.concat([json, tail]), body = encoding === '' ? whole : pack[encoding](whole);
        const lines = [
          'POST /v2/models/scan/infer HTTP/1.1', `Host: localhost:${port}`, 'User-Agent: Python PythonHTTPClient', 'Connection: keep-alive',
          ...(encoding === '' ? [] : [`Content-Encoding: ${encoding}`, `Accept-Encoding: ${encoding}`]),
          ...(tail.length === 0 ? [] : [`Inference-Header-Content-Length: ${json.length}`]), `Content-Length: ${body.length}`,
        ];
        socket.write(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]));
        let received = Buffer.alloc(0), head = '';
        for await (const [part] of on(socket, 'data') as AsyncIterable<[Buffer]>) {
          received = Buffer.concat([received, part]);
          head = received.toString('latin1').split('\r\n\r\n')[0]!;
          const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
          if (received.length >= head.length + 4 + length) break;
        }
        match(head, /^HTTP\/1\.1 200 /);
        ok(!/^content-encoding/im.test(head));
        const answer = received.subarray(head.length + 4), jsonLength = Number(/^inference-header-content-length: (\d+)$/im.exec(head)![1]);
        const parsed = JSON.parse(answer.toString('utf8', 0, jsonLength)) as { id: string; model_version: string; outputs: object[] };
        deepStrictEqual(parsed, { id: '7', model_name: 'scan', model_version: '1',
          outputs: [{ name: 'result', datatype: 'FP64', shape: [2, 3], parameters: { binary_data_size: 48 } }] });
        deepStrictEqual([...new Float64Array(new Uint8Array(answer.subarray(jsonLength)).buffer)], [0, 1, 3, 3, 7, 12]);
      }
    }
    socket.destroy();
  });

  it('has the configuration and the statistics that load generators read', async () => {
    const config = await json('/v2/models/scan/versions/1/config');
    deepStrictEqual([config['max_batch_size'], config['input']], [0, [
      { name: 'values', data_type: 'TYPE_FP64', dims: [-1, -1], optional: false }, { name: 'flags', data_type: 'TYPE_BOOL', dims: [-1, -1], optional: true }]]);
    const statistics = async (path: string): Promise<Record<string, never>[]> => (await json(path))['model_stats'] as Record<string, never>[];
    const [before] = await statistics('/v2/models/scan/versions/1/stats');
    await infer(url, 'scan', [fp64('values', [2], [1, 2])]);
    await infer(url, 'scan', [fp64('values', [3], [1, 2])]); // refused
    const [after] = await statistics('/v2/models/scan/stats');
    const counts = (of: Record<string, number> & { readonly inference_stats?: Record<string, { count: number; ns: number }> } = {}): number[] =>
      [of['inference_count']!, of['execution_count']!, ...['success', 'fail', 'queue', 'compute_infer'].map((name) => of.inference_stats![name]!.count)];
    deepStrictEqual(counts(after).map((count, i) => count - counts(before)[i]!), [1, 1, 1, 1, 1, 1]);
    const times = (after as unknown as { inference_stats: Record<string, { ns: number }> }).inference_stats;
    const [success = 0, ...parts] = ['success', 'queue', 'compute_infer', 'compute_output'].map((name) => times[name]!.ns);
    ok(parts.every((ns) => ns > 0) && Math.abs(success - parts.reduce((a, b) => a + b)) < 10, JSON.stringify(times));
    const all = await statistics('/v2/models/stats');
    deepStrictEqual(all.map(({ name }) => name), (await json('/v2'))['models']);
    strictEqual((await fetch(`${url}/v2/models/none/stats`)).status, 404);
    for (const path of ['systemsharedmemory/region/x/register', 'cudasharedmemory/region/x/register', 'trace/setting', 'logging', 'repository/models/scan/load']) {
      const refused = await fetch(`${url}/v2/${path}`, { method: 'POST', body: '{}' });
      deepStrictEqual([refused.status, typeof (await refused.json() as { error: string }).error], [404, 'string']);
    }
  });

  it('decodes what it sends', async () => {
    const body = JSON.stringify({ inputs: [fp64('values', [2, 2], [[1, 2], [3, 4]] as never)] });
    const answer = await decode(await fetch(`${url}/v2/models/scan/infer`, { method: 'POST', body }));
    deepStrictEqual(answer.outputs['result']!.data, [1, 3, 3, 7]);
  });
});

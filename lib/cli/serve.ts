// warploom serve: operations and jobs over HTTP.
import { once } from 'node:events';
import { readText } from '../core/files.ts';
import { letHeapGrow } from '../server/heap.ts';
import { serve, type ServerOptions } from '../server/index.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, numberFlag, parseFlags, UsageError, type Command, type Options,
} from './command.ts';

const text = { type: 'string' } as const;
const options = {
  host: text, port: text, 'token-file': { type: 'string', takes: 'file' }, open: { type: 'boolean' },
  backend: { type: 'string', values: backendNames }, workers: text, 'max-batch': text, 'max-delay': text, 'body-limit': text, timeout: text,
  shared: { type: 'string', takes: 'folder' }, 'no-jobs': { type: 'boolean' }, studio: { type: 'boolean' },
  config: { type: 'string', takes: 'file' },
} as const satisfies Options;

/** Options of `serve` from a JSON file. */
async function configuration(path: string | undefined): Promise<ServerOptions> {
  if (path === undefined) return {};
  const text = await readText(path);
  try {
    return JSON.parse(text) as ServerOptions;
  } catch (error) {
    throw new UsageError(`--config ${path}: ${(error as Error).message}`);
  }
}

/** Options that are given. */
function given(options: Readonly<Record<string, unknown>>): ServerOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** `warploom serve`. */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'serve operations (Open Inference Protocol v2) and jobs over HTTP',
  help: `Usage: warploom serve [--port N] [--host ADDRESS] [--backend auto|cuda|cpu|simt] [--config FILE.json] …

Answers requests by the Open Inference Protocol v2 with binary tensors, which clients of Triton and KServe
speak, and runs jobs that are submitted to it. GET /v2 lists the models, GET /openapi.json describes all paths,
GET /metrics is for Prometheus. It stops on SIGINT or SIGTERM, after answering the requests that it has.

  curl localhost:8000/v2/models/scan/infer -d '{"inputs":
    [{"name": "values", "datatype": "FP64", "shape": [3], "data": [1, 2, 3]}]}'

  --host ADDRESS     address to listen on (default 127.0.0.1: this machine only)
  --port N           default 8000; 0: any free port
  --token-file FILE  requests must carry the token in FILE, as Authorization: Bearer TOKEN
                     (or the environment variable WARPLOOM_TOKEN; needed for other addresses than loopback)
  --open             listen on such an address without a token
  --backend B        default auto: all GPUs, or else the CPU
  --workers N        processes that answer inferences on the port (default 1; docs/server.md)
  --max-batch N      most calls in one launch (default 256)
  --max-delay MS     how long a call waits for others to join it (default 0)
  --body-limit BYTES default 67108864
  --timeout MS       for a request (default 30000)
  --shared DIR       a folder whose files jobs may read, as shared/NAME
  --no-jobs          no jobs
  --studio           with the page of 'warploom studio', at /studio/
  --config FILE      these options and the others of server.serve, as JSON (docs/server.md)

Exit codes: 0 stopped by a signal; 1 failure; 2 invalid flags; 3 device.
`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    if (positionals.length > 0) throw new UsageError(`serve takes options only, not '${positionals.join(' ')}'`);
    const backend = choiceFlag('backend', values.backend, backendNames);
    const file = values['token-file'];
    const token = file === undefined ? process.env['WARPLOOM_TOKEN'] : (await readText(file)).trim();
    const all = {
      ...await configuration(values.config),
      ...given({
        host: values.host, port: integerFlag('port', values.port, 0, 65_535), token, open: values.open, shared: values.shared,
        studio: values.studio,
        devices: backend === undefined || backend === 'auto' ? undefined : [{ backend }],
        workers: integerFlag('workers', values.workers, 1, 1024), jobs: values['no-jobs'] === true ? false : undefined,
        maxBatch: integerFlag('max-batch', values['max-batch'], 1, 2 ** 20), maxDelay: numberFlag('max-delay', values['max-delay']),
        bodyLimit: integerFlag('body-limit', values['body-limit'], 1024, 2 ** 32),
        requestTimeout: integerFlag('timeout', values.timeout, 1, 2 ** 31 - 1),
      }),
    };
    letHeapGrow();
    const server = await serve(all);
    const devices = server.pool.members.map(({ device }) => `${device.backend} (${device.name})`).join(', ');
    context.result({ url: server.url, devices: server.pool.members.map(({ device }) => device.description) },
      `${server.url} on ${devices}${(all.workers ?? 1) > 1 ? `, ${all.workers} workers` : ''}`);
    if (!context.signal.aborted) await once(context.signal, 'abort');
    context.note('stopping; answering the requests that have come');
    await server.close();
    return ExitCode.ok;
  },
};

// warploom studio: the server with its page, opened in the browser.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readText } from '../core/files.ts';
import { serve } from '../server/index.ts';
import { openBrowser } from './browser.ts';
import {
  backendNames, choiceFlag, ExitCode, integerFlag, parseFlags, UsageError, type Command, type Options,
} from './command.ts';

const text = { type: 'string' } as const;
const options = {
  host: text, port: text, 'token-file': { type: 'string', takes: 'file' }, 'no-token': { type: 'boolean' },
  backend: { type: 'string', values: backendNames }, shared: { type: 'string', takes: 'folder' }, 'no-open': { type: 'boolean' },
} as const satisfies Options;

type Values = ReturnType<typeof parseFlags<typeof options>>['values'];

/** The token of a file or of the environment; otherwise one that nobody knows yet. */
async function tokenOf(values: Values): Promise<string | undefined> {
  const file = values['token-file'];
  if (values['no-token'] === true) {
    if (file !== undefined) throw new UsageError('--no-token and --token-file exclude each other');
    return undefined;
  }
  return file === undefined ? process.env['WARPLOOM_TOKEN'] ?? randomBytes(18).toString('base64url') : (await readText(file)).trim();
}

/** `warploom studio`. */
export const studioCommand: Command = {
  name: 'studio',
  summary: 'start, watch and compare jobs, and edit stream programs, in the browser',
  help: `Usage: warploom studio [--port N] [--no-open] [--shared DIR] [--backend auto|cuda|cpu|simt] …

Starts the server of 'warploom serve' on this machine with a page for browsers, prints the page's address and
opens it. The page starts jobs from a form, draws them while they run, pauses, resumes and aborts them, shows
their results and the devices, and has an editor for stream programs. It needs no internet, and nothing leaves
this machine. It stops on SIGINT (Ctrl-C) or SIGTERM; jobs and their results go with it.

  warploom studio                        an address like http://127.0.0.1:8000/studio/#token=…
  warploom studio --shared ./scans       jobs may read the files of this folder, as shared/NAME
  ssh -L 8000:localhost:8000 MACHINE warploom studio --no-open     the studio of another machine, here

  --no-open          only print the address
  --port N           default 8000; 0: any free port
  --host ADDRESS     address to listen on (default 127.0.0.1: this machine only)
  --token-file FILE  the token in FILE, or that of the environment variable WARPLOOM_TOKEN.
                     Default: a new one each time, which is in the address
  --no-token         any user of this machine may use the studio
  --shared DIR       a folder whose files jobs may read, as shared/NAME
  --backend B        default auto: all GPUs, or else the CPU

The same page is part of 'warploom serve --studio'. Exit codes: 0 stopped by a signal; 1 failure; 2 invalid
flags; 3 device.
`,
  options,
  async run(argv, context) {
    const { values, positionals } = parseFlags(options, argv);
    if (positionals.length > 0) throw new UsageError(`studio takes options only, not '${positionals.join(' ')}'`);
    const backend = choiceFlag('backend', values.backend, backendNames);
    const token = await tokenOf(values);
    const port = integerFlag('port', values.port, 0, 65_535);
    const server = await serve({
      studio: true, ...(values.host === undefined ? {} : { host: values.host }), ...(port === undefined ? {} : { port }),
      ...(token === undefined ? {} : { token }), ...(values.shared === undefined ? {} : { shared: values.shared }),
      ...(backend === undefined || backend === 'auto' ? {} : { devices: [{ backend }] }),
    });
    const address = `${server.url}/studio/${token === undefined ? '' : `#token=${token}`}`;
    const devices = server.pool.members.map(({ device }) => `${device.backend} (${device.name})`).join(', ');
    context.result({ url: address, devices: server.pool.members.map(({ device }) => device.description) }, `${address}\non ${devices}`);
    if (values['no-open'] !== true && !context.json && !await openBrowser(address)) {
      context.note('no browser could be opened; open the address yourself');
    }
    if (!context.signal.aborted) await once(context.signal, 'abort');
    context.note('stopping');
    await server.close();
    return ExitCode.ok;
  },
};

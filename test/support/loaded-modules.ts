// Finds which modules of this package and of others an import loads, in a separate process.
import { execFileSync } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { join } from 'node:path';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs in that process: reports every URL that is loaded as a module, and every file that is required. */
const program = `
import { createRequire, register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
const { port1, port2 } = new MessageChannel();
const hooks = "let port; export const initialize = ({ to }) => { port = to; };"
  + "export const load = (url, context, next) => { port.postMessage(url.replace(/[?#].*/, '')); return next(url, context); };";
register('data:text/javascript,' + encodeURIComponent(hooks), { data: { to: port2 }, transferList: [port2] });
const before = new Set(Object.keys(createRequire(import.meta.url).cache));
await import(process.argv[1]);
const urls = new Set();
for (let message; (message = receiveMessageOnPort(port1)) !== undefined;) if (!message.message.startsWith('node:')) urls.add(message.message);
for (const file of Object.keys(createRequire(import.meta.url).cache)) if (!before.has(file)) urls.add('file://' + file);
process.stdout.write(JSON.stringify([...urls]));
process.exit(0);
`;

/** The files that importing a file of this checkout loads, as paths relative to its root. */
export function modulesLoadedBy(path: string): string[] {
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program, pathToFileURL(join(root, path)).href], {
    cwd: root, encoding: 'utf8',
  });
  return (JSON.parse(output) as string[]).map((url) => fileURLToPath(url).slice(root.length)).sort();
}

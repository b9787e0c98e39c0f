// A Redis or Valkey server of a test's own, on a socket in a temporary folder; undefined where none is installed.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Server {
  /** Address with the password. */
  readonly url: string;
  readonly password: string;
  stop(): Promise<void>;
}

const program = ['redis-server', 'valkey-server'].find((name) => spawnSync(name, ['--version']).status === 0);

/** Why there is no server. */
export const noServer = 'redis-server or valkey-server is not installed';

/** Starts a server with a password, and with TLS on a port of 127.0.0.1 if `tls` names the files of a key and its certificate. */
export async function startServer(tls?: { readonly key: string; readonly certificate: string; readonly port: number }): Promise<Server | undefined> {
  if (program === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'warploom-redis-'));
  const socket = join(folder, 's');
  const password = 'opensesame/42';
  const child = spawn(program, ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no', '--dir', folder, '--requirepass', password,
    ...(tls === undefined ? [] : ['--bind', '127.0.0.1', '--tls-port', String(tls.port), '--tls-key-file', tls.key, '--tls-cert-file', tls.certificate,
      '--tls-ca-cert-file', tls.certificate, '--tls-auth-clients', 'no'])],
    { stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (!existsSync(socket)) {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    await sleep(20);
  }
  return {
    url: `unix://:${encodeURIComponent(password)}@localhost${socket}`, password,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

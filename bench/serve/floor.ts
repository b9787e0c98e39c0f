// What HTTP alone costs: a server of Node that reads bodies and answers as many bytes as the one that is measured does.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that computes nothing. */
export interface HttpServer {
  readonly url: string;
  /** Bytes of its answers. */
  answerBytes: number;
  close(): Promise<void>;
}

/** Starts it on a free port. Bodies are read piece by piece and not kept. */
export async function startHttp(): Promise<HttpServer> {
  let answer = Buffer.alloc(0);
  const server = createServer((request, response) => {
    request.on('data', () => undefined).on('end', () => {
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': answer.byteLength }).end(answer);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get answerBytes() { return answer.byteLength; },
    set answerBytes(bytes) { answer = Buffer.alloc(bytes); },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

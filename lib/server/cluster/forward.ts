// What a worker does not answer itself: it goes to the first process, on a socket that only this user can reach.
import { Agent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

/** Paths that workers answer: the first process has jobs, the studio, the description of all paths, and what adds up the workers. */
export function isOfWorker(url: string): boolean {
  return url === '/v2' || (url.startsWith('/v2/') && !/\/stats(\?|$)/.test(url));
}

/** Headers of one connection and not of what is passed on. A connection that is closed in front is closed behind as well. */
function passedOn({ connection, 'keep-alive': _, expect: _expect, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return connection === 'close' ? { ...headers, connection } : headers;
}

function unavailable(response: ServerResponse): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = JSON.stringify({ error: 'the server is starting or stopping' });
  response.writeHead(503, { 'content-type': 'application/json', 'content-length': body.length, 'retry-after': '1' }).end(body);
}

/** Passes requests on. */
export interface Forwarder {
  forward(request: IncomingMessage, response: ServerResponse): void;
  close(): void;
}

/** Passes requests on to a server at `socket`. */
export function forwarder(socket: string): Forwarder {
  const agent = new Agent({ keepAlive: true });
  return {
    forward(request, response) {
      const { method, url, headers: { connection: _, ...headers } } = request;
      const passed = httpRequest({ socketPath: socket, agent, method, path: url, headers: passedOn(headers) });
      passed.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 503, passedOn(answer.headers));
        answer.on('error', () => { response.destroy(); }).pipe(response);
      });
      passed.on('error', () => { unavailable(response); });
      response.on('close', () => {
        if (!response.writableFinished) passed.destroy();
      });
      request.pipe(passed);
    },
    close() { agent.destroy(); },
  };
}

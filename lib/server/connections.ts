// Connections without a request: open for as long as the server announces and a little longer, so that none is closed just as a client
// begins to use it.
import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** Milliseconds beyond what the server announces: for a client whose timer or request is late. */
const grace = 10_000;

/** What a connection is answered that does not speak HTTP, or not in time. */
function answerAndClose(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  const body = JSON.stringify({ error: STATUS_CODES[status] });
  if (socket.writable) {
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nconnection: close\r\ncontent-type: application/json\r\n`
      + `content-length: ${body.length}\r\n\r\n${body}`);
  }
  socket.destroy(error);
}

/**
 * Announces `idle` milliseconds (in Keep-Alive of an answer, in whole seconds), and closes a connection that has had no request for so
 * long and for `late` milliseconds more. Returns what closes those that have not sent the headers of a request yet, for a server that
 * stops: Node waits for them.
 */
export function keepConnections(server: Server, idle: number, late = grace): () => void {
  server.keepAliveTimeout = idle;
  const unused = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    unused.add(socket);
    socket.once('close', () => { unused.delete(socket); });
  });
  const inGrace = new WeakSet<Socket>();
  server.on('timeout', (socket: Socket) => {
    if (inGrace.has(socket)) socket.destroy();
    else socket.setTimeout(late);
    inGrace.add(socket);
  });
  server.on('request', ({ socket }: IncomingMessage) => {
    unused.delete(socket);
    if (inGrace.delete(socket)) socket.setTimeout(0);
  });
  server.removeAllListeners('clientError');
  server.on('clientError', (error: Error & { readonly code?: string }, socket: Socket) => {
    // Node counts a connection that was opened and not used yet as one whose request is late; some clients open them ahead of need.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
      inGrace.add(socket);
      socket.setTimeout(idle);
    } else {
      answerAndClose(error, socket);
    }
  });
  return () => { for (const socket of unused) socket.destroy(); };
}

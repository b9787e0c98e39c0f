// Requests to the server, with the token if there is one.

/** @typedef {{ path: (string | number)[], message: string }} Issue */
/** @typedef {{ item: string, done: number, total: number, figures?: Record<string, number> }} Progress */
/**
 * @typedef {{ id: string, name: string, kind: string, state: string, submitted: string, items: number, finishedItems: number,
 *   progress?: Progress, error?: string, notes?: string[] }} Job
 */
/**
 * @typedef {{ item: string, step: number, time: number, axes: { name: string, values: number[] }[],
 *   fields: Record<string, (number | null)[]>, totals?: Record<string, number | null> }} Frame
 */

const key = 'warploom-token';

/** The token, kept until the tab closes. @returns {string | undefined} */
function storedToken() {
  try {
    return sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

let token = storedToken();

/** @param {string} given */
export function setToken(given) {
  token = given;
  try {
    sessionStorage.setItem(key, given);
  } catch {
    // The browser keeps nothing; the token then lasts as long as the page.
  }
}

/** Takes the token out of the address, where the command line puts it, so that it is not copied or kept with it. */
export function takeToken() {
  const found = /^#token=([\x21-\x7e]+)$/.exec(location.hash);
  if (found?.[1] === undefined) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, '', '#/');
}

/** A refusal of the server. */
export class ServerError extends Error {
  /** @param {number} status @param {{ error?: string, argument?: string, issues?: Issue[] }} body */
  constructor(status, body) {
    super(body.error ?? `the server answered with status ${status}`);
    this.status = status;
    this.argument = body.argument;
    this.issues = body.issues ?? [];
  }
}

/** @type {Set<() => void>} */
const locked = new Set();

/** Calls back when the server asks for a token. @param {() => void} callback */
export function onLocked(callback) {
  locked.add(callback);
  return () => { locked.delete(callback); };
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: unknown, signal?: AbortSignal }} [options]
 */
async function send(path, { method = 'GET', body, signal } = {}) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      method, ...(signal === undefined ? {} : { signal }), ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new Error('the server does not answer; is it still running?', { cause: error });
  }
  if (response.ok) return response;
  if (response.status === 401) for (const callback of locked) callback();
  const text = await response.text();
  throw new ServerError(response.status, text.startsWith('{') ? JSON.parse(text) : {});
}

/** @param {string} path @returns {Promise<any>} */
export const get = async (path) => (await send(path)).json();

/** @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
export const post = async (path, body, signal) =>
  (await send(path, { method: 'POST', ...(body === undefined ? {} : { body }), ...(signal === undefined ? {} : { signal }) })).json();

/** @param {string} path */
export const remove = async (path) => { await send(path, { method: 'DELETE' }); };

/** @param {string} path */
export const getBlob = async (path) => (await send(path)).blob();

/** @param {string} path */
export const getText = async (path) => (await send(path)).text();

/** The path of a file of results. @param {string} id @param {string} item @param {string} name */
export const resultPath = (id, item, name) =>
  `/v1/jobs/${id}/results/${[...(item === '' ? [] : [item]), ...name.split('/')].map(encodeURIComponent).join('/')}`;

/**
 * Server-sent events of a job, until it is over.
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<{ event: string, data: any }>}
 */
export async function* events(id, signal) {
  const { body } = await send(`/v1/jobs/${id}/events`, { signal });
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = `${rest}${value}`.split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(part);
      if (found?.[1] !== undefined && found[2] !== undefined) yield { event: found[1], data: JSON.parse(found[2]) };
    }
  }
}

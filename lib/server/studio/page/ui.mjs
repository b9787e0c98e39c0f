// What all parts of the page use: templates, hooks, and small components.
import { h } from './vendor/preact.mjs';
import { useEffect, useRef, useState } from './vendor/hooks.mjs';
import htm from './vendor/htm.mjs';

export { render } from './vendor/preact.mjs';
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.mjs';

/** Components as templates. */
export const html = htm.bind(h);

/** @typedef {import('./vendor/preact.mjs').VNode | import('./vendor/preact.mjs').VNode[] | null} View */

/**
 * A value that is fetched now and again while the page is seen.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {number} milliseconds
 * @returns {{ value: T | undefined, error: unknown, again: () => void }}
 */
export function usePoll(ask, milliseconds) {
  const [state, setState] = useState(/** @type {{ value: T | undefined, error: unknown }} */ ({ value: undefined, error: undefined }));
  const [round, setRound] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    let isOver = false;
    /** @type {number | undefined} */
    let timer;
    const turn = async () => {
      if (!document.hidden || round === 0) {
        try {
          const value = await latest.current();
          if (!isOver) setState({ value, error: undefined });
        } catch (error) {
          if (!isOver) setState((before) => ({ value: before.value, error }));
        }
      }
      if (!isOver) timer = window.setTimeout(turn, milliseconds);
    };
    void turn();
    return () => { isOver = true; window.clearTimeout(timer); };
  }, [milliseconds, round]);
  return { ...state, again: () => setRound((before) => before + 1) };
}

/**
 * Says something to people who hear the page; nothing is seen.
 * @param {string} text
 */
export function announce(text) {
  const region = document.getElementById('announcements');
  if (region !== null) region.textContent = text;
}

/**
 * The heading of a view, which has the focus when the view opens, and the title of the window.
 * @param {{ children?: unknown, title: string }} props
 */
export function Heading({ children, title }) {
  const heading = useRef(/** @type {HTMLHeadingElement | null} */ (null));
  useEffect(() => { document.title = `${title} – Warploom studio`; }, [title]);
  useEffect(() => { heading.current?.focus({ preventScroll: true }); }, []);
  return html`<h1 tabindex="-1" ref=${heading}>${title}${children}</h1>`;
}

/**
 * What went wrong.
 * @param {{ error: unknown }} props
 */
export function Failure({ error }) {
  if (error === undefined || error === null) return null;
  const text = error instanceof Error ? error.message : String(error);
  return html`<p class="message error" role="alert">${text}</p>`;
}

/** @type {Readonly<Record<string, string>>} */
const marks = { queued: '…', running: '▶', paused: '❙❙', finished: '✓', failed: '✕', aborted: '■' };

/**
 * The state of a job, told by sign and word.
 * @param {{ state: string }} props
 */
export function StateBadge({ state }) {
  return html`<span class=${`badge ${state}`}><span aria-hidden="true">${marks[state] ?? ''}</span> ${state}</span>`;
}

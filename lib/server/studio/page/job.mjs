// One job: its state, how far it is, and what can be done with it.
import { events, post, remove } from './api.mjs';
import { nameText, numberText, secondsText, timeText } from './format.mjs';
import { shareOf } from './jobs.mjs';
import { FiguresView, FramesView } from './live.mjs';
import { ResultsView } from './results.mjs';
import { announce, Failure, Heading, html, StateBadge, useEffect, useState } from './ui.mjs';

/** @typedef {import('./api.mjs').Job} Job */
/** @typedef {import('./api.mjs').Frame} Frame */
/** @typedef {import('./api.mjs').Progress} Progress */
/** What was seen of the progress, to tell the speed. @typedef {{ at: number, share: number, done: number, item: string }} Mark */
/**
 * @typedef {{ job: Job | undefined, frames: Frame[], figures: (Progress & { figures: Record<string, number> })[], marks: Mark[],
 *   warnings: string[] }} Seen
 */

/** Frames and figures that are kept of an item. */
const mostKept = 500;
/** Seconds over which the speed is measured. */
const span = 10;

/** @param {Seen} seen @param {string} event @param {any} data @returns {Seen} */
function next(seen, event, data) {
  const { job, frames, figures, marks } = seen;
  switch (event) {
    case 'state': return { ...seen, job: data, marks: data.state === 'running' && job?.state === 'running' ? marks : [] };
    case 'item': return { ...seen, ...(job === undefined ? {} : { job: { ...job, finishedItems: data.finishedItems } }),
      ...(data.event === 'started' ? { frames: [], figures: [] } : {}) };
    case 'frame': return { ...seen, frames: [...(frames.at(-1)?.item === data.item ? frames : []), data].slice(-mostKept) };
    case 'warning': return { ...seen, warnings: [...new Set([...seen.warnings, data.note])] };
    case 'progress': {
      const changed = job === undefined ? undefined : { ...job, progress: data };
      const at = performance.now() / 1000;
      const mark = { at, share: changed === undefined ? 0 : shareOf(changed), done: data.done, item: data.item };
      return {
        ...seen, job: changed, marks: [...marks.filter((each) => each.at > at - span), mark],
        figures: data.figures === undefined ? figures : [...figures.filter(({ item }) => item === data.item), data].slice(-mostKept),
      };
    }
    default: return seen;
  }
}

/** Follows a job; a connection that breaks is made again. @param {string} id */
function useJob(id) {
  const [seen, setSeen] = useState(/** @type {Seen} */ ({ job: undefined, frames: [], figures: [], marks: [], warnings: [] }));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const [round, setRound] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    const follow = async () => {
      try {
        for await (const { event, data } of events(id, stop.signal)) {
          setSeen((before) => next(before, event, data));
          setError(undefined);
        }
      } catch (failure) {
        if (stop.signal.aborted) return;
        setError(failure);
        const { status } = /** @type {{ status?: number }} */ (failure);
        if (status === undefined || status >= 500) setTimeout(() => { if (!stop.signal.aborted) setRound((before) => before + 1); }, 2000);
      }
    };
    void follow();
    return () => stop.abort();
  }, [id, round]);
  const state = seen.job?.state;
  useEffect(() => { if (state !== undefined) announce(`The job is ${state}`); }, [state]);
  return { seen, error, again: () => setRound((before) => before + 1) };
}

/** How fast it is, and how long it will take. @param {{ seen: Seen }} props */
function Speed({ seen: { job, marks } }) {
  const first = marks[0], last = marks.at(-1);
  if (job?.state !== 'running' || first === undefined || last === undefined || last.at - first.at < 0.2) return null;
  const seconds = last.at - first.at, gained = last.share - first.share;
  const same = marks.filter(({ item }) => item === last.item);
  const begin = same[0] ?? last;
  const rate = last.at > begin.at ? (last.done - begin.done) / (last.at - begin.at) : NaN;
  const unit = Number.isInteger(job.progress?.total) ? 'steps' : 'units of time';
  return html`<div><dt>Speed</dt><dd>${Number.isFinite(rate) ? `${numberText(rate, 3)} ${unit} per second` : 'measuring…'}</dd></div>
    <div><dt>Time left</dt><dd>${gained > 0 ? `about ${secondsText(((1 - last.share) * seconds) / gained)}` : 'unknown'}</dd></div>`;
}

/** @type {Readonly<Record<string, [action: string, label: string][]>>} */
const actionsOf = {
  queued: [['pause', 'Pause'], ['abort', 'Abort']], running: [['pause', 'Pause'], ['abort', 'Abort']],
  paused: [['resume', 'Resume'], ['abort', 'Abort']], failed: [['resume', 'Try again'], ['remove', 'Remove']],
  finished: [['remove', 'Remove']], aborted: [['remove', 'Remove']],
};

/** @param {{ job: Job, onError: (error: unknown) => void, again: () => void }} props */
function Actions({ job, onError, again }) {
  /** @param {string} action */
  const act = async (action) => {
    try {
      onError(undefined);
      if (action === 'remove') {
        if (!window.confirm(`Remove the job ${job.name} and all its results?`)) return;
        await remove(`/v1/jobs/${job.id}`);
        announce(`Job ${job.name} was removed`);
        location.hash = '#/jobs';
      } else {
        await post(`/v1/jobs/${job.id}/${action}`);
        if (job.state === 'failed') again();
      }
    } catch (error) {
      onError(error);
    }
  };
  return html`<p class="actions">${(actionsOf[job.state] ?? []).map(([action, label]) => html`
    <button type="button" key=${action} class=${['abort', 'remove'].includes(action) ? 'danger' : 'primary'}
      onClick=${() => act(action)}>${label}</button>`)}</p>`;
}

/** Whether all that is left to see are results. @param {Job} job */
const isOver = ({ state }) => ['finished', 'failed', 'aborted'].includes(state);

/** @param {Seen} seen */
const titleOf = ({ job, frames }) => (job !== undefined && job.items > 1 ? `State of ${frames.at(-1)?.item ?? ''}` : 'State');

/** @param {{ id: string }} props */
export function JobView({ id }) {
  const { seen, error, again } = useJob(id);
  const [failure, setFailure] = useState(/** @type {unknown} */ (undefined));
  const { job, warnings } = seen;
  if (job === undefined) {
    return html`<${Heading} title="Job" /><${Failure} error=${error} />${error === undefined && html`<p>Asking the server…</p>`}`;
  }
  const share = shareOf(job), figures = Object.entries(job.progress?.figures ?? {});
  return html`<p class="trail"><a href="#/jobs">Jobs</a></p><${Heading} title=${job.name}> <${StateBadge} state=${job.state} /></${Heading}>
    <${Failure} error=${failure ?? error} />${job.error !== undefined && html`<${Failure} error=${job.error} />`}
    ${[...new Set([...job.notes ?? [], ...warnings])].map((note) => html`<p class="message" key=${note}>${note}</p>`)}
    <section class="card" aria-label="Progress">
      <progress class="wide" max="1" value=${share} aria-label="Progress of the job"></progress>
      <dl class="inline">
        <div><dt>Done</dt><dd>${Math.floor(100 * share)} %${share === 1 && job.state === 'running' ? ', writing results' : ''}</dd></div>
        ${job.items > 1 && html`<div><dt>Items</dt><dd>${job.finishedItems} of ${job.items}</dd></div>`}
        ${job.progress !== undefined && html`<div><dt>${Number.isInteger(job.progress.total) ? 'Steps' : 'Time'}</dt>
          <dd>${numberText(job.progress.done)} of ${numberText(job.progress.total)}</dd></div>`}
        <${Speed} seen=${seen} />
        ${figures.map(([name, value]) => html`<div><dt>${nameText(name)}</dt><dd>${numberText(value)}</dd></div>`)}
        <div><dt>Kind</dt><dd>${job.kind}</dd></div><div><dt>Submitted</dt><dd>${timeText(job.submitted)}</dd></div>
      </dl>
      <${Actions} job=${job} onError=${setFailure} again=${again} />
    </section>
    ${isOver(job) ? null : html`<${FramesView} frames=${seen.frames} title=${titleOf(seen)} />`}<${FiguresView} figures=${seen.figures} />
    <${ResultsView} id=${id} finished=${`${job.finishedItems} ${job.state}`} isRunning=${job.state === 'running'} />`;
}

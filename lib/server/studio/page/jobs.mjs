// All jobs of the server.
import { get } from './api.mjs';
import { timeText } from './format.mjs';
import { Failure, Heading, html, StateBadge, usePoll } from './ui.mjs';

/** @typedef {import('./api.mjs').Job} Job */

/** How far a job is, from 0 to 1. @param {Job} job */
export function shareOf({ state, items, finishedItems, progress }) {
  if (state === 'finished') return 1;
  const part = progress === undefined || progress.total === 0 || finishedItems >= items ? 0 : progress.done / progress.total;
  return Math.min(1, (finishedItems + part) / Math.max(1, items));
}

/** @param {{ job: Job }} props */
function Row({ job }) {
  const share = shareOf(job);
  return html`<tr>
    <td><a href=${`#/jobs/${job.id}`}>${job.name}</a></td><td>${job.kind}</td><td><${StateBadge} state=${job.state} /></td>
    <td><progress max="1" value=${share} aria-label=${`Progress of ${job.name}`}></progress> ${Math.round(100 * share)} %</td>
    <td>${job.finishedItems} of ${job.items}</td><td>${timeText(job.submitted)}</td></tr>`;
}

/** The list, asked for every second. */
export function JobsView() {
  const { value, error } = usePoll(() => /** @type {Promise<{ jobs: Job[] }>} */ (get('/v1/jobs')), 1000);
  const jobs = value?.jobs;
  return html`<${Heading} title="Jobs" /><${Failure} error=${error} />
    <p class="actions"><a class="button primary" href="#/new">New job</a></p>
    ${jobs === undefined ? html`<p>Asking the server…</p>`
      : jobs.length === 0 ? html`<div class="card empty"><p>No jobs yet.</p>
        <p class="hint">Start one from a form, or submit one to <code>POST /v1/jobs</code>.</p></div>`
        : html`<div class="scroll" tabindex="0" role="region" aria-label="All jobs"><table aria-label="All jobs">
          <thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">State</th><th scope="col">Progress</th>
            <th scope="col">Items</th><th scope="col">Submitted</th></tr></thead>
          <tbody>${jobs.map((job) => html`<${Row} key=${job.id} job=${job} />`)}</tbody></table></div>`}`;
}

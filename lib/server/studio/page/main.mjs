// The page: its frame, what the address shows, the colours, and the token.
import { get, onLocked, setToken, takeToken } from './api.mjs';
import { DevicesView } from './devices.mjs';
import { JobView } from './job.mjs';
import { JobsView } from './jobs.mjs';
import { NewJobView } from './new-job.mjs';
import { ProgramView } from './program.mjs';
import { html, render, useEffect, useState } from './ui.mjs';

const views = [
  { path: 'jobs', title: 'Jobs' }, { path: 'new', title: 'New job' }, { path: 'stream', title: 'Stream program' },
  { path: 'devices', title: 'Devices' },
];

/** The parts of the address after #/. */
const route = () => location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);

function useRoute() {
  const [parts, setParts] = useState(route());
  useEffect(() => {
    const change = () => { setParts(route()); window.scrollTo(0, 0); };
    window.addEventListener('hashchange', change);
    return () => { window.removeEventListener('hashchange', change); };
  }, []);
  return parts;
}

const storageKey = 'warploom-theme';

/** @param {string} theme */
function applyTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  window.dispatchEvent(new Event('themechange'));
}

function storedTheme() {
  try {
    return localStorage.getItem(storageKey) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function ThemeChoice() {
  const [theme, setTheme] = useState(storedTheme());
  /** @param {{ currentTarget: HTMLSelectElement }} event */
  const change = ({ currentTarget: { value } }) => {
    setTheme(value);
    applyTheme(value);
    try {
      localStorage.setItem(storageKey, value);
    } catch {
      // It then lasts as long as the page.
    }
  };
  return html`<label class="theme">Colours
    <select value=${theme} onChange=${change}>
      <option value="auto">of the system</option><option value="light">light</option><option value="dark">dark</option>
    </select></label>`;
}

function TokenForm() {
  const [value, setValue] = useState('');
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    setToken(value.trim());
    location.reload();
  };
  return html`<form class="card narrow" onSubmit=${submit}>
    <h1>Token</h1>
    <p>The server asks for its token. <code>warploom studio</code> prints an address that contains it.</p>
    <label for="token">Token</label>
    <input id="token" type="password" autocomplete="off" required value=${value}
      onInput=${(/** @type {any} */ event) => setValue(event.currentTarget.value)} />
    <p><button class="primary" type="submit">Continue</button></p>
  </form>`;
}

/** @param {{ parts: string[] }} props */
function View({ parts: [first = '', second = ''] }) {
  switch (first) {
    case '': case 'jobs': return second === '' ? html`<${JobsView} />` : html`<${JobView} key=${second} id=${second} />`;
    case 'new': return html`<${NewJobView} />`;
    case 'stream': return html`<${ProgramView} />`;
    case 'devices': return html`<${DevicesView} />`;
    default: return html`<h1>There is no such page</h1><p><a href="#/jobs">All jobs</a></p>`;
  }
}

function App() {
  const parts = useRoute();
  const [isLocked, setLocked] = useState(false);
  useEffect(() => onLocked(() => setLocked(true)), []);
  const current = parts[0] === '' ? 'jobs' : parts[0];
  return html`
    <a class="skip" href="#content" onClick=${(/** @type {Event} */ event) => {
      event.preventDefault();
      document.getElementById('content')?.focus();
    }}>Skip to the content</a>
    <header>
      <a class="brand" href="#/jobs"><img src="icon.svg" alt="" width="28" height="28" />Warploom <span>studio</span></a>
      <nav aria-label="Main">${views.map(({ path, title }) => html`
        <a href=${`#/${path}`} aria-current=${path === current ? 'page' : undefined}>${title}</a>`)}</nav>
      <${ThemeChoice} />
    </header>
    <main id="content" tabindex="-1">${isLocked ? html`<${TokenForm} />` : html`<${View} parts=${parts} />`}</main>
    <div id="announcements" class="unseen" role="status" aria-live="polite"></div>`;
}

takeToken();
applyTheme(storedTheme());
const app = document.getElementById('app');
if (app !== null) {
  render(html`<${App} />`, app);
  get('/v1/devices').catch(() => undefined); // asks for the token at once where one is needed
}

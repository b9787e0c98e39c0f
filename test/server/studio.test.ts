// The studio in a real browser: its page is complete, safe and usable without a mouse, and its journeys end where they should.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { existsSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { server } from '../../lib/index.ts';

const token = 'studio-token-for-tests';
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

describe('the studio', function () {
  this.timeout(120_000);
  let running: Awaited<ReturnType<typeof server.serve>>;
  let browser: Browser | undefined;
  let page: Page;
  /** What the browser complains of, and what it asked other hosts for. */
  const complaints: string[] = [];
  let address = '';
  before(async () => {
    const launch = async (): Promise<Browser | undefined> => (chromium === undefined ? undefined
      : (await import('playwright-core')).chromium.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] }));
    [running, browser] = await Promise.all([
      server.serve({ port: 0, studio: true, token, devices: [{ backend: 'cpu', threads: 1 }] }), launch(),
    ]);
    address = `${running.url}/studio/`;
    if (browser === undefined) return;
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } });
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => { if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(running.url)) complaints.push(request.url()); });
  });
  after(async () => {
    await browser?.close();
    await running.close();
  });
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(running.url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  /** A test that needs a browser; without one it is counted as skipped. */
  const journey = (what: string, run: () => Promise<void>): void => {
    it(what, async function () {
      if (browser === undefined) this.skip();
      await run();
      deepStrictEqual(complaints, []);
    });
  };

  it('sends its files without the token, under a strict policy, and nothing else', async () => {
    const start = await fetch(address);
    const policy = start.headers.get('content-security-policy') ?? '';
    match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/);
    ok(!policy.includes('unsafe'));
    const html = await start.text();
    ok(!/<script(?![^>]*\ssrc=)/.test(html) && !/\son\w+=|style=/.test(html));
    strictEqual((await fetch(`${running.url}/`, { redirect: 'manual' })).headers.get('location'), '/studio/');
    // All modules, from the one that the page names; those of packages included.
    const seen = new Set<string>();
    const visit = async (name: string): Promise<void> => {
      if (seen.has(name)) return;
      seen.add(name);
      const response = await fetch(address + name);
      strictEqual(response.status, 200, name);
      match(response.headers.get('content-type') ?? '', /javascript/);
      for (const [, target = ''] of (await response.text()).matchAll(/(?:from|import)\s*['"](\.[^'"]+)['"]/g)) {
        await visit(new URL(target, `http://x/${name}`).pathname.slice(1));
      }
    };
    await visit('main.mjs');
    ok(seen.has('vendor/preact.mjs') && seen.has('vendor/hooks.mjs') && seen.size >= 8, [...seen].join());
    const tag = start.headers.get('etag') ?? '';
    strictEqual((await fetch(address, { headers: { 'if-none-match': tag } })).status, 304);
    for (const path of ['/studio/../app.ts', '/studio/%2e%2e/app.ts', '/studio/vendor/preact.d.mts', '/studio/none', '/studio/..%2fapp.ts']) {
      ok([401, 404].includes((await fetch(running.url + path)).status), path);
    }
    for (const path of ['/v1/jobs', '/v1/devices', '/v1/examples', '/v1/stream/check', '/v1/schema']) strictEqual((await fetch(running.url + path)).status, 401, path);
  });

  it('is not there where it was not asked for', async () => {
    const plain = await server.serve({ port: 0, devices: [{ backend: 'cpu', threads: 1 }] });
    strictEqual((await fetch(`${plain.url}/studio/`)).status, 404);
    await plain.close();
  });

  it('gives examples that run without files, and says field by field what is wrong with a job', async () => {
    const { jobs } = await (await ask('/v1/examples')).json() as { jobs: { name: string; kind: string }[] };
    ok(jobs.some(({ name }) => name === 'heat-rod') && jobs.some(({ kind }) => kind === 'stencil') && jobs.some(({ kind }) => kind === 'denoise'));
    const job = { kind: 'simulate', equation: 'heat', name: 'a', n: 1, until: { time: -1 }, initial: 'hill', boundary: { left: 'open', right: 'periodic' }, foo: 1 };
    const refused = await (await ask('/v1/jobs', { method: 'POST', body: JSON.stringify({ job }) })).json() as { issues: { path: string[]; message: string }[] };
    deepStrictEqual(refused.issues.map(({ path }) => path.join('.')).sort(), ['boundary.left', 'foo', 'initial', 'n', 'until.time']);
    match(refused.issues.find(({ path }) => path[0] === 'initial')?.message ?? '', /"parabola", "ramp", \{ kind: "parabola" or "ramp"/);
    const lacking = { kind: 'denoise', name: 'a', input: 'no.png', weight: 1 };
    const absent = await (await ask('/v1/jobs', { method: 'POST', body: JSON.stringify({ job: lacking }) })).json() as { argument: string };
    strictEqual(absent.argument, 'input');
    const run = async (path: string, body: object): Promise<[number, string]> => {
      const response = await ask(`/v1/stream/${path}`, { method: 'POST', body: JSON.stringify(body) });
      return [response.status, await response.text()];
    };
    const open = 'int->int filter F { work pop 1 push 1 { push(pop()); } }';
    for (const [path, body, reason] of [
      ['check', {}, /text/], ['check', { text: 3 }, /text/], ['check', { text: '', cores: 0 }, /cores/], ['check', { text: '', main: 3 }, /main/],
      ['run', { text: 'x' }, /S\d{4}/], ['run', { text: open, main: 'F' }, /open input/], ['run', { text: open, iterations: 1e9 }, /iterations/],
    ] as const) {
      const [status, answer] = await run(path, body);
      deepStrictEqual([status, reason.test(answer)], [400, true], answer);
    }
    const [status, answer] = await run('check', { text: open, main: 'F' });
    deepStrictEqual([status, 'graph' in (JSON.parse(answer) as object)], [200, true]);
  });

  journey('asks for the token, and takes it from the address out of sight', async () => {
    await page.goto(address);
    await page.getByLabel('Token').waitFor();
    complaints.splice(0); // the browser reports the refused request
    await page.goto(`${address}#token=${token}`);
    await page.reload();
    await page.getByText('No jobs yet').waitFor();
    strictEqual(new URL(page.url()).hash, '#/');
  });

  journey('starts a job from the form, with what is wrong beside its field, and follows it', async () => {
    await page.getByRole('link', { name: 'New job' }).first().click();
    const name = page.getByLabel('name', { exact: false }).first();
    await name.waitFor();
    strictEqual(await page.locator('#field-name').inputValue(), 'heat-rod');
    await page.locator('#field-n').fill('2');
    await page.locator('#field-until\\.time').fill('a while');
    await page.getByRole('button', { name: 'Start the job' }).click();
    await page.getByText("'a while' is not a number").first().waitFor(); // what has no value is not sent
    await page.locator('#field-until\\.time').fill('3');
    await page.getByRole('button', { name: 'Start the job' }).click();
    const issue = page.locator('#field-n-issue');
    await issue.waitFor();
    match(await issue.innerText(), /expected a number of at least \d/);
    strictEqual(await page.locator('#field-n').getAttribute('aria-invalid'), 'true');
    ok((await page.locator('#field-n').getAttribute('aria-describedby') ?? '').includes('field-n-issue'));
    complaints.splice(0); // the browser reports the refused request
    await page.locator('#field-n').fill('101');
    await page.getByRole('button', { name: 'Start the job' }).click();
    await page.locator('.badge.finished').waitFor();
    strictEqual(await page.getByRole('status').innerText(), 'The job is finished');
    await page.getByRole('img', { name: /^Profile of u at time 3, from / }).waitFor();
    await page.getByRole('img', { name: /^u over space and time/ }).waitFor();
    await page.getByRole('img', { name: /^total of u over time, .* at time 3$/ }).waitFor();
    const size = await page.locator('canvas[role=img]').first().evaluate((canvas: any) => (canvas.width * canvas.height) as number);
    ok(size > 10_000);
    await page.locator('#live-time').press('Home'); // the keys of a slider
    await page.getByRole('img', { name: /^Profile of u at time 0, / }).waitFor();
    await page.getByRole('heading', { name: 'Results' }).waitFor();
    await page.getByRole('img', { name: 'profile, a picture of the results' }).waitFor();
    await page.getByText('Files (').click();
    await page.getByRole('button', { name: 'Show result.json' }).click();
    match(await page.locator('pre').innerText(), /"schema": 1/);
  });

  journey('pauses, resumes and aborts a job', async () => {
    const job = { kind: 'simulate', name: 'long', equation: 'heat', n: 2001, fourier: 0.4, initial: 'ramp', until: { steps: 100_000_000 }, snapshots: 1000 };
    const { id } = await (await ask('/v1/jobs', { method: 'POST', body: JSON.stringify({ job }) })).json() as { id: string };
    await page.goto(`${address}#/jobs/${id}`);
    await page.getByText('Time left').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge.paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge.running').waitFor();
    await page.getByRole('button', { name: 'Abort' }).click();
    await page.locator('.badge.aborted').waitFor();
    await page.getByRole('link', { name: 'Jobs' }).first().click();
    await page.locator('tbody tr').nth(1).waitFor();
  });

  journey('edits a stream program, with diagnostics at their places, its graph, its schedule and a run', async () => {
    await page.getByRole('link', { name: 'Stream program' }).click();
    await page.getByRole('img', { name: 'Graph: 3 nodes, 2 channels' }).waitFor();
    await page.getByRole('img', { name: 'Schedule of one launch on 4 cores' }).waitFor();
    const text = await page.getByLabel('Program', { exact: true }).inputValue();
    await page.getByLabel('Program', { exact: true }).fill(text.replace('value = value + 0.25;', 'value = value + ;'));
    await page.getByRole('button', { name: 'line 13, column 21' }).click();
    const selected = await page.locator('#program').evaluate((area: any) => [area === area.ownerDocument.activeElement, area.selectionStart as number]);
    deepStrictEqual(selected, [true, text.indexOf('0.25;')]);
    strictEqual(await page.locator('mark.error').innerText(), ';');
    ok(await page.getByRole('button', { name: 'Run' }).isDisabled());
    await page.getByLabel('Program', { exact: true }).fill(text);
    await page.getByText('No errors, no warnings').first().waitFor();
    await page.getByLabel('Steady states').fill('20');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('img', { name: 'The first 20 numbers, printed' }).waitFor();
    // The moving average of four values of the ramp, by hand.
    const ramp = Array.from({ length: 4 }, (_, i) => Math.fround(i * 0.25 + Math.sin(3 * i * 0.25)));
    const printed = Number((await page.locator('pre[aria-label="What the program printed"]').textContent())?.split('\n')[0]);
    ok(Math.abs(printed - ramp.reduce((sum, value) => sum + value, 0) / 4) < 1e-5, String(printed));
  });

  journey('lays an image before over the one after, with a slider', async () => {
    const job = { kind: 'denoise', name: 'head', input: { phantom: 'shepp-logan', size: 64 }, addNoise: {}, weight: 0.1, iterations: 60 };
    const { id } = await (await ask('/v1/jobs', { method: 'POST', body: JSON.stringify({ job }) })).json() as { id: string };
    await page.goto(`${address}#/jobs/${id}`);
    const slider = page.getByRole('slider', { name: 'Share that shows before' });
    await slider.waitFor();
    await page.getByRole('img', { name: /^Before: / }).waitFor();
    await slider.press('ArrowLeft');
    strictEqual(await slider.getAttribute('aria-valuetext'), '49 % before, 51 % after');
    const clip = await page.locator('.pair .over').evaluate((image: any) =>
      image.ownerDocument.defaultView.getComputedStyle(image).clipPath as string);
    match(clip, /51%|calc\(100% - 49%\)/);
  });

  journey('names every control, has every id once, and fits a phone', async () => {
    const session = await page.context().newCDPSession(page);
    const roles = ['button', 'link', 'textbox', 'combobox', 'slider', 'checkbox', 'image', 'progressbar', 'meter', 'region', 'navigation', 'table'];
    await page.setViewportSize({ width: 360, height: 780 });
    const job = page.url().slice(page.url().indexOf('#'));
    for (const [view, ready] of [['#/jobs', 'table'], ['#/new', 'form'], ['#/stream', '#schedule'], [job, '#results']] as const) {
      await page.goto(address + view);
      await page.locator(ready).first().waitFor();
      await page.locator('summary').evaluateAll((all: any[]) => { for (const each of all) if (!each.parentElement.open) each.click(); });
      const { nodes } = await session.send('Accessibility.getFullAXTree');
      const nameless = nodes.filter(({ ignored, role, name }) =>
        !ignored && roles.includes(String(role?.value)) && String(name?.value ?? '') === '').map(({ role }) => String(role?.value));
      const [twice, overflow, headings] = await page.evaluate(() => {
        const { document, innerWidth } = globalThis as any;
        const ids = [...document.querySelectorAll('[id]')].map(({ id }: any) => id as string);
        return [ids.filter((id, i) => ids.indexOf(id) !== i), document.documentElement.scrollWidth > innerWidth, document.querySelectorAll('h1').length];
      });
      deepStrictEqual([view, nameless, twice, overflow, headings], [view, [], [], false, 1]);
    }
    await page.setViewportSize({ width: 1100, height: 900 });
  });

  journey('can be used with the keyboard alone, and keeps its colours', async () => {
    await page.goto(`${address}#/devices`);
    await page.reload();
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
    await page.evaluate(() => { (globalThis as any).document.activeElement.blur(); });
    await page.keyboard.press('Tab');
    const focused = (): Promise<string> => page.evaluate(() => (globalThis as any).document.activeElement.textContent as string);
    strictEqual(await focused(), 'Skip to the content');
    await page.keyboard.press('Tab'); // the name of the studio
    await page.keyboard.press('Tab');
    strictEqual(await focused(), 'Jobs');
    ok(await page.evaluate(() => (globalThis as any).getComputedStyle((globalThis as any).document.activeElement).outlineStyle !== 'none'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    const ground = (): Promise<string> => page.evaluate(() => (globalThis as any).getComputedStyle((globalThis as any).document.body).backgroundColor as string);
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await ground();
    await page.getByLabel('Colours').selectOption('light');
    const light = await ground();
    ok(dark !== light, dark);
    await page.reload();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    strictEqual(await ground(), light);
  });

  journey('shows the devices', async () => {
    await page.getByRole('link', { name: 'Devices' }).click();
    await page.getByText('Memory in use').waitFor();
    await page.getByLabel('Processor load').waitFor();
  });
});

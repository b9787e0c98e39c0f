// A page in a real browser, for tests: files of the checkout, served to Chromium without a network.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import type { Browser, Page } from 'playwright-core';

/** A browser of this machine, or undefined. */
export const chromium = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((path) => path !== undefined && existsSync(path));

const types: Readonly<Record<string, string>> = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html', '.wasm': 'application/wasm' };

/** An empty page whose scripts find files of `folder`. What the page reports as errors is in `errors`. */
export interface Served {
  readonly page: Page;
  readonly errors: readonly string[];
  close(): Promise<void>;
}

export async function openPage(folder: string): Promise<Served> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://page').pathname);
    if (path === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title><link rel=icon href=data:,>');
    return readFile(join(folder, path)).then(
      (bytes) => response.setHeader('content-type', types[extname(path)] ?? 'application/octet-stream').end(bytes),
      () => response.writeHead(404).end());
  });
  await new Promise<void>((settle) => { server.listen(0, '127.0.0.1', settle); });
  const { chromium: engine } = await import('playwright-core');
  const browser: Browser = await engine.launch({ executablePath: chromium!, args: ['--no-sandbox'] });
  const page = await (await browser.newContext()).newPage(), errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const close = async (): Promise<void> => {
    await browser.close();
    server.closeAllConnections();
    await new Promise((settle) => { server.close(settle); });
  };
  return { page, errors, close };
}

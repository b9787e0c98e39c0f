// Opens an address in the user's browser.
import { spawn } from 'node:child_process';

/** The command of a system, and what its arguments are. */
function commandFor(platform: NodeJS.Platform, url: string): readonly [command: string, args: readonly string[]] {
  if (platform === 'darwin') return ['open', [url]];
  return platform === 'win32' ? ['rundll32', ['url.dll,FileProtocolHandler', url]] : ['xdg-open', [url]];
}

/** Whether the browser was asked to open it. False where there is no screen or no such command. */
export function openBrowser(url: string, env: Readonly<Record<string, string | undefined>> = process.env): Promise<boolean> {
  const { platform } = process;
  const displays = [env['DISPLAY'], env['WAYLAND_DISPLAY']];
  const hasScreen = platform === 'darwin' || platform === 'win32' || displays.some((each = '') => each !== '');
  if (!hasScreen) return Promise.resolve(false);
  const [command, args] = commandFor(platform, url);
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', detached: true });
    child.once('error', () => { resolve(false); });
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

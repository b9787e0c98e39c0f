// Node's globals that pages lack, or have with other values: scripts/build-browser.mjs puts them in place of the names.

/** Timers as objects: they never keep a page open. */
class Timer {
  readonly number: number;

  constructor(number: unknown) {
    this.number = number as number;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
const later = globalThis.setTimeout, never = globalThis.clearTimeout;
const startTimer = (run: () => void, milliseconds?: number): Timer => new Timer(later(run, milliseconds));
const stopTimer = (timer: Timer | undefined): void => { never(timer?.number); };

const waiting: (() => void)[] = [];
const { port1, port2 } = new MessageChannel();
(port1 as unknown as { onmessage: () => void }).onmessage = () => waiting.shift()?.();
(port1 as { unref?: () => void }).unref?.(); // where Node imports this: nothing waits for it
/** In a later turn of the event loop, without the delay of timers. */
function soon(run: () => void): void {
  waiting.push(run);
  port2.postMessage(0);
}

/** Pages have the class only where they are isolated, but always the memory. */
function shared(): typeof globalThis.SharedArrayBuffer {
  const known = (globalThis as { SharedArrayBuffer?: typeof globalThis.SharedArrayBuffer }).SharedArrayBuffer;
  if (known !== undefined) return known;
  type Engine = { readonly Memory: new (size: object) => { readonly buffer: SharedArrayBuffer } };
  const { Memory } = (globalThis as unknown as { WebAssembly: Engine }).WebAssembly;
  return new Memory({ initial: 0, maximum: 0, shared: true }).buffer.constructor as typeof globalThis.SharedArrayBuffer;
}

const page = {
  env: {} as Readonly<Record<string, string>>, platform: 'browser', arch: 'wasm32', memoryUsage: { rss: () => 0 }, on: () => undefined,
};

export { page as process, soon as setImmediate, startTimer as setTimeout, stopTimer as clearTimeout };
const SharedBuffer = shared();
export { SharedBuffer as SharedArrayBuffer };

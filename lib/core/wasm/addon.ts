// The addon's functions on systems that it does not run on: the cpu backend as WebAssembly, on one thread.
import { elementTypes, makeTypedArray, typedArrayName, elementBytes, type ElementType, type TypedArray } from '../arrays.ts';
import type { Addon, DeviceDescription, Operations, RawOutcome, ReportField } from '../addon.ts';
import { required } from '../known.ts';
import { Machine, plainError, refused } from './machine.ts';
import { Queue } from './queue.ts';
import { prepare, Staging, type Room } from './staging.ts';

interface Session {
  readonly handle: number;
  readonly queue: Queue;
}

/** What a call reports: the seconds, then its fields in order, tables as arrays. */
function outcomeOf(list: Float64Array, fields: readonly ReportField[]): RawOutcome {
  if (fields.length === 0) return required(list[0]);
  let at = 0;
  const next = (): number => required(list[at++]);
  const outcome: [number, ...(number | Float64Array | undefined)[]] = [next()];
  for (const { kind } of fields) {
    const number = next();
    if (kind !== 'record' && kind !== 'rows') outcome.push(number);
    else if (number < 0) outcome.push(undefined);
    else outcome.push(list.slice(at, at += number));
  }
  return outcome;
}

const noModules = (): never => {
  throw plainError('NOT_COMPILED', 'the cpu backend has no modules');
};

/** @internal */
export class WasmAddon implements Addon {
  readonly numbers = new Float64Array(512);
  readonly #machine: Machine;
  readonly #reason: string;
  readonly #operations: Operations;
  readonly #list: readonly Operations[string][];
  readonly #sessions = new Map<number, Session>();
  readonly #rooms = new Map<number, Room>();
  /** Outputs of calls in flight. */
  readonly #written = new Set<TypedArray>();
  readonly #collected = new FinalizationRegistry<() => void>((free) => { free(); });
  #last = 0;

  /** `code`: the module, or its bytes. `reason`: why the addon itself is not there. */
  constructor(code: object, reason: string) {
    this.#machine = new Machine(code);
    this.#reason = reason;
    this.#machine.call('warploom_describe');
    this.#operations = JSON.parse(this.#machine.text()) as Operations;
    this.#list = Object.values(this.#operations);
  }

  operations(): Operations {
    return this.#operations;
  }

  devices(): DeviceDescription[] {
    const none = { index: 0, available: false, name: '', memoryBytes: 0, computeCapability: 0, multiprocessors: 0, l2Bytes: 0, driver: '' };
    return [
      { ...none, backend: 'cuda', reason: this.#reason },
      { ...none, backend: 'cpu', available: true, reason: `on one thread, because ${this.#reason}`, name: 'cpu (WebAssembly)',
        memoryBytes: 2 ** 32, multiprocessors: 1 },
      { ...none, backend: 'simt', reason: 'not compiled: it needs the addon' },
    ];
  }

  traffic(): ReturnType<Addon['traffic']> {
    return { taken: 0, returned: 0, settling: 0, fresh: 0, slices: 0 };
  }

  open(target: object, backend: string, _index: number,
    { memoryLimit = 0, queueLimit = 1024 }: Parameters<Addon['open']>[3]): [number, Promise<void>] {
    if (backend !== 'cpu') throw plainError('UNAVAILABLE', `${backend}: ${this.#reason}`);
    const handle = this.#machine.call('warploom_open', memoryLimit), number = this.#last += 1;
    this.#sessions.set(number, { handle, queue: new Queue(queueLimit) });
    this.#collected.register(target, () => void this.close(number));
    return [number, Promise.resolve()];
  }

  #session(number: number): Session {
    const session = this.#sessions.get(number);
    if (session === undefined) throw plainError('DISPOSED', 'the device was released; open or create a new one');
    return session;
  }

  #room(number: number, name: string): Room {
    const room = this.#rooms.get(number);
    if (room === undefined) throw plainError('DISPOSED', 'the device array was released; open or create a new one', { argument: name });
    return room;
  }

  #make(device: number, target: object, type: number, length: number, zeroed: boolean): number {
    const session = this.#session(device), number = this.#last += 1;
    const bytes = length * elementBytes(required(elementTypes[type]));
    this.#rooms.set(number, { device: session.handle, type, bytes, address: 0, zeroed });
    this.#collected.register(target, () => { this.release(number); });
    this.#deviceOf.set(number, device);
    return number;
  }

  readonly #deviceOf = new Map<number, number>();

  allocate(device: number, target: object, type: number, length: number, source: TypedArray | undefined,
    id: number): [number, Promise<void>] {
    const number = this.#make(device, target, type, length, source === undefined), room = this.#room(number, '');
    let failure: unknown;
    try {
      prepare(this.#machine, room);
      if (source !== undefined && source.byteLength > 0) this.#machine.write(room.address, source);
    } catch (error) {
      failure = error;
    }
    return [number, this.#session(device).queue.add(id, () => {
      if (failure !== undefined) throw failure as Error;
    })];
  }

  reserve(device: number, target: object, type: number, length: number, zeroed: boolean): number {
    return this.#make(device, target, type, length, zeroed);
  }

  pinned(device: number, type: ElementType, length: number): Promise<TypedArray> {
    this.#session(device);
    return Promise.resolve(makeTypedArray(type, length));
  }

  #stage(session: Session, operation: number, values: readonly unknown[]): { staging: Staging; call: number } {
    const { fields } = required(this.#list[operation]);
    const staging = new Staging(this.#machine, session.handle, fields, this.numbers, values, (id, name) => {
      const room = this.#room(id, name);
      if (room.device !== session.handle) throw refused(name, "an array of the call's device", 'an array of another device');
      return room;
    });
    for (const { name, array } of staging.slots) {
      if (array !== undefined) this.#requireFree(name, array);
    }
    staging.place();
    this.#machine.numbers.set(this.numbers);
    const call = this.#machine.call('warploom_bind', session.handle, operation, this.numbers.length);
    if (call === 0) {
      const error = this.#machine.failure((slot) => staging.describe(slot));
      staging.free();
      throw error;
    }
    staging.copyIn();
    return { staging, call };
  }

  #requireFree(name: string, { buffer, byteOffset, byteLength }: TypedArray): void {
    for (const other of this.#written) {
      const apart = other.byteOffset >= byteOffset + byteLength || byteOffset >= other.byteOffset + other.byteLength;
      if (other.buffer !== buffer || apart) continue;
      throw refused(name, 'an array that no pending call writes to', 'an output of a pending call; await it first');
    }
  }

  #check(call: number): void {
    if (this.#machine.call('warploom_check', call) === 0) throw this.#machine.failure();
  }

  run(device: number, operation: number, id: number, onProgress: ((done: number, total: number) => void) | undefined,
    ...values: unknown[]): Promise<RawOutcome> {
    try {
      return this.#start(this.#session(device), operation, id, onProgress, values);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #start(session: Session, operation: number, id: number, onProgress: ((done: number, total: number) => void) | undefined,
    values: readonly unknown[]): Promise<RawOutcome> {
    const { staging, call } = this.#stage(session, operation, values);
    const written = staging.slots.flatMap(({ array, role }) => (role === 'input' ? [] : array ?? []));
    const end = (): void => {
      staging.free();
      this.#machine.call('warploom_end', call);
      for (const array of written) this.#written.delete(array);
    };
    try {
      if (!staging.waits) this.#check(call);
    } catch (error) {
      end();
      throw error;
    }
    for (const array of written) this.#written.add(array);
    return session.queue.add(id, () => {
      try {
        if (staging.waits) this.#check(call);
        if (this.#machine.callWith(onProgress, 'warploom_run', call) === 0) throw this.#machine.failure();
        staging.copyOut();
        return this.#outcome(call, operation);
      } finally {
        end();
      }
    }, { drop: end });
  }

  #outcome(call: number, operation: number): RawOutcome {
    const list = this.#machine.floats(this.#machine.call('warploom_results', call), this.#machine.call('warploom_results_length', call));
    return outcomeOf(list, required(this.#list[operation]).report);
  }

  workspace(device: number, operation: number, _id: number, _onProgress: undefined, ...values: unknown[]): number {
    const { staging, call } = this.#stage(this.#session(device), operation, values);
    try {
      this.#check(call);
      return this.#machine.call('warploom_workspace', call);
    } finally {
      staging.free();
      this.#machine.call('warploom_end', call);
    }
  }

  memory(device: number): ReturnType<Addon['memory']> {
    this.#machine.call('warploom_memory', this.#session(device).handle);
    const [inUseBytes = 0, pooledBytes = 0, peakBytes = 0, limitBytes = 0] = this.#machine.numbers;
    return { inUseBytes, pooledBytes, peakBytes, limitBytes };
  }

  trim(device: number): Promise<void> {
    const { handle, queue } = this.#session(device);
    return queue.add(0, () => void this.#machine.call('warploom_trim', handle), { counted: false });
  }

  cancel(device: number, id: number): void {
    this.#sessions.get(device)?.queue.cancel(id);
  }

  close(device: number): Promise<void> {
    const session = this.#sessions.get(device);
    if (session === undefined) return Promise.resolve();
    this.#sessions.delete(device);
    return session.queue.add(0, () => {
      this.#machine.call('warploom_close', session.handle);
      for (const [number, room] of this.#rooms) if (room.device === session.handle) this.#rooms.delete(number);
    }, { counted: false });
  }

  #part(number: number, array: TypedArray, offset: number): Room {
    const room = this.#room(number, 'array');
    const size = elementBytes(required(elementTypes[room.type])), begin = offset * size;
    if (!Number.isSafeInteger(offset) || offset < 0 || begin + array.byteLength > room.bytes) {
      throw refused('offset', `elements inside the array's ${room.bytes / size}`,
        `${array.byteLength / size} from element ${String(offset)} on`);
    }
    return room;
  }

  #queueOf(array: number): Queue {
    return this.#session(required(this.#deviceOf.get(array))).queue;
  }

  #shift(room: Room, offset: number): number {
    prepare(this.#machine, room);
    return room.address + offset * elementBytes(required(elementTypes[room.type]));
  }

  upload(array: number, source: TypedArray, offset: number, id: number): Promise<void> {
    const room = this.#part(array, source, offset), copy = source.slice();
    return this.#queueOf(array).add(id, () => { this.#machine.write(this.#shift(room, offset), copy); });
  }

  download(array: number, target: TypedArray, offset: number, id: number): Promise<void> {
    const room = this.#part(array, target, offset);
    this.#requireFree('target', target);
    return this.#queueOf(array).add(id, () => { this.#machine.read(this.#shift(room, offset), target); });
  }

  copy(to: number, from: number, id: number): Promise<void> {
    const target = this.#room(to, 'array'), source = this.#room(from, 'other');
    if (target.type !== source.type || target.bytes !== source.bytes || target.device !== source.device) {
      const kind = typedArrayName(required(elementTypes[target.type]));
      throw refused('other', `${target.bytes} bytes of a ${kind} on the same device`,
        `one of ${source.bytes} bytes`);
    }
    const move = (): void => { this.#machine.move(this.#shift(target, 0), this.#shift(source, 0), target.bytes); };
    return this.#queueOf(to).add(id, move);
  }

  release(array: number): void {
    const room = this.#rooms.get(array), session = this.#sessions.get(this.#deviceOf.get(array) ?? 0);
    this.#rooms.delete(array);
    this.#deviceOf.delete(array);
    if (room === undefined || session === undefined) return;
    void session.queue.add(0, () => {
      if (room.address !== 0) this.#machine.call('warploom_release', room.device, room.address);
    }, { counted: false });
  }

  copyArray(to: TypedArray, from: TypedArray): void {
    new Uint8Array(to.buffer, to.byteOffset, to.byteLength).set(new Uint8Array(from.buffer, from.byteOffset, from.byteLength));
  }

  lendRoom(): undefined {}
  beginCopy(): void {}
  finishCopy(): void {}
  handOut(array: TypedArray): TypedArray {
    return array;
  }

  settleRoom(): void {}
  giveBack(): void {}
  provideLent(): void {}
  findNvrtc(): string {
    return this.#reason;
  }

  loadModule = noModules;
  launchModule = noModules;
  compileNvrtc = noModules;
  residentBlocks = noModules;
  releaseModule = noModules;
}


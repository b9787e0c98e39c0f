// A small cache in memory: the values that were used last.
export class Latest<T> {
  readonly #values = new Map<string, T>();
  readonly #most: number;

  /** @param most the number of values that are kept */
  constructor(most: number) {
    this.#most = most;
  }

  /** The value of a key: the one that is kept, or a new one, which is kept unless `make` throws. */
  get(key: string, make: () => T): T {
    const value = this.#values.has(key) ? this.#values.get(key) as T : make();
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#most && oldest !== undefined) this.#values.delete(oldest);
    return value;
  }
}

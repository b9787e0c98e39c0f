// Items that run in one process at the same time and meet where they compute together.

/** What an item waits with. */
interface Arrival {
  readonly brought: unknown;
  readonly work: (all: readonly unknown[]) => Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Items of which a few work at any moment: the others wait for their turn, or for all to have come. */
export class Group {
  #present: number;
  #free: number;
  #arrived: Arrival[] = [];
  readonly #queue: (() => void)[] = [];

  /** `width`: how many items work at the same time. */
  constructor(size: number, width: number) {
    this.#present = size;
    this.#free = width;
  }

  /** Runs one of the items. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await work();
    } finally {
      this.#exit();
      this.#present -= 1;
      this.#begin();
    }
  }

  /** Waits until all items that have not ended are here; `work` of one of them then gets what each has brought. */
  async meet<T>(brought: T, work: (all: readonly T[]) => Promise<void>): Promise<void> {
    const met = new Promise<void>((resolve, reject) => {
      this.#arrived.push({ brought, work: work as Arrival['work'], resolve, reject });
    });
    this.#exit();
    this.#begin();
    try {
      await met;
    } finally {
      await this.#enter();
    }
  }

  /** Does the work of a meeting if all are there. */
  #begin(): void {
    const arrived = this.#arrived, [first] = arrived;
    if (first === undefined || arrived.length < this.#present) return;
    this.#arrived = [];
    first.work(arrived.map(({ brought }) => brought)).then(
      () => { for (const { resolve } of arrived) resolve(); },
      (error: unknown) => { for (const { reject } of arrived) reject(error); });
  }

  async #enter(): Promise<void> {
    if (this.#free === 0) await new Promise<void>((resolve) => { this.#queue.push(resolve); });
    else this.#free -= 1;
  }

  #exit(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}

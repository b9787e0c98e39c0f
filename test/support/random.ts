// Seeded random numbers: every test names its seed, so every failure can be run again.

// At the top level: tsx names functions when they are created, which takes longer than the rest of a call.
function rotate(value: number, by: number): number {
  return ((value << by) | (value >>> (32 - by))) >>> 0;
}

/** xoshiro128** of Blackman and Vigna, seeded by splitmix32. */
export class Random {
  readonly seed: number;
  #state: Uint32Array;

  constructor(seed: number) {
    this.seed = seed;
    let x = seed >>> 0;
    this.#state = Uint32Array.from({ length: 4 }, () => {
      x = (x + 0x9e3779b9) >>> 0;
      let z = x;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return (z ^ (z >>> 16)) >>> 0;
    });
  }

  /** 32 random bits. */
  bits(): number {
    const s = this.#state;
    const result = Math.imul(rotate(Math.imul(s[1]!, 5) >>> 0, 7), 9) >>> 0;
    const t = (s[1]! << 9) >>> 0;
    s[2]! ^= s[0]!;
    s[3]! ^= s[1]!;
    s[1]! ^= s[2]!;
    s[0]! ^= s[3]!;
    s[2]! ^= t;
    s[3] = rotate(s[3]!, 11);
    return result;
  }

  /** In [0, 1), 53 bits. */
  next(): number {
    return ((this.bits() >>> 5) * 67108864 + (this.bits() >>> 6)) / 9007199254740992;
  }

  /** In [low, high). */
  uniform(low = -1, high = 1): number {
    return low + (high - low) * this.next();
  }

  /** Integer in [low, high]. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** Normal deviate (Box, Muller). */
  normal(mean = 0, deviation = 1): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return mean + deviation * radius * Math.cos(2 * Math.PI * this.next());
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)]!;
  }
}

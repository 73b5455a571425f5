/** Numbers that a seed decides: mulberry32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `from` to `to`, both possible. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /** True in this part of the cases. */
  chance(part: number): boolean {
    return this.next() < part;
  }

  /** One of them. */
  pick<T>(of: readonly T[]): T {
    if (of.length === 0) {
      throw new Error("nothing to pick from");
    }
    return of[this.int(0, of.length - 1)] as T;
  }

  /** In another order. */
  shuffled<T>(of: readonly T[]): T[] {
    const shuffled = [...of];
    for (let i = shuffled.length - 1; i > 0; i -= 1) {
      const j = this.int(0, i);
      const [a, b] = [shuffled[i] as T, shuffled[j] as T];
      shuffled[i] = b;
      shuffled[j] = a;
    }
    return shuffled;
  }
}

const SEED = "READMARK_TEST_SEED";

/** Runs a property with `runs` seeds; a failing one is named, and the variable READMARK_TEST_SEED runs it alone. */
export function forSeeds(runs: number, property: (random: Random) => void): void {
  const asked = process.env[SEED];
  const first = asked === undefined ? Math.floor(Math.random() * 0xffff_ffff) : Number(asked);
  for (let run = 0; run < (asked === undefined ? runs : 1); run += 1) {
    const seed = (first + run) >>> 0;
    try {
      property(new Random(seed));
    } catch (error) {
      throw new Error(`with ${SEED}=${seed}: ${String(error)}`, { cause: error });
    }
  }
}

/** Something that is to happen later. */
export type Timer = ReturnType<typeof globalThis.setTimeout>;

/** Milliseconds by a clock that nobody sets: for pauses and deadlines. It may stand still while the machine sleeps. */
export function nowMs(): number {
  return performance.now();
}

/** Milliseconds since 1970, by a clock that may be set forth and back: for what is told to others. */
export function wallMs(): number {
  return Date.now();
}

/** Longest wait that `setTimeout` takes. */
const TIMEOUT_MAX_MS = 2_147_483_647;

/** Calls `then` in `ms`, at once when that is past. */
export function after(ms: number, then: () => void): Timer {
  return globalThis.setTimeout(then, Math.min(Math.max(ms, 0), TIMEOUT_MAX_MS));
}

/** Fails with what `late` says when `promise` takes longer than `ms`. */
export async function within<T>(ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  let timer: Timer | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = after(ms, () => reject(late()));
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    globalThis.clearTimeout(timer);
  }
}

/** Answers after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void after(ms, resolve));
}

/** At most one thing that is to happen, at the earliest time that was asked for. */
export class Alarm {
  readonly #ring: () => void;
  #timer: Timer | undefined;
  #atMs = Number.POSITIVE_INFINITY;

  constructor(ring: () => void) {
    this.#ring = ring;
  }

  /** Rings at this time, or earlier when that was asked for before. */
  soon(atMs: number): void {
    if (atMs < this.#atMs) {
      this.set(atMs);
    }
  }

  /** Rings at this time, in place of any other; undefined for not at all. */
  set(atMs: number | undefined): void {
    if (atMs === this.#atMs) {
      return;
    }
    globalThis.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#atMs = atMs ?? Number.POSITIVE_INFINITY;
    if (atMs !== undefined) {
      this.#timer = after(atMs - nowMs(), () => {
        this.#timer = undefined;
        this.#atMs = Number.POSITIVE_INFINITY;
        this.#ring();
      });
    }
  }
}

import { DOUBT_MS, QUERY_MESSAGES_MAX, TALLIES_MAX, UNKNOWN_FIRST_MS, UNKNOWN_TRIES_MAX } from "../bounds.js";
import type { MessageRef, Receipt, ReceiptAnswer } from "../types.js";
import type { Decimal } from "./decimal.js";

interface Watched {
  readonly ref: MessageRef;
  /** How many parts of the application show it. */
  watchers: number;
  /** When it is to be asked for because of an event: new on screen, a snapshot, a failed question. */
  dueMs: number | undefined;
  /** When it is to be asked for if nothing changes until then. */
  quietMs: number | undefined;
  /** When it is to be asked for if the server, which told less than is known, does not catch up until then. */
  doubtMs: number | undefined;
  /** Answers in a row that did not know the message. */
  unknown: number;
  isAsked: boolean;
}

const NOTHING_DUE = { quietMs: undefined, doubtMs: undefined, unknown: 0, isAsked: false };

function keyOf(ref: MessageRef): string {
  return `${ref.seq} ${ref.conversationId}`;
}

function isComplete(receipt: Receipt): boolean {
  return receipt.read === receipt.total || receipt.recalled || receipt.mode === "off";
}

/** The earlier of two times. */
function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}

function whenDue(watched: Watched): number | undefined {
  return earlier(watched.dueMs, earlier(watched.quietMs, watched.doubtMs));
}

/**
 * The tallies that are known, of which an older one never wins, and which of those on screen must be asked for: new
 * ones at once, all after a snapshot, and an incomplete one once when it was quiet for a minute, since a push may
 * have been lost, and one of which the server tells less than is known. Knows no clock and no timer.
 */
export class Tallies {
  /** Least recently changed first. */
  readonly #known = new Map<string, Receipt>();
  readonly #watched = new Map<string, Watched>();
  readonly #quietMs: number;

  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** The newest tally known of a message. */
  get(ref: MessageRef): Receipt | undefined {
    return this.#known.get(keyOf(ref));
  }

  /** Takes a tally; true when it is newer than what was known. */
  merge(receipt: Receipt, nowMs: number): boolean {
    const key = keyOf(receipt);
    const known = this.#known.get(key);
    if (known !== undefined && known.version >= receipt.version) {
      return false;
    }
    this.#known.delete(key);
    this.#known.set(key, { ...(known ?? {}), ...receipt });
    this.#forgetOldest();
    const watched = this.#watched.get(key);
    if (watched !== undefined) {
      watched.quietMs = isComplete(receipt) ? undefined : nowMs + this.#quietMs;
      watched.unknown = 0;
    }
    return true;
  }

  /**
   * Takes a tally that was pushed; true when it is newer than what was known. A server that lost its state does not
   * know what it told: it may push an older tally, and then hold back a newer one of the same numbers as no news to
   * anybody. So an older push of other numbers leaves a doubt, until one comes that is not older.
   */
  pushed(receipt: Receipt, nowMs: number): boolean {
    const known = this.get(receipt);
    const watched = this.#watched.get(keyOf(receipt));
    if (watched !== undefined && known !== undefined) {
      const isOlder = known.version > receipt.version;
      const isOther = known.read !== receipt.read || known.total !== receipt.total;
      if (!isOlder) {
        watched.doubtMs = undefined;
      } else if (isOther) {
        watched.doubtMs ??= nowMs + DOUBT_MS;
      }
    }
    return this.merge(receipt, nowMs);
  }

  #forgetOldest(): void {
    for (const key of this.#known.keys()) {
      if (this.#known.size <= TALLIES_MAX) {
        return;
      }
      if (!this.#watched.has(key)) {
        this.#known.delete(key);
      }
    }
  }

  /** Messages watched. */
  get watchedCount(): number {
    return this.#watched.size;
  }

  /** A message is on screen: it is asked for soon. */
  watch(ref: MessageRef, nowMs: number): void {
    const watched = this.#watched.get(keyOf(ref));
    if (watched !== undefined) {
      watched.watchers += 1;
      return;
    }
    this.#watched.set(keyOf(ref), { ref, watchers: 1, dueMs: nowMs, ...NOTHING_DUE });
  }

  /** It has left the screen. */
  unwatch(ref: MessageRef): void {
    const watched = this.#watched.get(keyOf(ref));
    if (watched === undefined) {
      return;
    }
    watched.watchers -= 1;
    if (watched.watchers === 0) {
      this.#watched.delete(keyOf(ref));
      this.#forgetOldest();
    }
  }

  /** After a snapshot: everything on screen is asked for again. */
  askAgain(nowMs: number): void {
    for (const watched of this.#watched.values()) {
      watched.dueMs = nowMs;
      watched.unknown = 0;
    }
  }

  /** When the next message is due; undefined when none is. */
  nextDueMs(): number | undefined {
    let next: number | undefined;
    for (const watched of this.#watched.values()) {
      next = watched.isAsked ? next : earlier(next, whenDue(watched));
    }
    return next;
  }

  /** Takes what is to be asked for now, as much as one request holds. `answered` or `failed` must follow. */
  takeDue(nowMs: number): MessageRef[] {
    const due: MessageRef[] = [];
    for (const watched of this.#watched.values()) {
      const dueMs = whenDue(watched);
      if (dueMs !== undefined && dueMs <= nowMs && !watched.isAsked && due.length < QUERY_MESSAGES_MAX) {
        watched.isAsked = true;
        watched.dueMs = undefined;
        watched.quietMs = undefined;
        watched.doubtMs = undefined;
        due.push(watched.ref);
      }
    }
    return due;
  }

  /** The answers to what was taken; answers the tallies that are news. */
  answered(asked: readonly MessageRef[], answers: readonly ReceiptAnswer[], nowMs: number): Receipt[] {
    const news: Receipt[] = [];
    for (const ref of asked) {
      const watched = this.#watched.get(keyOf(ref));
      if (watched !== undefined) {
        watched.isAsked = false;
      }
    }
    for (const answer of answers) {
      if (!("error" in answer)) {
        if (this.merge(answer, nowMs)) {
          news.push(answer);
        }
      } else if (answer.error === "not_found") {
        this.#askUnknownAgain(answer, nowMs);
      }
    }
    return news;
  }

  /** The answer did not come: what was taken is due again at `dueMs`. */
  failed(asked: readonly MessageRef[], dueMs: number): void {
    for (const ref of asked) {
      const watched = this.#watched.get(keyOf(ref));
      if (watched !== undefined) {
        watched.isAsked = false;
        watched.dueMs = dueMs;
      }
    }
  }

  /** A message that was sent just now may not have arrived; after some tries only a change or a snapshot asks. */
  #askUnknownAgain(ref: MessageRef, nowMs: number): void {
    const watched = this.#watched.get(keyOf(ref));
    if (watched !== undefined && watched.unknown < UNKNOWN_TRIES_MAX) {
      watched.dueMs = nowMs + UNKNOWN_FIRST_MS * 2 ** watched.unknown;
      watched.unknown += 1;
    }
  }
}

/**
 * The readers of a message, as a client that keeps names goes on from the ones it knows: undefined when the names told
 * don't add up to the tally, so that they must be asked for.
 */
export function withReaders(known: ReadonlySet<Decimal>, receipt: Receipt): ReadonlySet<Decimal> | undefined {
  const readers = new Set([...known, ...receipt.readersAdded]);
  return readers.size === receipt.read ? readers : undefined;
}

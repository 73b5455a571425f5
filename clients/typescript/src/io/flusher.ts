import { CALL_PAUSE_MS, HIDE_BYTES_MAX, HIDE_REQUESTS_MAX, RECONNECT_CAP_MS, WRITES_IN_FLIGHT_MAX } from "../bounds.js";
import { ReadmarkError } from "../errors.js";
import { backoff, jittered } from "../state/backoff.js";
import { dispositionOf } from "../state/disposition.js";
import { decode, EMPTY, encode, merge, subtract, type SavedQueue } from "../state/saved-queue.js";
import {
  addedOf,
  type AckOf,
  type Settled,
  type WriteAnswer,
  type WriteQueue,
  type WriteRequest,
} from "../state/write-queue.js";
import type { Dropped, WriteKind } from "../types.js";
import { parseJson } from "../wire/decode.js";
import { ignoredIn, writeRequest } from "../wire/requests.js";
import { Alarm, nowMs } from "./clock.js";
import type { Keeper } from "./storage.js";

/** What sends the queue. */
export interface FlusherParts {
  readonly queue: WriteQueue;
  readonly keeper: Keeper;
  /** Sends a request and answers the body of the answer; throws ReadmarkError. */
  readonly send: (request: WriteRequest, outlivesPage: boolean) => Promise<unknown>;
  /** A request was answered. */
  readonly onSettled: (request: WriteRequest, settled: Settled) => void;
  readonly onDropped: (dropped: readonly Dropped[]) => void;
}

function textOf(saved: SavedQueue): string | null {
  return saved.size === 0 ? null : encode(saved);
}

function savedIn(text: string | null): SavedQueue {
  return text === null ? EMPTY : decode(parseJson(text));
}

/** Sends what waits in the queue when it is due, keeps it in the storage until it is answered, waits out outages. */
export class Flusher {
  readonly #parts: FlusherParts;
  readonly #alarm = new Alarm(() => this.#pump());
  /** Of the queue in the storage; undefined until it is known whose queue this is. */
  #key: string | undefined;
  /** Told before that was known. */
  #unkept: SavedQueue = EMPTY;
  #inFlight = 0;
  /** Requests that outlive the page, on their way: a page that hides also goes away, and says both. */
  readonly #outliving = new Set<string>();
  #failures = 0;
  #pausedUntilMs = 0;
  /** The server itself said how long: nothing but time ends that pause. */
  #isPauseTold = false;
  #isStopped = false;
  #waiters: (() => void)[] = [];

  constructor(parts: FlusherParts) {
    this.#parts = parts;
  }

  /** It is known whose queue this is: what an earlier life left is taken in. Answers the conversations concerned. */
  async keepAt(key: string): Promise<SavedQueue> {
    const saved = savedIn(await this.#parts.keeper.load(key));
    this.#key = key;
    const unkept = this.#unkept;
    this.#unkept = EMPTY;
    if (unkept.size > 0) {
      this.#parts.keeper.update(key, (text) => textOf(merge(savedIn(text), unkept)));
    }
    this.#drop(this.#parts.queue.restore(saved, nowMs()));
    this.#plan();
    return saved;
  }

  /** Takes a mark or acks. */
  add(kind: WriteKind, conversationId: string, acks: readonly AckOf[]): void {
    const added = addedOf(kind, conversationId, acks);
    if (this.#key === undefined) {
      this.#unkept = merge(this.#unkept, added);
    } else {
      this.#parts.keeper.update(this.#key, (text) => textOf(merge(savedIn(text), added)));
    }
    this.#drop(this.#parts.queue.add(kind, conversationId, acks, nowMs()));
    this.#plan();
  }

  #drop(dropped: readonly Dropped[]): void {
    for (const { conversationId, kind, seqs } of dropped) {
      this.#forget(
        addedOf(
          kind,
          conversationId,
          seqs.map((seq) => ({ seq })),
        ),
      );
    }
    this.#parts.onDropped(dropped);
  }

  #forget(done: SavedQueue): void {
    this.#unkept = subtract(this.#unkept, done);
    if (this.#key !== undefined && done.size > 0) {
      this.#parts.keeper.update(this.#key, (text) => textOf(subtract(savedIn(text), done)));
    }
  }

  /** The network or the server is back. */
  kick(): void {
    if (!this.#isPauseTold) {
      this.#pausedUntilMs = 0;
    }
    this.#pump();
  }

  /** Sends everything now; answered when nothing more can be sent for the moment, with how much still waits. */
  async flush(): Promise<number> {
    this.#parts.queue.hurry(nowMs());
    const done = new Promise<void>((resolve) => this.#waiters.push(resolve));
    this.kick();
    await done;
    return this.#parts.queue.size;
  }

  /** The page hides and may never come back: sends everything in requests that outlive it. */
  hide(): void {
    let bytes = 0;
    for (const request of this.#parts.queue.all().slice(0, HIDE_REQUESTS_MAX)) {
      const text = JSON.stringify(writeRequest(request));
      bytes += text.length;
      if (bytes > HIDE_BYTES_MAX) {
        break;
      }
      if (!this.#outliving.has(text)) {
        this.#outliving.add(text);
        void this.#outlive(request, text);
      }
    }
  }

  async #outlive(request: WriteRequest, text: string): Promise<void> {
    const answer = await this.#answerOf(request, true);
    this.#outliving.delete(text);
    if (answer.kind === "accepted") {
      this.#settle(request, answer);
    }
    this.#plan();
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.#alarm.set(undefined);
    this.#wakeWaiters();
  }

  #pump(): void {
    const { queue } = this.#parts;
    while (!this.#isPaused() && this.#inFlight < WRITES_IN_FLIGHT_MAX) {
      const request = queue.take(nowMs());
      if (request === undefined) {
        break;
      }
      this.#inFlight += 1;
      void this.#sendOne(request);
    }
    this.#plan();
  }

  #isPaused(): boolean {
    return this.#isStopped || this.#outliving.size > 0 || this.#pausedUntilMs > nowMs();
  }

  #plan(): void {
    if (this.#isStopped) {
      return;
    }
    const dueMs = this.#parts.queue.nextDueMs();
    const isFull = this.#inFlight >= WRITES_IN_FLIGHT_MAX || this.#outliving.size > 0;
    this.#alarm.set(dueMs === undefined || isFull ? undefined : Math.max(dueMs, this.#pausedUntilMs));
    const isIdle = this.#inFlight === 0 && this.#outliving.size === 0;
    if (isIdle && (dueMs === undefined || dueMs > nowMs() || this.#pausedUntilMs > nowMs())) {
      this.#wakeWaiters();
    }
  }

  #wakeWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) {
      wake();
    }
  }

  async #sendOne(request: WriteRequest): Promise<void> {
    const answer = await this.#answerOf(request, false);
    this.#inFlight -= 1;
    this.#parts.queue.release(request);
    this.#settle(request, answer);
    this.#pump();
  }

  async #answerOf(request: WriteRequest, outlivesPage: boolean): Promise<WriteAnswer> {
    try {
      const body = await this.#parts.send(request, outlivesPage);
      this.#failures = 0;
      return { kind: "accepted", ignored: request.kind === "ack" ? ignoredIn(body) : [] };
    } catch (error) {
      const known = error instanceof ReadmarkError ? error : undefined;
      const answer: WriteAnswer = known === undefined ? { kind: "away" } : dispositionOf(known);
      if (answer.kind === "away") {
        this.#pause(known?.retryAfterMs);
      } else {
        this.#failures = 0;
      }
      return answer;
    }
  }

  /** Several requests that fail together make one pause, not several. */
  #pause(retryAfterMs: number | undefined): void {
    const now = nowMs();
    if (this.#pausedUntilMs > now && retryAfterMs === undefined) {
      return;
    }
    const ms =
      retryAfterMs === undefined
        ? backoff(this.#failures, CALL_PAUSE_MS, RECONNECT_CAP_MS, Math.random())
        : jittered(retryAfterMs, Math.random());
    this.#failures += 1;
    this.#isPauseTold = retryAfterMs !== undefined;
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, now + ms);
  }

  #settle(request: WriteRequest, answer: WriteAnswer): void {
    const settled = this.#parts.queue.answer(request, answer, nowMs(), Math.random());
    this.#forget(settled.done);
    this.#parts.onSettled(request, settled);
    this.#parts.onDropped(settled.dropped);
  }
}

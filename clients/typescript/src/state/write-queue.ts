import {
  ACKS_PER_REQUEST_MAX,
  FAULT_TRIES_MAX,
  NOT_THERE_CAP_MS,
  NOT_THERE_FIRST_MS,
  NOT_THERE_TRIES_MAX,
  QUEUE_ACKS_MAX,
  QUEUE_CONVERSATIONS_MAX,
} from "../bounds.js";
import type { Dropped, WriteKind } from "../types.js";
import { backoff } from "./backoff.js";
import { compareSeq, maxSeq, type Decimal, type Seq } from "./decimal.js";
import type { SavedQueue, SavedWrites } from "./saved-queue.js";

/** A message to be acked. */
export interface AckOf {
  readonly seq: Seq;
  /** Who sent it, where that is known. */
  readonly senderUid?: Decimal;
}

/** One request to be sent. */
export interface WriteRequest {
  readonly conversationId: string;
  readonly kind: WriteKind;
  /** One mark, or up to 1,000 messages. */
  readonly items: readonly AckOf[];
}

/** What became of a request. */
export type WriteAnswer =
  /** It is durable. `ignored` names messages that take no ack. */
  | { readonly kind: "accepted"; readonly ignored: readonly Seq[] }
  /** Messages that the server does not know yet, by their place; of none named, all are meant. */
  | { readonly kind: "not-there"; readonly places: readonly number[] }
  /** Something is broken in the server, for good or not. */
  | { readonly kind: "fault"; readonly reason: string; readonly detail: string }
  /** The server, the network or a token is away: the same again, whenever that is over. */
  | { readonly kind: "away" }
  /** Never: these messages (by their place; of none named, all) are not taken. */
  | { readonly kind: "refused"; readonly places: readonly number[]; readonly reason: string; readonly detail: string };

/** What an answer came to. */
export interface Settled {
  /** What needs no sending any more, accepted or dropped, for the storage. */
  readonly done: SavedQueue;
  /** The highest seq that the server took, "0" for none. */
  readonly accepted: Seq;
  readonly dropped: readonly Dropped[];
}

interface Item {
  readonly senderUid?: Decimal;
  dueMs: number;
  notThere: number;
  faults: number;
}

type Items = Map<Seq, Item>;

interface Waiting {
  readonly read: Items;
  readonly clear: Items;
  readonly ack: Items;
  /** What comes until then goes into the same request. */
  windowEndsMs: number;
  isBusy: boolean;
}

/** Marks kept of a conversation that were answered "not there yet", since one of them may be a mistake. */
const TROUBLED_MARKS_MAX = 4;

const KINDS: readonly WriteKind[] = ["ack", "read", "clear"];

function troubles(item: Item): number {
  return item.notThere + item.faults;
}

/**
 * What the user has read, cleared and acked here and the server has not yet accepted. Of marks only the highest goes
 * out; messages below a mark that is on its way are covered by it. One request per conversation at a time. Everything
 * in it may be sent twice, since the server merges. Knows no clock and no timer.
 */
export class WriteQueue {
  /** The oldest first. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #mergeMs: number;
  #acks = 0;

  constructor(mergeMs: number) {
    this.#mergeMs = mergeMs;
  }

  /** Conversations with something waiting. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Takes a mark or acks; answers what had to go for it. */
  add(kind: WriteKind, conversationId: string, acks: readonly AckOf[], nowMs: number): Dropped[] {
    const waiting = this.#of(conversationId);
    if (waiting.windowEndsMs <= nowMs) {
      waiting.windowEndsMs = nowMs + this.#mergeMs;
    }
    const items = waiting[kind];
    for (const { seq, senderUid } of acks) {
      const item = { dueMs: waiting.windowEndsMs, notThere: 0, faults: 0 };
      if (kind === "ack") {
        if (!items.has(seq)) {
          items.set(seq, senderUid === undefined ? item : { ...item, senderUid });
          this.#acks += 1;
        }
      } else if (!items.has(seq)) {
        addMark(items, seq, item);
      }
    }
    return this.#evict(conversationId);
  }

  /** Takes what was kept from an earlier time. */
  restore(saved: SavedQueue, nowMs: number): Dropped[] {
    const dropped: Dropped[] = [];
    for (const [id, { read, clear, acks }] of saved) {
      dropped.push(...this.add("ack", id, ackList(acks), nowMs));
      dropped.push(...(read === undefined ? [] : this.add("read", id, [{ seq: read }], nowMs)));
      dropped.push(...(clear === undefined ? [] : this.add("clear", id, [{ seq: clear }], nowMs)));
    }
    return dropped;
  }

  #of(conversationId: string): Waiting {
    const known = this.#waiting.get(conversationId);
    if (known !== undefined) {
      return known;
    }
    const fresh: Waiting = { read: new Map(), clear: new Map(), ack: new Map(), windowEndsMs: 0, isBusy: false };
    this.#waiting.set(conversationId, fresh);
    return fresh;
  }

  #evict(newest: string): Dropped[] {
    const dropped: Dropped[] = [];
    for (const [id, waiting] of this.#waiting) {
      const isTooMuch = this.#waiting.size > QUEUE_CONVERSATIONS_MAX || this.#acks > QUEUE_ACKS_MAX;
      if (!isTooMuch) {
        break;
      }
      if (id === newest) {
        continue;
      }
      for (const kind of KINDS) {
        dropped.push(...this.#drop(id, kind, [...waiting[kind].keys()], "queue-full", "the queue has no room left"));
      }
      this.#waiting.delete(id);
    }
    const own = this.#waiting.get(newest);
    const surplus = own === undefined ? [] : [...own.ack.keys()].slice(0, Math.max(0, this.#acks - QUEUE_ACKS_MAX));
    dropped.push(...this.#drop(newest, "ack", surplus, "queue-full", "the queue has no room left"));
    return dropped;
  }

  #drop(id: string, kind: WriteKind, seqs: readonly Seq[], reason: string, detail: string): Dropped[] {
    const items = this.#waiting.get(id)?.[kind];
    const gone = seqs.filter((seq) => items?.delete(seq));
    this.#acks -= kind === "ack" ? gone.length : 0;
    return gone.length === 0 ? [] : [{ conversationId: id, kind, seqs: gone, reason, detail }];
  }

  /** The next request that is due; `release` must follow. Nothing while a conversation's last one is on its way. */
  take(nowMs: number): WriteRequest | undefined {
    for (const [id, waiting] of this.#waiting) {
      const request = waiting.isBusy ? undefined : this.#request(id, waiting, nowMs);
      if (request !== undefined) {
        waiting.isBusy = true;
        return request;
      }
    }
    return undefined;
  }

  /** The request is not on its way any more. */
  release(request: WriteRequest): void {
    const waiting = this.#waiting.get(request.conversationId);
    if (waiting !== undefined) {
      waiting.isBusy = false;
    }
  }

  /** Everything that waits, due or not, on its way or not: for a page that may not come back. */
  all(): WriteRequest[] {
    return [...this.#waiting].flatMap(([id, waiting]) =>
      KINDS.map((kind) => this.#request(id, waiting, Number.POSITIVE_INFINITY, [kind])).filter(
        (request) => request !== undefined,
      ),
    );
  }

  #request(id: string, waiting: Waiting, nowMs: number, kinds = KINDS): WriteRequest | undefined {
    for (const kind of kinds) {
      const items: AckOf[] = [];
      for (const [seq, item] of waiting[kind]) {
        const isCovered = kind === "ack" && isBelowFresh(waiting.read, seq);
        if (item.dueMs <= nowMs && !isCovered && items.length < (kind === "ack" ? ACKS_PER_REQUEST_MAX : 1)) {
          items.push(item.senderUid === undefined ? { seq } : { seq, senderUid: item.senderUid });
        }
      }
      if (items.length > 0) {
        return { conversationId: id, kind, items };
      }
    }
    return undefined;
  }

  /** When `take` may have something; undefined when nothing waits but for answers. */
  nextDueMs(): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting.values()) {
      for (const kind of waiting.isBusy ? [] : KINDS) {
        for (const [seq, { dueMs }] of waiting[kind]) {
          next = kind === "ack" && isBelowFresh(waiting.read, seq) ? next : Math.min(next, dueMs);
        }
      }
    }
    return Number.isFinite(next) ? next : undefined;
  }

  /** Makes everything due that waits for its window, not for a message that is not there. */
  hurry(nowMs: number): void {
    for (const waiting of this.#waiting.values()) {
      for (const kind of KINDS) {
        for (const item of waiting[kind].values()) {
          item.dueMs = troubles(item) === 0 ? Math.min(item.dueMs, nowMs) : item.dueMs;
        }
      }
    }
  }

  /** The highest seq that waits for a conversation, "0" for none. */
  highest(conversationId: string): Seq {
    const waiting = this.#waiting.get(conversationId);
    return KINDS.flatMap((kind) => [...(waiting?.[kind].keys() ?? [])]).reduce(maxSeq, "0");
  }

  /** The answer to a request, taken or one of `all`. `random` is drawn for the pause before a repeat. */
  answer(request: WriteRequest, answer: WriteAnswer, nowMs: number, random: number): Settled {
    const waiting = this.#waiting.get(request.conversationId);
    const settled = this.#settle(request, answer, nowMs, random);
    if (waiting !== undefined && KINDS.every((kind) => waiting[kind].size === 0)) {
      this.#waiting.delete(request.conversationId);
    }
    return settled;
  }

  #settle(request: WriteRequest, answer: WriteAnswer, nowMs: number, random: number): Settled {
    const { conversationId: id, kind } = request;
    switch (answer.kind) {
      case "accepted":
        return this.#accept(request, answer.ignored);
      case "not-there": {
        const named = pick(request, answer.places);
        const gone = this.#again(request, named, nowMs, (item) => {
          item.notThere += 1;
          item.dueMs = nowMs + backoff(item.notThere - 1, NOT_THERE_FIRST_MS, NOT_THERE_CAP_MS, random);
          return item.notThere >= NOT_THERE_TRIES_MAX;
        });
        return this.#given(id, kind, gone, "seq-beyond-head", "the message has not arrived in all the time");
      }
      case "fault": {
        const gone = this.#again(request, pick(request, []), nowMs, (item) => {
          item.faults += 1;
          item.dueMs = nowMs + backoff(item.faults, NOT_THERE_FIRST_MS, NOT_THERE_CAP_MS, random);
          return item.faults >= FAULT_TRIES_MAX;
        });
        return this.#given(id, kind, gone, answer.reason, answer.detail);
      }
      case "refused":
        this.#again(request, [], nowMs, () => false);
        return this.#given(id, kind, pick(request, answer.places), answer.reason, answer.detail);
      case "away":
        return { done: new Map(), accepted: "0", dropped: [] };
    }
  }

  #accept(request: WriteRequest, ignored: readonly Seq[]): Settled {
    const { conversationId: id, kind, items } = request;
    const waiting = this.#waiting.get(id);
    const seqs = items.map((item) => item.seq);
    const accepted = seqs.filter((seq) => !ignored.includes(seq)).reduce(maxSeq, "0");
    const covered = (of: Items | undefined): Seq[] =>
      [...(of?.keys() ?? [])].filter((seq) => compareSeq(seq, accepted) <= 0);
    if (kind === "ack") {
      this.#drop(id, "ack", seqs, "", "");
      return { done: new Map([[id, doneOf(kind, seqs)]]), accepted, dropped: [] };
    }
    this.#drop(id, kind, covered(waiting?.[kind]), "", "");
    const acks = kind === "read" ? covered(waiting?.ack) : [];
    this.#drop(id, "ack", acks, "", "");
    const done = { ...doneOf("ack", acks), ...(kind === "read" ? { read: accepted } : { clear: accepted }) };
    return { done: new Map([[id, done]]), accepted, dropped: [] };
  }

  /** Puts a request's items back: those named by `change`, which says whether they are given up; the others at once. */
  #again(request: WriteRequest, named: readonly Seq[], nowMs: number, change: (item: Item) => boolean): Seq[] {
    const items = this.#waiting.get(request.conversationId)?.[request.kind];
    const gone: Seq[] = [];
    for (const { seq } of request.items) {
      const item = items?.get(seq);
      if (item !== undefined && !named.includes(seq)) {
        item.dueMs = nowMs;
      } else if (item !== undefined && change(item)) {
        gone.push(seq);
      }
    }
    const surplus = request.kind === "ack" ? [] : [...(items?.keys() ?? [])].slice(0, -TROUBLED_MARKS_MAX);
    for (const seq of surplus) {
      items?.delete(seq);
    }
    return gone;
  }

  #given(id: string, kind: WriteKind, seqs: readonly Seq[], reason: string, detail: string): Settled {
    const dropped = this.#drop(id, kind, seqs, reason, detail);
    const gone = dropped.flatMap((one) => one.seqs);
    return { done: gone.length === 0 ? new Map() : new Map([[id, doneOf(kind, gone)]]), accepted: "0", dropped };
  }
}

function ackList(acks: ReadonlyMap<Seq, Decimal | undefined>): AckOf[] {
  return [...acks].map(([seq, senderUid]) => (senderUid === undefined ? { seq } : { seq, senderUid }));
}

/** A message at or below an untried mark needs no ack of its own: the mark makes its receipt. */
function isBelowFresh(marks: Items, seq: Seq): boolean {
  return [...marks].some(([mark, item]) => troubles(item) === 0 && compareSeq(seq, mark) <= 0);
}

/** Of untried marks the highest stays: it covers the others. */
function addMark(items: Items, seq: Seq, item: Item): void {
  for (const [other, { dueMs, ...rest }] of items) {
    if (rest.notThere + rest.faults === 0) {
      if (compareSeq(other, seq) > 0) {
        return;
      }
      items.delete(other);
      item.dueMs = Math.min(item.dueMs, dueMs);
    }
  }
  items.set(seq, item);
}

function pick(request: WriteRequest, places: readonly number[]): Seq[] {
  const seqs = request.items.map((item) => item.seq);
  const named = places.map((place) => seqs[place]).filter((seq) => seq !== undefined);
  return named.length === 0 ? seqs : named;
}

function doneOf(kind: WriteKind, seqs: readonly Seq[]): SavedWrites {
  const highest = seqs.reduce(maxSeq, "0");
  if (kind === "ack") {
    return { acks: new Map(seqs.map((seq) => [seq, undefined])) };
  }
  return kind === "read" ? { read: highest, acks: new Map() } : { clear: highest, acks: new Map() };
}

/** What was told just now, as the storage takes it. */
export function addedOf(kind: WriteKind, conversationId: string, acks: readonly AckOf[]): SavedQueue {
  const writes =
    kind === "ack"
      ? { acks: new Map(acks.map((ack) => [ack.seq, ack.senderUid])) }
      : doneOf(
          kind,
          acks.map((ack) => ack.seq),
        );
  return new Map([[conversationId, writes]]);
}

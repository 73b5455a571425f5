import type { Conversation, ConversationRead, Picture, Receipt } from "../types.js";
import type { Entry, Row, Snapshot } from "../wire/entry.js";
import type { Seq } from "./decimal.js";
import { OwnMarks } from "./own-marks.js";
import { UnreadRegisters } from "./registers.js";

/** What a run of entries came to. */
export interface Followed {
  readonly reads: readonly ConversationRead[];
  readonly receipts: readonly Receipt[];
  readonly old: number;
  readonly bad: number;
  /** Something is missing: the stream must be followed again from the last token. */
  readonly isLost: boolean;
}

/** A picture as it is kept in the storage. */
export interface SavedPicture {
  readonly total: number;
  readonly mentions: number;
  readonly rows: readonly Row[];
  readonly asOfMs: number;
  /** Where to go on from; null when the rows are not all there are. */
  readonly token: string | null;
  readonly version: string | null;
}

/** The user's unread as it is shown: what the server said, with own marks counted in. Knows no clock and no timer. */
export class PictureModel {
  readonly #registers = new UnreadRegisters();
  readonly #own = new OwnMarks();
  readonly #shown = new Map<string, Conversation>();
  #changed = new Set<string>();
  #isNews = false;
  #stale = true;
  #asOfMs = 0;
  #token: string | null = null;

  /** Where the stream is followed from; null for a snapshot. */
  get token(): string | null {
    return this.#token;
  }

  /** Takes a snapshot. */
  replace(snapshot: Snapshot, token: string, asOfMs: number): void {
    for (const id of this.#registers.replace(snapshot)) {
      this.#touch(id);
    }
    this.#isNews = true;
    this.#token = token;
    this.#asOfMs = asOfMs;
  }

  /** Takes entries in their order, up to the first that is missing or can't be understood (undefined). */
  follow(entries: readonly (Entry | undefined)[], token: string, asOfMs: number): Followed {
    const reads: ConversationRead[] = [];
    const receipts: Receipt[] = [];
    let [old, bad] = [0, 0];
    let isLost = false;
    for (const entry of entries) {
      if (entry === undefined) {
        bad += 1;
        isLost = true;
        break;
      }
      const applied = this.#registers.apply(entry);
      if (applied.outcome === "gap") {
        isLost = true;
        break;
      }
      old += applied.outcome === "old" ? 1 : 0;
      if (applied.outcome === "applied") {
        this.#tell(entry, applied.changed, reads, receipts);
      }
    }
    if (!isLost) {
      this.#token = token;
      this.#asOfMs = asOfMs;
    }
    return { reads, receipts, old, bad, isLost };
  }

  #tell(entry: Entry, changed: string | undefined, reads: ConversationRead[], receipts: Receipt[]): void {
    if (changed !== undefined) {
      this.#touch(changed);
    }
    if (entry.news.kind === "message_read") {
      receipts.push(entry.news.receipt);
    }
    if (entry.news.kind === "conversation_read") {
      const { kind: _kind, total: _total, totalMentions: _mentions, ...read } = entry.news;
      reads.push(read);
    }
  }

  /** The stream can't be followed from the last token: the next time a snapshot is asked for. */
  forgetToken(): void {
    this.#token = null;
  }

  /** The server follows on from here: what is known is from now. False when nothing is known. */
  confirm(asOfMs: number): boolean {
    this.#asOfMs = this.#token === null ? this.#asOfMs : asOfMs;
    return this.#token !== null;
  }

  /** Says whether the picture may be out of date. */
  setStale(stale: boolean): void {
    this.#isNews ||= stale !== this.#stale;
    this.#stale = stale;
  }

  /** A mark was made here; `hidesFlag` for one that takes the flag away, too. */
  raise(conversationId: string, seq: Seq, hidesFlag: boolean): void {
    this.#own.raise(conversationId, seq, hidesFlag);
    this.#touch(conversationId);
  }

  /** A mark made here was answered; see `OwnMarks.answered`. */
  answered(conversationId: string, waiting: Seq, accepted: Seq, nowMs: number): void {
    this.#own.answered(conversationId, waiting, accepted, nowMs);
    this.#touch(conversationId);
  }

  /** The user has set the flag by hand. */
  showFlag(conversationId: string): void {
    this.#own.showFlag(conversationId);
    this.#touch(conversationId);
  }

  /** Forgets own marks that were not confirmed in time. */
  expire(nowMs: number): void {
    for (const id of this.#own.expire(nowMs)) {
      this.#touch(id);
    }
  }

  /** Are there own marks that may have to be forgotten? */
  get hasOwnMarks(): boolean {
    return !this.#own.conversationIds().next().done;
  }

  /** What the server said of a conversation. */
  row(conversationId: string): Row | undefined {
    return this.#registers.rows.get(conversationId);
  }

  #touch(id: string): void {
    const row = this.#registers.rows.get(id);
    if (row === undefined) {
      this.#isNews ||= this.#shown.delete(id);
      this.#changed.add(id);
      return;
    }
    this.#own.settle(row);
    this.#shown.set(id, Object.freeze(this.#own.shown(row)));
    this.#changed.add(id);
    this.#isNews = true;
  }

  /** What changed since the last call; undefined when nothing did. */
  takeChanged(): ReadonlySet<string> | undefined {
    if (!this.#isNews) {
      return undefined;
    }
    const changed = this.#changed;
    this.#changed = new Set();
    this.#isNews = false;
    return changed;
  }

  /** As it is shown now. */
  get picture(): Picture {
    let { total, mentions } = this.#registers;
    for (const id of this.#own.conversationIds()) {
      const [row, shown] = [this.#registers.rows.get(id), this.#shown.get(id)];
      if (row !== undefined && shown !== undefined && !row.muted) {
        total -= row.unread - shown.unread;
        mentions -= row.mentions - shown.mentions;
      }
    }
    return {
      total: Math.max(total, 0),
      mentions: Math.max(mentions, 0),
      stale: this.#stale,
      asOfMs: this.#asOfMs,
      conversations: this.#shown,
    };
  }

  /** As it is to be kept. Of more than `rowsMax` conversations only those that show anything, without a token. */
  save(rowsMax: number): SavedPicture {
    const all = [...this.#registers.rows.values()];
    const isWhole = all.length <= rowsMax;
    const rows = isWhole ? all : all.filter((row) => row.unread > 0 || row.markedUnread).slice(0, rowsMax);
    return {
      total: this.#registers.total,
      mentions: this.#registers.mentions,
      rows,
      asOfMs: this.#asOfMs,
      token: isWhole ? this.#token : null,
      version: isWhole ? (this.#registers.version ?? null) : null,
    };
  }

  /** Takes a kept picture, unless the server has said something already. */
  restore(saved: SavedPicture): void {
    if (this.#asOfMs !== 0) {
      return;
    }
    this.replace(saved, "", saved.asOfMs);
    this.#token = saved.token;
    this.#registers.version = saved.version ?? undefined;
  }
}

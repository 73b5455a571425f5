import { OWN_MARK_MS } from "../bounds.js";
import type { Conversation } from "../types.js";
import type { Row } from "../wire/entry.js";
import { compareSeq, maxSeq, type Seq } from "./decimal.js";

interface OwnMark {
  /** Highest seq that waits in the queue. */
  waiting: Seq;
  /** Highest seq that the server accepted and has not yet confirmed by an entry. */
  accepted: Seq;
  acceptedAtMs: number;
  /** A mark takes the user's flag away as well, also where it moves nothing. */
  hidesFlag: boolean;
}

/**
 * The user's own marks on their way: a red dot goes out when the conversation is opened, not when the server says so.
 * Nothing here outlives its answer for long: what the server does not confirm within 30 s is not shown any more.
 */
export class OwnMarks {
  readonly #marks = new Map<string, OwnMark>();

  /** A mark or an ack was made here. */
  raise(conversationId: string, seq: Seq, hidesFlag: boolean): void {
    const mark = this.#marks.get(conversationId);
    this.#marks.set(conversationId, {
      waiting: maxSeq(mark?.waiting ?? "0", seq),
      accepted: mark?.accepted ?? "0",
      acceptedAtMs: mark?.acceptedAtMs ?? 0,
      hidesFlag: hidesFlag || (mark?.hidesFlag ?? false),
    });
  }

  /** An answer came: `waiting` is what the queue still holds, `accepted` what the server took, "0" for nothing. */
  answered(conversationId: string, waiting: Seq, accepted: Seq, nowMs: number): void {
    const mark = this.#marks.get(conversationId);
    if (mark === undefined) {
      return;
    }
    mark.waiting = waiting;
    if (accepted !== "0") {
      mark.accepted = maxSeq(mark.accepted, accepted);
      mark.acceptedAtMs = nowMs;
    }
    if (mark.waiting === "0" && mark.accepted === "0") {
      this.#marks.delete(conversationId);
    }
  }

  /** The user has set the flag by hand since. */
  showFlag(conversationId: string): void {
    const mark = this.#marks.get(conversationId);
    if (mark !== undefined) {
      mark.hidesFlag = false;
    }
  }

  /** Forgets what the server's own row confirms. */
  settle(row: Row): void {
    const mark = this.#marks.get(row.conversationId);
    if (mark === undefined || mark.waiting !== "0" || compareSeq(mark.accepted, row.floorSeq) > 0) {
      return;
    }
    if (!mark.hidesFlag || !row.markedUnread) {
      this.#marks.delete(row.conversationId);
    }
  }

  /** Forgets what the server should have confirmed by now; answers the conversations concerned. */
  expire(nowMs: number): string[] {
    const expired: string[] = [];
    for (const [conversationId, mark] of this.#marks) {
      if (mark.accepted !== "0" && nowMs - mark.acceptedAtMs >= OWN_MARK_MS) {
        mark.accepted = "0";
        expired.push(conversationId);
        if (mark.waiting === "0") {
          this.#marks.delete(conversationId);
        }
      }
    }
    return expired;
  }

  /** Conversations with a mark on its way. */
  conversationIds(): IterableIterator<string> {
    return this.#marks.keys();
  }

  /** A row as it is to be shown: with the own mark counted in. Its counts are then the most that they can be. */
  shown(row: Row): Conversation {
    const mark = this.#marks.get(row.conversationId);
    const floor = mark === undefined ? "0" : maxSeq(mark.waiting, mark.accepted);
    const markedUnread = row.markedUnread && !(mark?.hidesFlag ?? false);
    if (compareSeq(floor, row.floorSeq) <= 0) {
      return { ...row, markedUnread, pending: markedUnread !== row.markedUnread };
    }
    const above = Math.max(0, Number(row.headSeq) - Number(floor));
    const unread = Math.min(row.unread, above);
    const mentions = Math.min(row.mentions, unread);
    return { ...row, floorSeq: floor, markedUnread, unread, mentions, pending: true };
  }
}

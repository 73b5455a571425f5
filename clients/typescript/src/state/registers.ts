import type { Entry, News, Row, Snapshot } from "../wire/entry.js";
import { compareSeq, follows, maxSeq, type Decimal } from "./decimal.js";

/** What became of an entry. */
export type Applied =
  /** It is in. `changed` names its conversation, when it was about one. */
  | { readonly outcome: "applied"; readonly changed?: string }
  /** It came before: nothing changed. */
  | { readonly outcome: "old" }
  /** Something between the last one and this is missing: nothing changed. */
  | { readonly outcome: "gap" };

/** A conversation of which nothing is known yet. */
function blank(conversationId: string): Row {
  return {
    conversationId,
    unread: 0,
    mentions: 0,
    headSeq: "0",
    readSeq: "0",
    floorSeq: "0",
    markedUnread: false,
    muted: false,
  };
}

/**
 * What the server said last of every conversation. Entries carry absolute values and numbers without gaps, so an
 * entry is taken exactly when it is the next one; an older one never wins. A snapshot replaces everything: it may be
 * of another life of the stream, in which the numbers begin anew.
 */
export class UnreadRegisters {
  readonly rows = new Map<string, Row>();
  total = 0;
  mentions = 0;
  /** Of the last entry; undefined right after a snapshot, which does not say. */
  version: Decimal | undefined;

  /** Takes a snapshot; answers the conversations that it names or drops. */
  replace(snapshot: Snapshot): Set<string> {
    const touched = new Set(this.rows.keys());
    this.rows.clear();
    for (const row of snapshot.rows) {
      this.rows.set(row.conversationId, row);
      touched.add(row.conversationId);
    }
    this.total = snapshot.total;
    this.mentions = snapshot.mentions;
    this.version = undefined;
    return touched;
  }

  /** Takes an entry, if it is the next one. */
  apply(entry: Entry): Applied {
    if (this.version !== undefined && compareSeq(entry.version, this.version) <= 0) {
      return { outcome: "old" };
    }
    if (this.version !== undefined && !follows(this.version, entry.version)) {
      return { outcome: "gap" };
    }
    this.version = entry.version;
    const row = this.#merged(entry.news);
    if (row === undefined) {
      return { outcome: "applied" };
    }
    this.rows.set(row.conversationId, row);
    return { outcome: "applied", changed: row.conversationId };
  }

  #merged(news: News): Row | undefined {
    if (news.kind !== "conversation_read" && news.kind !== "unread_changed") {
      return undefined;
    }
    this.total = news.total;
    this.mentions = news.totalMentions;
    const known = this.rows.get(news.conversationId) ?? blank(news.conversationId);
    const readSeq = news.kind === "conversation_read" ? maxSeq(known.readSeq, news.readSeq) : known.readSeq;
    const headSeq = news.kind === "unread_changed" ? maxSeq(known.headSeq, news.headSeq) : known.headSeq;
    return {
      conversationId: news.conversationId,
      unread: news.unread,
      mentions: news.mentions,
      headSeq: maxSeq(headSeq, readSeq),
      readSeq,
      floorSeq: maxSeq(known.floorSeq, news.floorSeq),
      markedUnread: news.markedUnread,
      muted: news.kind === "unread_changed" ? news.muted : known.muted,
    };
  }
}

import type { Decimal, Seq } from "../state/decimal.js";
import type { ConversationRead, Receipt } from "../types.js";

/** One conversation as the server says it. */
export interface Row {
  readonly conversationId: string;
  readonly unread: number;
  readonly mentions: number;
  readonly headSeq: Seq;
  readonly readSeq: Seq;
  readonly floorSeq: Seq;
  readonly markedUnread: boolean;
  readonly muted: boolean;
}

/** Everything that is unread, at one moment. */
export interface Snapshot {
  readonly total: number;
  readonly mentions: number;
  readonly rows: readonly Row[];
}

/** The totals that an entry brings along. */
export interface Totals {
  readonly total: number;
  readonly totalMentions: number;
}

/** What an entry tells. */
export type News =
  | ({ readonly kind: "conversation_read" } & ConversationRead & Totals)
  | ({ readonly kind: "unread_changed" } & Omit<Row, "readSeq"> & Totals)
  | { readonly kind: "message_read"; readonly receipt: Receipt }
  /** Of a kind that came after this client. */
  | { readonly kind: "unknown" };

/** An entry of the user's sync stream. */
export interface Entry {
  /** Its number; they have no gaps within one life of the stream. */
  readonly version: Decimal;
  readonly news: News;
}

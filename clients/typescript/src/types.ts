import type { Decimal, Seq } from "./state/decimal.js";

/** What a conversation shows of its messages' readers: names and counts, counts only, nothing. */
export type Mode = "full" | "count" | "off";

/** What is unread in one conversation. Never changed in place: a changed one is another object. */
export interface Conversation {
  readonly conversationId: string;
  /** Countable messages above `floorSeq`. While `pending`, the most that it can be. */
  readonly unread: number;
  /** Those of them that mention the user. While `pending`, the most that it can be. */
  readonly mentions: number;
  /** The newest message, "0" when there is none. */
  readonly headSeq: Seq;
  /** How far the user has read, on any device. */
  readonly readSeq: Seq;
  /** Up to here nothing is unread: read, cleared, own messages, joined after. While `pending`, the own mark. */
  readonly floorSeq: Seq;
  /** Marked as unread by hand: a flag of its own. */
  readonly markedUnread: boolean;
  /** Left out of the totals. */
  readonly muted: boolean;
  /** A mark made here is on its way to the server, and already counted in. */
  readonly pending: boolean;
}

/** Everything that the user has unread. */
export interface Picture {
  /** Unread messages of all conversations that are not muted. */
  readonly total: number;
  /** The same of mentions. */
  readonly mentions: number;
  /** True while the server can't be reached: this is what was known last, from `asOfMs`. */
  readonly stale: boolean;
  /** When the server said so last, in milliseconds since 1970; 0 when it never did. */
  readonly asOfMs: number;
  /** By id. The map is the client's own: it changes with the next event. */
  readonly conversations: ReadonlyMap<string, Conversation>;
}

/** How far a message has been read. */
export interface Receipt {
  readonly conversationId: string;
  readonly seq: Seq;
  readonly mode: Mode;
  /** N: readers who count. */
  readonly read: number;
  /** M: members who count. */
  readonly total: number;
  /** All who count have read it, and there is somebody who counts. */
  readonly allRead: boolean;
  readonly recalled: boolean;
  /** Of two, the greater as text is the newer. */
  readonly version: string;
  /** The IM's own id of the message, where it is known. */
  readonly msgId?: Decimal;
  readonly senderUid?: Decimal;
  /** Readers whom this change added; see `withReaders`. Not told in large conversations. */
  readonly readersAdded: readonly Decimal[];
}

/** A conversation was read or cleared, on this device or another. */
export interface ConversationRead {
  readonly conversationId: string;
  readonly readSeq: Seq;
  readonly floorSeq: Seq;
  /** The device, where it is known. */
  readonly endpoint?: string;
  /** It was this device (the `endpoint` of this client's token). */
  readonly own: boolean;
  readonly unread: number;
  readonly mentions: number;
  readonly markedUnread: boolean;
}

/** Some members of a message's conversation, ascending by uid. */
export interface MembersPage {
  readonly uids: readonly Decimal[];
  /** What to ask with for the next page; null after the last. */
  readonly next: string | null;
  readonly read: number;
  readonly total: number;
  readonly version: string;
}

/** Which message. */
export interface MessageRef {
  readonly conversationId: string;
  readonly seq: Seq;
}

/** Why the server tells nothing of a message. */
export type ReceiptRefusal = "not_found" | "forbidden" | "receipts_off";

/** An answer about one of several messages. */
export type ReceiptAnswer = Receipt | (MessageRef & { readonly error: ReceiptRefusal });

/** How the connection is. */
export type State =
  /** On the way: a token, the connection, what was missed. */
  | "connecting"
  /** Changes come as they happen. */
  | "live"
  /** The server or the network is away; `retryAtMs` says when it is tried again. */
  | "waiting"
  /** The token is refused and there is nobody to ask for another. */
  | "refused"
  /** Closed by the application. */
  | "closed";

/** How the client is. */
export interface Status {
  readonly state: State;
  /** Why, in words for a log, when the state is not a good one. */
  readonly reason: string;
  /** While waiting: when the connection is tried again, in milliseconds since 1970. */
  readonly retryAtMs?: number;
}

/** What is sent from the queue. */
export type WriteKind = "read" | "ack" | "clear";

/** Marks or acks that will not be sent (again). */
export interface Dropped {
  readonly conversationId: string;
  readonly kind: WriteKind;
  /** The mark's seq, or the messages of the acks. */
  readonly seqs: readonly Seq[];
  /** The server's word for it (`not-a-member`, `conversation-closed`, ...), or `queue-full`. */
  readonly reason: string;
  /** In words, for a log. */
  readonly detail: string;
}

/** The events of a client. */
export interface Events {
  /** The picture changed, or whether it is stale. `changed` names the conversations that look different. */
  unread: (picture: Picture, changed: ReadonlySet<string>) => void;
  /** The tally of a message changed. Never with an older version than before. */
  receipt: (receipt: Receipt) => void;
  /** The user has read or cleared a conversation. */
  conversationRead: (read: ConversationRead) => void;
  /** The connection's state changed. */
  status: (status: Status) => void;
  /** Marks or acks were given up. */
  dropped: (dropped: Dropped) => void;
}

/** What the client has seen, for logs and tests. All of them only rise. */
export interface Counters {
  /** Frames that could not be understood, and were ignored. */
  readonly badFrames: number;
  /** Entries that could not be understood: what they said is asked for again. */
  readonly badEntries: number;
  /** Entries that came twice or late, and changed nothing. */
  readonly oldEntries: number;
  /** Gaps in the stream, after each of which it is followed again from before it. */
  readonly gaps: number;
  /** Snapshots taken. */
  readonly snapshots: number;
  /** Connections that got as far as an answer to hello. */
  readonly connections: number;
  /** Write requests sent, over the connection and by HTTP. */
  readonly writes: number;
  /** Those of them that the server accepted. */
  readonly accepted: number;
  /** Tallies asked for by HTTP. */
  readonly talliesAsked: number;
  /** Writes and reads of the storage that failed. */
  readonly storageFailures: number;
}

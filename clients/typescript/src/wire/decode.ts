import { countOf, isDecimal, type Decimal } from "../state/decimal.js";
import type { MembersPage, Mode, Receipt, ReceiptAnswer, ReceiptRefusal } from "../types.js";
import type { Entry, News, Row, Snapshot } from "./entry.js";

// What comes from outside is looked at field by field. A decoder answers undefined for what it can't use, and never
// throws. Unknown fields are passed over: a newer server may say more.

type Fields = { readonly [name: string]: unknown };

/** An object's fields; undefined for anything else. */
export function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** JSON, or undefined. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function decimal(value: unknown): Decimal | undefined {
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && value >= 0 ? String(value) : undefined;
  }
  return typeof value === "string" && isDecimal(value) ? value : undefined;
}

function count(value: unknown): number | undefined {
  const text = decimal(value);
  return text === undefined ? undefined : countOf(text);
}

/** Characters of an id, a token or a version at most: what is longer is no such thing. */
const TEXT_MAX = 4_096;

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.length > 0 && value.length <= TEXT_MAX ? value : undefined;
}

function flag(value: unknown): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

function mode(value: unknown): Mode | undefined {
  return value === "full" || value === "count" || value === "off" ? value : undefined;
}

function list<T>(value: unknown, element: (value: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) {
    return undefined;
  }
  const elements: T[] = [];
  for (const one of value as unknown[]) {
    const decoded = element(one);
    if (decoded === undefined) {
      return undefined;
    }
    elements.push(decoded);
  }
  return elements;
}

type Wanted<T> = { readonly [K in keyof T]: T[K] | undefined };

/** All of them, or undefined when one is missing. */
function whole<T extends object>(wanted: Wanted<T>): T | undefined {
  return Object.values(wanted).includes(undefined) ? undefined : (wanted as T);
}

function row(value: unknown): Row | undefined {
  const fields = fieldsOf(value);
  return (
    fields &&
    whole<Row>({
      conversationId: text(fields["conversation_id"]),
      unread: count(fields["unread"]),
      mentions: count(fields["mentions"]),
      headSeq: decimal(fields["head_seq"]),
      readSeq: decimal(fields["read_seq"]),
      floorSeq: decimal(fields["floor_seq"]),
      markedUnread: flag(fields["marked_unread"]),
      muted: flag(fields["muted"]),
    })
  );
}

/** The answer of `GET /v1/unread`, which is a snapshot's content too. */
export function decodeSnapshot(value: unknown): Snapshot | undefined {
  const fields = fieldsOf(value);
  return (
    fields &&
    whole<Snapshot>({
      total: count(fields["total"]),
      mentions: count(fields["mentions"]),
      rows: list(fields["conversations"], row),
    })
  );
}

/** A sync token. */
export const decodeToken = text;

function conversationRead(fields: Fields): News | undefined {
  const endpoint = text(fields["endpoint"]);
  const news = whole({
    kind: "conversation_read" as const,
    conversationId: text(fields["conversation_id"]),
    readSeq: decimal(fields["read_seq"]),
    floorSeq: decimal(fields["floor_seq"]),
    own: flag(fields["own"]),
    unread: count(fields["unread"]),
    mentions: count(fields["mentions"]),
    markedUnread: flag(fields["marked_unread"]),
    total: count(fields["total_unread"]),
    totalMentions: count(fields["total_mentions"]),
  });
  return news && (endpoint === undefined ? news : { ...news, endpoint });
}

function unreadChanged(fields: Fields): News | undefined {
  return whole({
    kind: "unread_changed" as const,
    conversationId: text(fields["conversation_id"]),
    headSeq: decimal(fields["head_seq"]),
    floorSeq: decimal(fields["floor_seq"]),
    unread: count(fields["unread"]),
    mentions: count(fields["mentions"]),
    markedUnread: flag(fields["marked_unread"]),
    muted: flag(fields["muted"]),
    total: count(fields["total_unread"]),
    totalMentions: count(fields["total_mentions"]),
  });
}

/** N and M with what follows from them; undefined when N is above M, which is never told. */
function tally(
  read: number | undefined,
  total: number | undefined,
): Pick<Receipt, "read" | "total" | "allRead"> | undefined {
  if (read === undefined || total === undefined || read > total) {
    return undefined;
  }
  return { read, total, allRead: total > 0 && read === total };
}

function messageRead(fields: Fields): News | undefined {
  const counts = tally(count(fields["read"]), count(fields["total"]));
  const readersAdded = fields["readers_added"] === undefined ? [] : list(fields["readers_added"], decimal);
  const receipt = whole<Receipt>({
    conversationId: text(fields["conversation_id"]),
    seq: decimal(fields["seq"]),
    mode: mode(fields["mode"]),
    version: text(fields["tally_version"]),
    recalled: false,
    readersAdded,
    ...(counts ?? { read: undefined, total: undefined, allRead: undefined }),
  });
  return receipt && { kind: "message_read", receipt };
}

/** An entry of the sync stream. Of a kind that this client does not know, only its version is of use. */
export function decodeEntry(value: unknown): Entry | undefined {
  const fields = fieldsOf(value);
  const version = decimal(fields?.["version"]);
  const kind = text(fields?.["kind"]);
  if (!fields || version === undefined || kind === undefined) {
    return undefined;
  }
  const news = newsOf(kind, fields);
  return news && { version, news };
}

function newsOf(kind: string, fields: Fields): News | undefined {
  switch (kind) {
    case "conversation_read":
      return conversationRead(fields);
    case "unread_changed":
      return unreadChanged(fields);
    case "message_read":
      return messageRead(fields);
    default:
      return { kind: "unknown" };
  }
}

/** A tally as the HTTP calls answer it. */
export function decodeReceipt(value: unknown): Receipt | undefined {
  const fields = fieldsOf(value);
  const counts = fields && tally(count(fields["read"]), count(fields["total"]));
  return (
    counts &&
    whole<Receipt>({
      ...counts,
      conversationId: text(fields["conversation_id"]),
      seq: decimal(fields["seq"]),
      mode: mode(fields["mode"]),
      recalled: flag(fields["recalled"]),
      version: text(fields["version"]),
      msgId: decimal(fields["msg_id"]),
      senderUid: decimal(fields["sender_uid"]),
      readersAdded: [],
    })
  );
}

function refusal(value: unknown): ReceiptRefusal | undefined {
  return value === "not_found" || value === "forbidden" || value === "receipts_off" ? value : undefined;
}

function receiptAnswer(value: unknown): ReceiptAnswer | undefined {
  const fields = fieldsOf(value);
  if (fields?.["error"] === undefined) {
    return decodeReceipt(value);
  }
  return whole({
    conversationId: text(fields["conversation_id"]),
    seq: decimal(fields["seq"]),
    error: refusal(fields["error"]),
  });
}

/** The answer of `POST /v1/receipts/query`. */
export function decodeReceiptAnswers(value: unknown): ReceiptAnswer[] | undefined {
  return list(fieldsOf(value)?.["receipts"], receiptAnswer);
}

/** The answer of `readers` and `unread-members`. */
export function decodeMembersPage(value: unknown): MembersPage | undefined {
  const fields = fieldsOf(value);
  const next = fields?.["next"];
  return (
    fields &&
    whole<MembersPage>({
      uids: list(fields["uids"], decimal),
      next: next === null || next === undefined ? null : text(next),
      read: count(fields["read"]),
      total: count(fields["total"]),
      version: text(fields["version"]),
    })
  );
}

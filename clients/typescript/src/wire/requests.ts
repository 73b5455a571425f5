import type { HttpRequest } from "../io/http.js";
import type { Seq } from "../state/decimal.js";
import type { WriteRequest } from "../state/write-queue.js";
import type { MessageRef } from "../types.js";
import { fieldsOf } from "./decode.js";

// What each call looks like.

function conversationPath(conversationId: string): string {
  return `/v1/conversations/${encodeURIComponent(conversationId)}`;
}

function messagePath({ conversationId, seq }: MessageRef): string {
  return `${conversationPath(conversationId)}/messages/${seq}`;
}

function ackMessages(request: WriteRequest): unknown[] {
  return request.items.map(({ seq, senderUid }) =>
    senderUid === undefined ? { seq } : { seq, sender_uid: senderUid },
  );
}

/** A request of the queue, by HTTP. */
export function writeRequest(request: WriteRequest): HttpRequest {
  const { conversationId, kind } = request;
  if (kind === "ack") {
    const body = { conversation_id: conversationId, messages: ackMessages(request) };
    return { method: "POST", path: "/v1/acks", body };
  }
  const body = { up_to_seq: request.items[0]?.seq };
  return { method: "POST", path: `${conversationPath(conversationId)}/${kind}`, body };
}

/** A request of the queue as a frame; undefined for what has none. */
export function writeFrame(request: WriteRequest, id: string): string | undefined {
  const { conversationId, kind } = request;
  const frame = { type: kind, id, conversation_id: conversationId };
  switch (kind) {
    case "ack":
      return JSON.stringify({ ...frame, messages: ackMessages(request) });
    case "read":
      return JSON.stringify({ ...frame, up_to_seq: request.items[0]?.seq });
    case "clear":
      return undefined;
  }
}

/** The messages that an accepted ack says take none. */
export function ignoredIn(body: unknown): Seq[] {
  const list: unknown = fieldsOf(body)?.["ignored"];
  const seqs = (Array.isArray(list) ? (list as unknown[]) : []).map((one) => fieldsOf(one)?.["seq"]);
  return seqs.filter((seq) => typeof seq === "string");
}

/** Clears all there is. */
export function clearAll(conversationId: string): HttpRequest {
  return { method: "POST", path: `${conversationPath(conversationId)}/clear`, body: {} };
}

/** Marks a conversation as unread by hand, or takes the mark away. */
export function unreadMark(conversationId: string, marked: boolean): HttpRequest {
  return { method: "POST", path: `${conversationPath(conversationId)}/unread-mark`, body: { marked } };
}

/** Leaves a conversation out of the totals, or takes it in again. */
export function mute(conversationId: string, muted: boolean): HttpRequest {
  return { method: "POST", path: `${conversationPath(conversationId)}/mute`, body: { muted } };
}

/** Switches the user's receipts. */
export function settings(receipts: boolean): HttpRequest {
  return { method: "PUT", path: "/v1/settings", body: { receipts } };
}

/** Everything that is unread. */
export const unread: HttpRequest = { method: "GET", path: "/v1/unread?all=true" };

/** What follows a token. */
export function sync(token: string, limit: number): HttpRequest {
  return { method: "GET", path: `/v1/sync?since=${encodeURIComponent(token)}&limit=${limit}` };
}

/** Tallies of several messages. */
export function receiptsQuery(messages: readonly MessageRef[]): HttpRequest {
  const body = { messages: messages.map(({ conversationId, seq }) => ({ conversation_id: conversationId, seq })) };
  return { method: "POST", path: "/v1/receipts/query", body };
}

/** Names of those who have read a message, or have not. */
export function members(
  which: "readers" | "unread-members",
  message: MessageRef,
  page: { readonly limit?: number; readonly cursor?: string },
): HttpRequest {
  const query = new URLSearchParams();
  if (page.limit !== undefined) {
    query.set("limit", String(page.limit));
  }
  if (page.cursor !== undefined) {
    query.set("cursor", page.cursor);
  }
  const text = query.toString();
  return { method: "GET", path: `${messagePath(message)}/${which}${text === "" ? "" : `?${text}`}` };
}

import { decodeSnapshot, decodeToken, fieldsOf } from "../wire/decode.js";
import { isDecimal } from "./decimal.js";
import type { SavedPicture } from "./picture.js";

/** As text, in the words of the server's own answers. */
export function encodePicture(saved: SavedPicture): string {
  return JSON.stringify({
    total: saved.total,
    mentions: saved.mentions,
    conversations: saved.rows.map((row) => ({
      conversation_id: row.conversationId,
      unread: row.unread,
      mentions: row.mentions,
      head_seq: row.headSeq,
      read_seq: row.readSeq,
      floor_seq: row.floorSeq,
      marked_unread: row.markedUnread,
      muted: row.muted,
    })),
    as_of_ms: saved.asOfMs,
    token: saved.token,
    version: saved.version,
  });
}

/** From text that this client wrote; undefined for anything else. */
export function decodePicture(value: unknown): SavedPicture | undefined {
  const fields = fieldsOf(value);
  const snapshot = decodeSnapshot(value);
  const asOfMs = fields?.["as_of_ms"];
  if (!fields || snapshot === undefined || typeof asOfMs !== "number" || !(asOfMs > 0)) {
    return undefined;
  }
  const version = fields["version"];
  return {
    ...snapshot,
    asOfMs,
    token: decodeToken(fields["token"]) ?? null,
    version: typeof version === "string" && isDecimal(version) ? version : null,
  };
}

import { problemOf, type ReadmarkError } from "../errors.js";
import { retryAfterMs } from "../state/backoff.js";
import { decodeEntry, decodeSnapshot, decodeToken, fieldsOf, parseJson } from "./decode.js";
import type { Entry, Snapshot } from "./entry.js";

/** What the server says over the connection. */
export type Frame =
  | { readonly type: "snapshot"; readonly snapshot: Snapshot; readonly token: string }
  | { readonly type: "ready"; readonly token: string }
  /** An entry that can't be understood is undefined. */
  | { readonly type: "entries"; readonly entries: readonly (Entry | undefined)[]; readonly token: string }
  | { readonly type: "pong" }
  | { readonly type: "ok"; readonly id: string; readonly body: unknown }
  | { readonly type: "error"; readonly id: string; readonly error: ReadmarkError };

/** A frame; undefined for what can't be understood. */
export function decodeFrame(data: unknown): Frame | undefined {
  const fields = typeof data === "string" ? fieldsOf(parseJson(data)) : undefined;
  const token = decodeToken(fields?.["token"]);
  switch (fields?.["type"]) {
    case "snapshot": {
      const snapshot = decodeSnapshot(fields["snapshot"]);
      return snapshot && token !== undefined ? { type: "snapshot", snapshot, token } : undefined;
    }
    case "ready":
      return token === undefined ? undefined : { type: "ready", token };
    case "entries": {
      const list: unknown = fields["entries"];
      const isWhole = Array.isArray(list) && token !== undefined;
      return isWhole ? { type: "entries", entries: (list as unknown[]).map(decodeEntry), token } : undefined;
    }
    case "pong":
      return { type: "pong" };
    case "ok":
    case "error":
      return answerOf(fields);
    default:
      return undefined;
  }
}

function answerOf(fields: { readonly [name: string]: unknown }): Frame | undefined {
  const id = fields["id"];
  if (typeof id !== "string") {
    return undefined;
  }
  if (fields["type"] === "ok") {
    return { type: "ok", id, body: fields };
  }
  const [status, retryAfterS] = [fields["status"], fields["retry_after_s"]];
  const waitMs = typeof retryAfterS === "number" ? retryAfterMs(String(retryAfterS), 0) : undefined;
  // The frame's own `type` is "error"; the problem's word stands beside it.
  const body = { ...fields, type: fields["problem"] };
  return { type: "error", id, error: problemOf(typeof status === "number" ? status : 500, body, waitMs) };
}

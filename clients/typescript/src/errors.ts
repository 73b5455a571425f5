import { fieldsOf } from "./wire/decode.js";

/** One fault of several. */
export interface ProblemItem {
  /** Its place in the list that was sent, from 0. */
  readonly index?: number;
  readonly field?: string;
  readonly detail: string;
}

/** What an error says. */
export interface ErrorParts {
  /** The HTTP status; 0 when no answer came. */
  readonly status: number;
  /**
   * The word of the server's problem (`not-a-member`, `seq-beyond-head`, `unavailable`, ...), or one of the client's
   * own: `network`, `timeout`, `bad-answer`, `token`, `closed`.
   */
  readonly code: string;
  readonly detail: string;
  readonly items?: readonly ProblemItem[];
  /** When a repeat makes sense, in milliseconds, where the server says so. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** A call that failed. What failed may always be sent again as it was: the server merges. */
export class ReadmarkError extends Error {
  override readonly name = "ReadmarkError";
  readonly status: number;
  readonly code: string;
  readonly items: readonly ProblemItem[];
  readonly retryAfterMs: number | undefined;

  constructor(parts: ErrorParts) {
    super(`${parts.code}: ${parts.detail}`, { cause: parts.cause });
    this.status = parts.status;
    this.code = parts.code;
    this.items = parts.items ?? [];
    this.retryAfterMs = parts.retryAfterMs;
  }

  /** May the same call succeed later? */
  get isRetryable(): boolean {
    const isPassing = this.status === 0 ? this.code !== "token" && this.code !== "closed" : this.status >= 500;
    return isPassing || this.status === 408 || this.status === 429 || this.code === "seq-beyond-head";
  }
}

/** Characters of a detail that are kept. */
const DETAIL_MAX = 500;

function itemOf(value: unknown): ProblemItem {
  const fields = fieldsOf(value) ?? {};
  const [index, field, detail] = [fields["index"], fields["field"], fields["detail"]];
  return {
    ...(typeof index === "number" ? { index } : {}),
    ...(typeof field === "string" ? { field } : {}),
    detail: typeof detail === "string" ? detail.slice(0, DETAIL_MAX) : "",
  };
}

/** What a problem document says; what comes from something in between may be none. */
export function problemOf(status: number, body: unknown, retryAfterMs: number | undefined): ReadmarkError {
  const fields = fieldsOf(body) ?? {};
  const [type, detail, items] = [fields["type"], fields["detail"], fields["items"]];
  const word = typeof type === "string" ? type.slice(type.lastIndexOf(":") + 1) : "";
  return new ReadmarkError({
    status,
    code: /^[a-z-]{1,64}$/.test(word) ? word : `http-${status}`,
    detail: typeof detail === "string" ? detail.slice(0, DETAIL_MAX) : `the server answered ${status}`,
    items: Array.isArray(items) ? (items as unknown[]).map(itemOf) : [],
    retryAfterMs,
  });
}

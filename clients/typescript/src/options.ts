import * as bounds from "./bounds.js";
import type { Lifecycle } from "./io/lifecycle.js";
import type { KeyValueStorage } from "./io/storage.js";
import type { SeqInput } from "./state/decimal.js";

/** Why a token is asked for: the first one, the old one is at its end, or the server does not believe it. */
export type TokenReason = "first" | "expired" | "refused";

/** Where tokens come from: one for ever, or a function that gets a fresh one each time. */
export type TokenSource = string | ((reason: TokenReason) => string | Promise<string>);

/** What the client needs of a WebSocket: the browser's is one. */
export interface WebSocketLike {
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: { readonly data: unknown }) => unknown) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  readonly protocol: string;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** Makes a connection, as the browser's `WebSocket` does. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** Times that an application may choose otherwise, in milliseconds. */
export interface Timings {
  /** Marks and acks of one conversation are gathered for so long: 200. */
  readonly mergeMs: number;
  /** An incomplete tally on screen that did not change for so long is asked for once: 60,000. */
  readonly quietTallyMs: number;
  /** Unread is asked for by HTTP at most so often: 5,000. */
  readonly refreshMs: number;
  /** How often unread is followed by HTTP while there is no connection: 30,000. */
  readonly pollMs: number;
  /** A ping goes out when nothing came for so long: 30,000. */
  readonly heartbeatMs: number;
  /** How long the answer to a ping may take: 10,000. */
  readonly pongMs: number;
  /** First pause before connecting again: 500. It doubles, up to `reconnectCapMs`. */
  readonly reconnectFirstMs: number;
  /** Longest pause before connecting again: 30,000. */
  readonly reconnectCapMs: number;
  /** How long connecting, and then the answer to hello, may take: 15,000. */
  readonly openMs: number;
}

/** The times that are used where nothing else is said. */
export const TIMINGS: Timings = {
  mergeMs: bounds.MERGE_MS,
  quietTallyMs: bounds.QUIET_TALLY_MS,
  refreshMs: bounds.REFRESH_MS,
  pollMs: bounds.POLL_MS,
  heartbeatMs: bounds.HEARTBEAT_MS,
  pongMs: bounds.PONG_MS,
  reconnectFirstMs: bounds.RECONNECT_FIRST_MS,
  reconnectCapMs: bounds.RECONNECT_CAP_MS,
  openMs: bounds.OPEN_MS,
};

/** How to connect. */
export interface Options {
  /** Where readmark is, as in `https://receipts.example`; a path before `/v1` may follow. */
  readonly url: string | URL;
  /** The user's token, or how to get one. It says who the user is and which device this is. */
  readonly token: TokenSource;
  /**
   * The user's uid, where the application knows it before the first token: what was unread last is then shown at
   * once, also while tokens can't be had.
   */
  readonly uid?: SeqInput;
  /**
   * Keeps what was not yet sent and what was unread last: `localStorage` where there is one, else memory. Null for
   * memory.
   */
  readonly storage?: KeyValueStorage | null;
  /** Where page events come from: `document` and `window` where there are any. Null for none. */
  readonly lifecycle?: Lifecycle | null;
  readonly webSocket?: WebSocketConstructor;
  readonly fetch?: typeof globalThis.fetch;
  readonly timings?: Partial<Timings>;
}

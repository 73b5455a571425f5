import { RESTART_SPREAD_MS, TOO_MANY_MS } from "../bounds.js";
import { backoff, jittered } from "./backoff.js";

/** Close codes that mean something; the others are a network that broke. */
export const CLOSE = {
  done: 1000,
  restart: 1012,
  tooSlow: 1013,
  tokenExpired: 4001,
  noHello: 4002,
  tooMany: 4003,
} as const;

/** How a connection ended. */
export interface Ended {
  readonly code: number;
  /** Did the server answer hello? */
  readonly wasLive: boolean;
  /** Connections in a row, this one included, that did not live long enough to count as good. */
  readonly failures: number;
}

/** The pause before the next connection, in milliseconds. */
export function reconnectMs(ended: Ended, firstMs: number, capMs: number, random: number): number {
  const isFirst = ended.failures <= 1;
  if (ended.code === CLOSE.restart && ended.wasLive && isFirst) {
    return random * RESTART_SPREAD_MS;
  }
  if (ended.code === CLOSE.tokenExpired && isFirst) {
    return 0;
  }
  if (ended.code === CLOSE.tooMany) {
    return jittered(TOO_MANY_MS, random);
  }
  return backoff(Math.max(ended.failures - 1, 0), firstMs, capMs, random);
}

/** In words, for a log. */
export function reasonOf(code: number): string {
  switch (code) {
    case CLOSE.restart:
      return "the server restarts";
    case CLOSE.tooSlow:
      return "the connection was too slow";
    case CLOSE.tokenExpired:
      return "the token has expired";
    case CLOSE.noHello:
      return "the server waited for hello in vain";
    case CLOSE.tooMany:
      return "too many connections of this user";
    default:
      return `the connection was closed (${code})`;
  }
}

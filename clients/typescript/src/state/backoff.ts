import { RETRY_AFTER_JITTER, RETRY_AFTER_MAX_MS } from "../bounds.js";

// Pauses as pure functions; `random` is a number from 0 to below 1, drawn by the caller.

/** Doublings that are counted: beyond them every pause is at its cap. */
const DOUBLINGS_MAX = 30;

/** The pause before try `attempt` (from 0): twice as long each time up to the cap, the half of it at random. */
export function backoff(attempt: number, firstMs: number, capMs: number, random: number): number {
  const whole = Math.min(capMs, firstMs * 2 ** Math.min(attempt, DOUBLINGS_MAX));
  return whole / 2 + (random * whole) / 2;
}

/** Not before `ms`, and not all clients at once. */
export function jittered(ms: number, random: number): number {
  return ms * (1 + RETRY_AFTER_JITTER * random);
}

/** What a `Retry-After` header says, in milliseconds: seconds or a date; undefined for anything else. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null || header.trim() === "") {
    return undefined;
  }
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - nowMs : seconds * 1_000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}

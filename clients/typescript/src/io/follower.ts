import { SYNC_ENTRIES_MAX, SYNC_PAGES_MAX } from "../bounds.js";
import { ReadmarkError } from "../errors.js";
import { decodeEntry, decodeSnapshot, decodeToken, fieldsOf } from "../wire/decode.js";
import type { Entry, Snapshot } from "../wire/entry.js";
import * as requests from "../wire/requests.js";
import { Alarm, nowMs, pause } from "./clock.js";
import type { Http } from "./http.js";

/** Takes what was found. */
export interface FollowerParts {
  readonly http: Http;
  readonly refreshMs: number;
  readonly pollMs: number;
  readonly syncToken: () => string | null;
  /** Is there a connection that tells everything already? */
  readonly isLive: () => boolean;
  /** Rises with all that a connection tells: what was asked for by HTTP before is then older, and not taken. */
  readonly told: () => number;
  readonly onSnapshot: (snapshot: Snapshot, token: string) => void;
  /** False when something is missing between what is known and these. */
  readonly onEntries: (entries: readonly (Entry | undefined)[], token: string) => boolean;
  /** The stream can't be followed from its token. */
  readonly onLost: () => void;
  /** The picture is up to date, or could not be brought up to date. */
  readonly onDone: (error: unknown) => void;
}

type Page =
  | { readonly snapshot: Snapshot; readonly token: string }
  | { readonly entries: readonly (Entry | undefined)[]; readonly token: string; readonly more: boolean };

function pageOf(body: unknown): Page | undefined {
  const fields = fieldsOf(body);
  const token = decodeToken(fields?.["token"]);
  if (!fields || token === undefined) {
    return undefined;
  }
  const entries: unknown = fields["entries"];
  if (Array.isArray(entries)) {
    return { entries: (entries as unknown[]).map(decodeEntry), token, more: fields["more"] === true };
  }
  const snapshot = decodeSnapshot(fields["snapshot"]);
  return snapshot && { snapshot, token };
}

function pictureOf(body: unknown): Page | undefined {
  const [snapshot, token] = [decodeSnapshot(body), decodeToken(fieldsOf(body)?.["token"])];
  return snapshot && token !== undefined ? { snapshot, token } : undefined;
}

/**
 * Follows the stream by HTTP while there is no connection: once when it breaks, then now and then, and whenever the
 * application asks; never more often than every 5 s.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #alarm = new Alarm(() => void this.refresh().catch(() => undefined));
  #running: Promise<void> | undefined;
  #startedAtMs = Number.NEGATIVE_INFINITY;
  #isPolling = false;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Starts or stops asking now and then. */
  setPolling(isPolling: boolean): void {
    if (isPolling !== this.#isPolling) {
      this.#isPolling = isPolling;
      this.#alarm.set(isPolling ? nowMs() + this.#parts.refreshMs : undefined);
    }
  }

  /**
   * Brings the picture up to date, unless a connection does. Calls that come meanwhile share one request.
   *
   * @throws ReadmarkError when the server does not answer.
   */
  refresh(): Promise<void> {
    if (this.#parts.isLive()) {
      return Promise.resolve();
    }
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      this.#alarm.set(this.#isPolling ? nowMs() + this.#parts.pollMs : undefined);
    });
    return this.#running;
  }

  async #run(): Promise<void> {
    await pause(this.#startedAtMs + this.#parts.refreshMs - nowMs());
    if (this.#parts.isLive()) {
      return;
    }
    this.#startedAtMs = nowMs();
    try {
      await this.#follow();
      this.#parts.onDone(undefined);
    } catch (error) {
      this.#parts.onDone(error);
      throw error;
    }
  }

  async #follow(): Promise<void> {
    for (let page = 0; page < SYNC_PAGES_MAX; page += 1) {
      const told = this.#parts.told();
      const found = await this.#page();
      if (this.#parts.told() !== told) {
        return;
      }
      if ("snapshot" in found) {
        this.#parts.onSnapshot(found.snapshot, found.token);
        return;
      }
      const isWhole = this.#parts.onEntries(found.entries, found.token);
      if (!isWhole) {
        this.#parts.onLost();
      } else if (!found.more) {
        return;
      }
    }
  }

  async #page(): Promise<Page> {
    const { http, syncToken, onLost } = this.#parts;
    const token = syncToken();
    if (token !== null) {
      try {
        return await http.call(requests.sync(token, SYNC_ENTRIES_MAX), pageOf);
      } catch (error) {
        if (
          !(error instanceof ReadmarkError) ||
          error.status < 400 ||
          error.status >= 500 ||
          error.isRetryable ||
          error.status === 401
        ) {
          throw error;
        }
        // The token is none that this server knows: everything is asked for instead.
        onLost();
      }
    }
    return http.call(requests.unread, pictureOf);
  }
}

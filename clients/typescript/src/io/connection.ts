import { GOOD_CONNECTION_MS, SLEPT_MS, WAKE_PONG_MS } from "../bounds.js";
import { ReadmarkError } from "../errors.js";
import type { Timings, WebSocketConstructor, WebSocketLike } from "../options.js";
import { CLOSE, reasonOf, reconnectMs } from "../state/reconnect.js";
import type { Status } from "../types.js";
import { decodeFrame, type Frame } from "../wire/frames.js";
import { Alarm, nowMs, wallMs } from "./clock.js";
import type { Tokens } from "./tokens.js";

/** What a connection is made of. */
export interface ConnectionParts {
  /** Of `/v1/ws`. */
  readonly url: string;
  readonly tokens: Tokens;
  readonly webSocket: WebSocketConstructor;
  readonly timings: Timings;
  /** Where the stream is to be followed from; null for a snapshot. */
  readonly syncToken: () => string | null;
  /** A frame came; false when it makes no sense here. The first snapshot or ready makes the connection live. */
  readonly onFrame: (frame: Frame) => boolean;
  readonly onBadFrame: () => void;
  readonly onStatus: (status: Status) => void;
}

/** Codes of the client's own, for what no frame said. */
const NO_ANSWER = 4900;
const FOLLOW_AGAIN = 4901;

/** One connection at a time, made again with growing pauses for as long as the client lives. */
export class Connection {
  readonly #parts: ConnectionParts;
  #socket: WebSocketLike | undefined;
  #status: Status = { state: "connecting", reason: "" };
  /** Connections that ended before they were good, in a row. */
  #failures = 0;
  #liveAtMs = 0;
  #heardAtMs = 0;
  /** When silence ends the connection: while it is made, and after a ping. */
  #deadlineMs: number | undefined;
  /** When the next look is due by the clock that goes on while the machine sleeps. */
  #checkAtWallMs = 0;
  /** Told apart by number, so that what comes late from an earlier attempt is known. */
  #attempt = 0;
  readonly #retry = new Alarm(() => void this.#open());
  readonly #check = new Alarm(() => this.#look());

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  /** How it is. */
  get status(): Status {
    return this.#status;
  }

  /** True while changes come as they happen. */
  get isLive(): boolean {
    return this.#status.state === "live";
  }

  /** Connects, and stays connected. */
  start(): void {
    void this.#open();
  }

  /** Ends for good. */
  stop(): void {
    this.#leave(CLOSE.done);
    this.#retry.set(undefined);
    this.#tell({ state: "closed", reason: "closed by the application" });
  }

  /** The machine or the page woke up, or the network is back: what is dead is to be found out soon. */
  wake(): void {
    if (this.#status.state === "waiting") {
      void this.#open();
    } else if (this.isLive) {
      this.#ping(WAKE_PONG_MS);
    }
  }

  /** There is no token that the server believes. */
  refused(reason: string): void {
    this.#leave(CLOSE.done);
    this.#retry.set(undefined);
    this.#tell({ state: "refused", reason });
  }

  /** Something of the stream is missing: it is followed anew. */
  followAgain(): void {
    this.#leave(CLOSE.done);
    this.#ended(FOLLOW_AGAIN, "a part of the stream was missing");
  }

  /** Sends a frame, if the connection is live. */
  write(frame: string): boolean {
    if (!this.isLive || this.#socket === undefined) {
      return false;
    }
    try {
      this.#socket.send(frame);
      return true;
    } catch {
      return false;
    }
  }

  async #open(): Promise<void> {
    const attempt = (this.#attempt += 1);
    this.#retry.set(undefined);
    this.#tell({ state: "connecting", reason: this.#status.reason });
    let token: string;
    try {
      token = await this.#parts.tokens.get();
    } catch (error) {
      if (attempt === this.#attempt) {
        this.#noToken(error);
      }
      return;
    }
    if (attempt !== this.#attempt) {
      return;
    }
    try {
      this.#listen(new this.#parts.webSocket(this.#parts.url, ["readmark.v1", `bearer.${token}`]), token);
    } catch (error) {
      this.#ended(NO_ANSWER, `no connection can be made: ${String(error)}`);
    }
  }

  #noToken(error: unknown): void {
    const reason = error instanceof ReadmarkError ? error.message : String(error);
    if (this.#parts.tokens.isExhausted) {
      this.refused(reason);
    } else {
      this.#ended(NO_ANSWER, reason);
    }
  }

  #listen(socket: WebSocketLike, token: string): void {
    this.#socket = socket;
    this.#heardAtMs = nowMs();
    this.#watch(this.#parts.timings.openMs);
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: "hello", token: this.#parts.syncToken() }));
    };
    socket.onmessage = ({ data }) => this.#heard(data);
    socket.onerror = () => undefined;
    socket.onclose = ({ code }) => {
      if (code === CLOSE.tokenExpired) {
        this.#parts.tokens.refuse(token);
      }
      this.#detach();
      this.#ended(code, reasonOf(code));
    };
  }

  #heard(data: unknown): void {
    this.#heardAtMs = nowMs();
    if (this.isLive) {
      this.#deadlineMs = undefined;
    }
    const frame = decodeFrame(data);
    if (frame === undefined || !this.#parts.onFrame(frame)) {
      this.#parts.onBadFrame();
    } else if (!this.isLive && this.#socket !== undefined && (frame.type === "snapshot" || frame.type === "ready")) {
      this.#liveAtMs = nowMs();
      this.#deadlineMs = undefined;
      this.#tell({ state: "live", reason: "" });
    }
    this.#setCheck();
  }

  /** Silence until then ends the connection. */
  #watch(ms: number): void {
    this.#deadlineMs = Math.min(this.#deadlineMs ?? Number.POSITIVE_INFINITY, nowMs() + ms);
    this.#setCheck();
  }

  #setCheck(): void {
    if (this.#socket === undefined) {
      this.#check.set(undefined);
      return;
    }
    const checkAtMs = this.#deadlineMs ?? this.#heardAtMs + this.#parts.timings.heartbeatMs;
    this.#checkAtWallMs = wallMs() + checkAtMs - nowMs();
    this.#check.set(checkAtMs);
  }

  #look(): void {
    const now = nowMs();
    if (wallMs() - this.#checkAtWallMs > SLEPT_MS && this.isLive) {
      this.#deadlineMs = undefined;
      this.#ping(WAKE_PONG_MS);
    } else if (this.#deadlineMs !== undefined && this.#deadlineMs <= now) {
      this.#leave(CLOSE.done);
      this.#ended(NO_ANSWER, "the server did not answer in time");
    } else if (this.isLive && this.#heardAtMs + this.#parts.timings.heartbeatMs <= now) {
      this.#ping(this.#parts.timings.pongMs);
    } else {
      this.#setCheck();
    }
  }

  #ping(answerMs: number): void {
    this.write(JSON.stringify({ type: "ping" }));
    this.#watch(answerMs);
  }

  #detach(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    this.#deadlineMs = undefined;
    this.#check.set(undefined);
    if (socket !== undefined) {
      socket.onopen = null;
      socket.onmessage = null;
      socket.onclose = null;
      // A late error has nobody to tell, and must not become an uncaught one.
      socket.onerror = () => undefined;
    }
  }

  #leave(code: number): void {
    const socket = this.#socket;
    this.#attempt += 1;
    this.#detach();
    try {
      socket?.close(code);
    } catch {
      // It was closed already.
    }
  }

  #ended(code: number, reason: string): void {
    const wasLive = this.isLive;
    const wasGood = wasLive && nowMs() - this.#liveAtMs >= GOOD_CONNECTION_MS;
    this.#failures = wasGood ? 1 : this.#failures + 1;
    const { reconnectFirstMs, reconnectCapMs } = this.#parts.timings;
    const ended = { code, wasLive, failures: this.#failures };
    const pauseMs = reconnectMs(ended, reconnectFirstMs, reconnectCapMs, Math.random());
    this.#tell({ state: "waiting", reason, retryAtMs: wallMs() + pauseMs });
    this.#retry.set(nowMs() + pauseMs);
  }

  #tell(status: Status): void {
    this.#status = status;
    this.#parts.onStatus(status);
  }
}

import { OWN_MARK_MS, SAVE_MS, SAVED_CONVERSATIONS_MAX } from "../bounds.js";
import { TIMINGS, type Options, type Timings, type WebSocketConstructor } from "../options.js";
import { Claimed } from "../state/claimed.js";
import { uidOf } from "../state/decimal.js";
import { PictureModel } from "../state/picture.js";
import { decodePicture, encodePicture } from "../state/saved-picture.js";
import { Tallies } from "../state/tallies.js";
import { WriteQueue, type AckOf, type Settled, type WriteRequest } from "../state/write-queue.js";
import type { Counters, Receipt, Status, WriteKind } from "../types.js";
import { decodeReceiptAnswers, parseJson } from "../wire/decode.js";
import type { Entry, Snapshot } from "../wire/entry.js";
import type { Frame } from "../wire/frames.js";
import * as requests from "../wire/requests.js";
import { Alarm, nowMs, wallMs } from "./clock.js";
import { Connection } from "./connection.js";
import { Emitter } from "./emitter.js";
import { Flusher } from "./flusher.js";
import { Follower } from "./follower.js";
import { baseOf, Http } from "./http.js";
import { pageLifecycle } from "./lifecycle.js";
import { Puller } from "./puller.js";
import { SocketWrites } from "./socket-writes.js";
import { defaultStorage, Keeper, memoryStorage } from "./storage.js";
import { Tokens } from "./tokens.js";

type Counts = { -readonly [K in Exclude<keyof Counters, "storageFailures">]: Counters[K] };

/** Of what is in the storage: another form has another number. */
const STORAGE_VERSION = 1;

/** Everything that runs for one client: what arrives is merged and told, what is written is kept and sent. */
export class Session {
  readonly emitter = new Emitter();
  readonly picture = new PictureModel();
  readonly counters: Counts = {
    badFrames: 0,
    badEntries: 0,
    oldEntries: 0,
    gaps: 0,
    snapshots: 0,
    connections: 0,
    writes: 0,
    accepted: 0,
    talliesAsked: 0,
  };
  readonly tallies: Tallies;
  readonly keeper: Keeper;
  readonly http: Http;
  readonly connection: Connection;
  readonly flusher: Flusher;
  readonly follower: Follower;
  readonly puller: Puller;

  readonly #options: Options;
  readonly #base: string;
  readonly #tokens: Tokens;
  readonly #queue: WriteQueue;
  readonly #claimed = new Claimed();
  readonly #socketWrites: SocketWrites;
  readonly #saveAlarm = new Alarm(() => this.#save());
  readonly #expireAlarm = new Alarm(() => this.#expire());
  #unlisten: () => void = () => undefined;
  #isHidden = false;
  #isTelling = false;
  #isStopped = false;
  #wasLive = false;
  /** Following the stream by HTTP works, while there is no connection. */
  #isFollowed = false;
  /** Rises with each frame about the stream. */
  #told = 0;
  /** From which token the stream was followed when something was missing last. */
  #lostAt: string | null | undefined;
  #keys: { readonly picture: string; readonly queue: string } | undefined;

  constructor(options: Options, webSocket: WebSocketConstructor | undefined) {
    const timings: Timings = { ...TIMINGS, ...options.timings };
    this.#options = options;
    this.#base = baseOf(options.url);
    this.#tokens = new Tokens(options.token, options.uid === undefined ? undefined : uidOf(options.uid));
    this.keeper = new Keeper(options.storage === null ? memoryStorage() : (options.storage ?? defaultStorage()));
    this.http = new Http(this.#base, this.#tokens, options.fetch ?? globalThis.fetch);
    this.#queue = new WriteQueue(timings.mergeMs);
    this.tallies = new Tallies(timings.quietTallyMs);
    this.connection = this.#makeConnection(timings, webSocket);
    this.#socketWrites = new SocketWrites((frame) => this.connection.write(frame));
    this.flusher = new Flusher({
      queue: this.#queue,
      keeper: this.keeper,
      send: (request, outlivesPage) => this.#send(request, outlivesPage),
      onSettled: (request, settled) => this.#settled(request, settled),
      onDropped: (dropped) => dropped.forEach((one) => this.emitter.emit("dropped", one)),
    });
    this.follower = this.#makeFollower(timings);
    this.puller = new Puller({
      tallies: this.tallies,
      ask: (messages) => {
        this.counters.talliesAsked += messages.length;
        return this.http.call(requests.receiptsQuery(messages), decodeReceiptAnswers);
      },
      onReceipt: (receipt) => this.emitter.emit("receipt", receipt),
    });
  }

  #makeConnection(timings: Timings, webSocket: WebSocketConstructor | undefined): Connection {
    const found = this.#options.webSocket ?? webSocket;
    if (found === undefined) {
      throw new TypeError("there is no WebSocket here: give one as `webSocket`, or import from readmark/node");
    }
    return new Connection({
      url: `${this.#base.replace(/^http/, "ws")}/v1/ws`,
      tokens: this.#tokens,
      webSocket: found,
      timings,
      syncToken: () => this.picture.token,
      onFrame: (frame) => this.#frame(frame),
      onBadFrame: () => (this.counters.badFrames += 1),
      onStatus: (status) => this.#status(status),
    });
  }

  #makeFollower(timings: Timings): Follower {
    return new Follower({
      http: this.http,
      refreshMs: timings.refreshMs,
      pollMs: timings.pollMs,
      syncToken: () => this.picture.token,
      isLive: () => this.connection.isLive,
      told: () => this.#told,
      onSnapshot: (snapshot, token) => this.#snapshot(snapshot, token),
      onEntries: (entries, token) => this.#entries(entries, token),
      onLost: () => this.picture.forgetToken(),
      onDone: (error) => this.#followed(error),
    });
  }

  /** Begins: what was kept is shown, then the server is asked. */
  start(): void {
    const lifecycle = this.#options.lifecycle === null ? undefined : (this.#options.lifecycle ?? pageLifecycle());
    this.#unlisten =
      lifecycle?.listen({ hide: () => this.#hide(), show: () => this.#show(), online: () => this.#wake() }) ??
      (() => undefined);
    void this.#restore().finally(() => {
      if (!this.#isStopped) {
        this.connection.start();
      }
    });
  }

  /** Ends; with `forget` what is kept is removed. */
  stop(forget: boolean): void {
    this.#isStopped = true;
    this.#unlisten();
    this.#save();
    this.connection.stop();
    this.emitter.close();
    this.#socketWrites.ended();
    this.flusher.stop();
    this.puller.stop();
    this.follower.setPolling(false);
    this.#expireAlarm.set(undefined);
    for (const key of forget && this.#keys !== undefined ? Object.values(this.#keys) : []) {
      this.keeper.update(key, () => null);
    }
  }

  // --- what was kept ---------------------------------------------------------------------------------------------

  async #restore(): Promise<void> {
    if (this.#tokens.uid === undefined) {
      // Whose picture it is, only the token says; if there is none now, the connection asks again.
      await this.#tokens.get().catch(() => undefined);
    }
    await this.#takeKept();
  }

  async #takeKept(): Promise<void> {
    const { uid } = this.#tokens;
    if (uid === undefined || this.#keys !== undefined) {
      return;
    }
    const prefix = `readmark/${STORAGE_VERSION}/${this.#base}/${uid}`;
    this.#keys = { picture: `${prefix}/picture`, queue: `${prefix}/queue` };
    const saved = decodePicture(parseJson((await this.keeper.load(this.#keys.picture)) ?? ""));
    if (saved !== undefined) {
      this.picture.restore(saved);
    }
    for (const [id, { read, clear, acks }] of await this.flusher.keepAt(this.#keys.queue)) {
      for (const seq of [...acks.keys(), read, clear]) {
        if (seq !== undefined) {
          this.picture.raise(id, seq, seq === read || seq === clear);
        }
      }
    }
    this.#tell();
  }

  #save(): void {
    this.#saveAlarm.set(undefined);
    if (this.#keys !== undefined && this.picture.picture.asOfMs > 0) {
      const text = encodePicture(this.picture.save(SAVED_CONVERSATIONS_MAX));
      this.keeper.update(this.#keys.picture, () => text);
    }
  }

  // --- what the page does ----------------------------------------------------------------------------------------

  #hide(): void {
    this.#setHidden(true);
    this.flusher.hide();
    this.#save();
  }

  #show(): void {
    this.#setHidden(false);
    this.#wake();
  }

  #setHidden(hidden: boolean): void {
    this.#isHidden = hidden;
    this.puller.setHidden(hidden);
    this.#setPolling(this.connection.status);
  }

  #wake(): void {
    this.connection.wake();
    this.flusher.kick();
    this.puller.kick();
  }

  // --- what the server says --------------------------------------------------------------------------------------

  #status(status: Status): void {
    const wasLive = this.#wasLive;
    this.#wasLive = status.state === "live";
    if (status.state === "live") {
      this.counters.connections += 1;
      this.picture.setStale(false);
      this.flusher.kick();
      this.puller.kick();
      void this.#takeKept();
    } else {
      this.#isFollowed &&= !wasLive;
      this.picture.setStale(!this.#isFollowed);
      this.#socketWrites.ended();
    }
    this.#setPolling(status);
    this.emitter.emit("status", status);
    this.#tell();
  }

  #setPolling({ state }: Status): void {
    this.follower.setPolling(!this.#isHidden && (state === "waiting" || state === "connecting"));
  }

  #frame(frame: Frame): boolean {
    switch (frame.type) {
      case "snapshot":
        this.#told += 1;
        this.#snapshot(frame.snapshot, frame.token);
        return true;
      case "ready":
        this.#told += 1;
        return this.picture.confirm(wallMs());
      case "entries":
        this.#told += 1;
        if (!this.#entries(frame.entries, frame.token)) {
          this.connection.followAgain();
        }
        return true;
      case "pong":
        return true;
      case "ok":
      case "error":
        return this.#socketWrites.answered(frame);
    }
  }

  #snapshot(snapshot: Snapshot, token: string): void {
    this.counters.snapshots += 1;
    this.#lostAt = undefined;
    this.picture.replace(snapshot, token, wallMs());
    this.tallies.askAgain(nowMs());
    this.puller.plan();
    this.#tell();
  }

  /** False when something is missing: the stream is to be followed again, from a snapshot if that was tried already. */
  #entries(entries: readonly (Entry | undefined)[], token: string): boolean {
    const followed = this.picture.follow(entries, token, wallMs());
    this.counters.oldEntries += followed.old;
    this.counters.badEntries += followed.bad;
    for (const read of followed.reads) {
      this.emitter.emit("conversationRead", read);
    }
    followed.receipts.forEach((receipt) => this.#receipt(receipt));
    this.puller.plan();
    this.#tell();
    if (followed.isLost) {
      this.counters.gaps += 1;
      const isAgain = this.#lostAt === this.picture.token;
      this.#lostAt = this.picture.token;
      if (isAgain) {
        this.picture.forgetToken();
      }
    }
    return !followed.isLost;
  }

  #receipt(receipt: Receipt): void {
    if (this.tallies.pushed(receipt, nowMs())) {
      this.emitter.emit("receipt", receipt);
    }
  }

  #followed(error: unknown): void {
    if (this.#isStopped) {
      return;
    }
    this.#isFollowed = error === undefined;
    this.picture.setStale(!this.#isFollowed && !this.connection.isLive);
    if (this.#tokens.isExhausted) {
      this.connection.refused("the token is refused, and there is no other");
    } else if (error === undefined) {
      this.flusher.kick();
    }
    void this.#takeKept();
    this.#tell();
  }

  /** Tells the picture once, however much changed at a time. */
  #tell(): void {
    if (this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      if (this.#isStopped) {
        return;
      }
      const changed = this.picture.takeChanged();
      if (changed !== undefined) {
        this.emitter.emit("unread", this.picture.picture, changed);
        this.#saveAlarm.soon(nowMs() + SAVE_MS);
      }
    });
  }

  // --- what the user does ----------------------------------------------------------------------------------------

  /** Takes a mark or acks, shows what follows from it, and sends it soon. */
  write(kind: WriteKind, id: string, acks: readonly AckOf[]): void {
    const takesFlag = kind === "read" && (this.picture.row(id)?.markedUnread ?? false);
    const news = kind === "clear" || takesFlag ? acks : acks.filter(({ seq }) => !this.#claimed.covers(id, seq));
    if (news.length === 0) {
      return;
    }
    for (const { seq } of news) {
      this.picture.raise(id, seq, kind !== "ack");
    }
    this.flusher.add(kind, id, news);
    this.#tell();
  }

  /** The user has set a flag by hand. */
  showFlag(id: string): void {
    this.picture.showFlag(id);
    this.#tell();
  }

  async #send(request: WriteRequest, outlivesPage: boolean): Promise<unknown> {
    this.counters.writes += 1;
    const overSocket = outlivesPage ? undefined : this.#socketWrites.send(request);
    const body = await (overSocket ?? this.http.send({ ...requests.writeRequest(request), keepalive: outlivesPage }));
    this.counters.accepted += 1;
    return body;
  }

  #settled(request: WriteRequest, { accepted }: Settled): void {
    const { conversationId: id, kind } = request;
    if (kind === "read" && accepted !== "0") {
      this.#claimed.raise(id, accepted);
    }
    this.picture.answered(id, this.#queue.highest(id), accepted, nowMs());
    this.#expire();
  }

  #expire(): void {
    this.picture.expire(nowMs());
    if (this.picture.hasOwnMarks && !this.#isStopped) {
      this.#expireAlarm.soon(nowMs() + OWN_MARK_MS);
    }
    this.#tell();
  }
}

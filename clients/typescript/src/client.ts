import { CLOSE_FLUSH_MS, QUERY_MESSAGES_MAX, WATCHED_MAX } from "./bounds.js";
import { ReadmarkError } from "./errors.js";
import { after, nowMs } from "./io/clock.js";
import { Session } from "./io/session.js";
import type { Options, WebSocketConstructor } from "./options.js";
import { conversationIdOf, seqOf, uidOf, type SeqInput } from "./state/decimal.js";
import type { AckOf } from "./state/write-queue.js";
import type {
  Conversation,
  Counters,
  Events,
  MembersPage,
  MessageRef,
  Picture,
  Receipt,
  ReceiptAnswer,
  Status,
} from "./types.js";
import { decodeMembersPage, decodeReceiptAnswers } from "./wire/decode.js";
import * as requests from "./wire/requests.js";

/** A message, as calls take it. */
export interface MessageInput {
  readonly conversationId: string;
  readonly seq: SeqInput;
}

/** A message that the user has read, as `ack` takes it. */
export interface AckInput extends MessageInput {
  /** Who sent it. It may be left out, and must be right. */
  readonly senderUid?: SeqInput;
}

/** Which page of members, and how long: 1 to 1,000 names, 100 where nothing is said. */
export interface PageInput {
  readonly limit?: number;
  readonly cursor?: string;
}

/** How to close. */
export interface CloseOptions {
  /** Also removes what is kept in the storage, as at a logout: what was not sent yet is then lost. */
  readonly forget?: boolean;
}

function refOf(message: MessageInput): MessageRef {
  return { conversationId: conversationIdOf(message.conversationId), seq: seqOf(message.seq) };
}

function anything(): true {
  return true;
}

/** The client of one user on one device. */
export class Client {
  readonly #session: Session;
  #isClosed = false;

  /** Use `connect`. */
  constructor(options: Options, webSocket: WebSocketConstructor | undefined) {
    this.#session = new Session(options, webSocket);
    this.#session.start();
  }

  /** Calls the listener at each event; the function that is answered ends that. */
  on<K extends keyof Events>(event: K, listener: Events[K]): () => void {
    return this.#session.emitter.on(event, listener);
  }

  /** How the connection is. */
  get status(): Status {
    return this.#session.connection.status;
  }

  /** What is unread. */
  get picture(): Picture {
    return this.#session.picture.picture;
  }

  /** What is unread in one conversation; undefined for one that the user is not in, or before anything is known. */
  conversation(conversationId: string): Conversation | undefined {
    return this.picture.conversations.get(conversationId);
  }

  /** What this client has seen so far. */
  get counters(): Counters {
    return { ...this.#session.counters, storageFailures: this.#session.keeper.failures };
  }

  /** The user has read a conversation up to a message. It is sent within 200 ms, or as soon as there is a server. */
  markRead(conversationId: string, upTo: SeqInput): void {
    this.#needOpen();
    this.#session.write("read", conversationIdOf(conversationId), [{ seq: seqOf(upTo) }]);
  }

  /** The user has read these messages, and says nothing of those before them. Sent as marks are. */
  ack(messages: readonly AckInput[]): void {
    this.#needOpen();
    const byConversation = new Map<string, AckOf[]>();
    for (const message of messages) {
      const { conversationId, seq } = refOf(message);
      const acks = byConversation.get(conversationId) ?? [];
      acks.push(message.senderUid === undefined ? { seq } : { seq, senderUid: uidOf(message.senderUid) });
      byConversation.set(conversationId, acks);
    }
    for (const [conversationId, acks] of byConversation) {
      this.#session.write("ack", conversationId, acks);
    }
  }

  /**
   * Nothing in a conversation up to a message is unread any more, and no receipts are made: for "delete this chat from
   * my list". Without a seq: up to the newest message known here; such a clear is sent as marks are. Where none is
   * known here, up to the newest one that the server knows, in a call of its own.
   *
   * @throws ReadmarkError when that call fails.
   */
  async clear(conversationId: string, upTo?: SeqInput): Promise<void> {
    this.#needOpen();
    const id = conversationIdOf(conversationId);
    const headSeq = this.#session.picture.row(id)?.headSeq ?? "0";
    const seq = upTo === undefined ? headSeq : seqOf(upTo);
    if (seq === "0") {
      await this.#session.http.call(requests.clearAll(id), anything);
    } else {
      this.#session.write("clear", id, [{ seq }]);
    }
  }

  /**
   * Marks a conversation as unread by hand, or takes that back. A later read or clear takes it away, too.
   *
   * @throws ReadmarkError when the server does not take it.
   */
  async unreadMark(conversationId: string, marked: boolean): Promise<void> {
    this.#needOpen();
    const id = conversationIdOf(conversationId);
    // A mark made before must not arrive after this, where it would take the flag away.
    await this.#session.flusher.flush();
    await this.#session.http.call(requests.unreadMark(id, marked), anything);
    this.#session.showFlag(id);
  }

  /**
   * Leaves a conversation out of the totals, or takes it in again.
   *
   * @throws ReadmarkError when the server does not take it.
   */
  async mute(conversationId: string, muted: boolean): Promise<void> {
    this.#needOpen();
    await this.#session.http.call(requests.mute(conversationIdOf(conversationId), muted), anything);
  }

  /**
   * Switches the user's receipts: off, nobody sees what the user reads from then on.
   *
   * @throws ReadmarkError when the server does not take it.
   */
  async settings(settings: { readonly receipts: boolean }): Promise<void> {
    this.#needOpen();
    await this.#session.http.call(requests.settings(settings.receipts), anything);
  }

  /**
   * These messages' tallies are on screen: they are asked for now and kept right until the function that is answered
   * is called. `receipt` tells the changes.
   *
   * @throws RangeError when more than 1,000 messages are watched.
   */
  watch(messages: readonly MessageInput[]): () => void {
    this.#needOpen();
    const refs = messages.map(refOf);
    const { tallies, puller } = this.#session;
    if (tallies.watchedCount + refs.length > WATCHED_MAX) {
      throw new RangeError(`at most ${WATCHED_MAX} messages can be watched: watch those on screen`);
    }
    for (const ref of refs) {
      tallies.watch(ref, nowMs());
    }
    puller.plan();
    let isOver = false;
    return () => {
      for (const ref of isOver ? [] : refs) {
        tallies.unwatch(ref);
      }
      isOver = true;
      puller.plan();
    };
  }

  /** The newest tally known of a message. */
  receipt(conversationId: string, seq: SeqInput): Receipt | undefined {
    return this.#session.tallies.get(refOf({ conversationId, seq }));
  }

  /**
   * Asks for tallies, in the order of the messages, any number of them.
   *
   * @throws ReadmarkError when the server does not answer.
   */
  async receipts(messages: readonly MessageInput[]): Promise<ReceiptAnswer[]> {
    this.#needOpen();
    const refs = messages.map(refOf);
    const answers: ReceiptAnswer[] = [];
    for (let from = 0; from < refs.length; from += QUERY_MESSAGES_MAX) {
      const query = requests.receiptsQuery(refs.slice(from, from + QUERY_MESSAGES_MAX));
      answers.push(...(await this.#session.http.call(query, decodeReceiptAnswers)));
    }
    return answers;
  }

  /**
   * A page of those who have read a message, ascending by uid. `next` is the cursor of the next page.
   *
   * @throws ReadmarkError, with code `names-for-sender-only` or `receipts-count-only` where names are not to be seen.
   */
  readers(message: MessageInput, page: PageInput = {}): Promise<MembersPage> {
    this.#needOpen();
    return this.#session.http.call(requests.members("readers", refOf(message), page), decodeMembersPage);
  }

  /** A page of those who have not read a message; as `readers`. */
  unreadMembers(message: MessageInput, page: PageInput = {}): Promise<MembersPage> {
    this.#needOpen();
    return this.#session.http.call(requests.members("unread-members", refOf(message), page), decodeMembersPage);
  }

  /**
   * Brings the picture up to date by HTTP, at most every 5 s, as for "pull to refresh". While the connection is live
   * there is nothing to do.
   *
   * @throws ReadmarkError when the server does not answer.
   */
  async refresh(): Promise<void> {
    this.#needOpen();
    this.#session.connection.wake();
    await this.#session.follower.refresh();
  }

  /** Sends now what waits; answers in how many conversations something still waits, for a server that is away. */
  flush(): Promise<number> {
    this.#needOpen();
    return this.#session.flusher.flush();
  }

  /** Sends what waits, 2 s at most, and ends. What was not sent stays in the storage for the next time. */
  async close(options: CloseOptions = {}): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    let timer;
    const late = new Promise<void>((resolve) => {
      timer = after(CLOSE_FLUSH_MS, resolve);
    });
    await Promise.race([this.#session.flusher.flush(), late]);
    globalThis.clearTimeout(timer);
    this.#session.stop(options.forget ?? false);
  }

  #needOpen(): void {
    if (this.#isClosed) {
      throw new ReadmarkError({ status: 0, code: "closed", detail: "this client was closed" });
    }
  }
}

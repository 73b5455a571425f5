import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex } from "node:stream";
import type { WebSocketLike } from "../options.js";
import { encodeFrame, FrameError, FrameReader, OPCODE, type WireFrame } from "./frame-codec.js";

/** Longest message that is taken: a snapshot of 10,000 conversations has 2 MB. */
const MESSAGE_BYTES_MAX = 32 * 1_024 * 1_024;

/** How long the other side may take to close after it was asked to. */
const CLOSE_MS = 2_000;

/** What RFC 6455 has both sides hash. */
const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Ended without a close frame. */
const ABNORMAL = 1006;
const NO_CODE = 1005;

/** A WebSocket client over `node:http`, for Node before 22: text messages, as much of the browser's as is needed. */
export class NodeWebSocket implements WebSocketLike {
  onopen: ((event: never) => unknown) | null = null;
  onmessage: ((event: { readonly data: unknown }) => unknown) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => unknown) | null = null;
  onerror: ((event: never) => unknown) | null = null;
  protocol = "";

  readonly #request: ClientRequest;
  readonly #reader = new FrameReader(MESSAGE_BYTES_MAX);
  #socket: Duplex | undefined;
  #parts: Buffer[] = [];
  #partsOpcode: number = OPCODE.text;
  #partsBytes = 0;
  #isClosing = false;
  #isClosed = false;
  #closeTimer: NodeJS.Timeout | undefined;

  /** Begins to connect. */
  constructor(url: string, protocols: readonly string[] = []) {
    const target = new URL(url);
    const key = randomBytes(16).toString("base64");
    const start = target.protocol === "wss:" ? httpsRequest : httpRequest;
    target.protocol = target.protocol === "wss:" ? "https:" : "http:";
    this.#request = start(target, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
        ...(protocols.length === 0 ? {} : { "sec-websocket-protocol": protocols.join(", ") }),
      },
    });
    this.#request.on("upgrade", (response, socket, head) => this.#opened(key, response, socket, head));
    this.#request.on("response", (response) => {
      response.destroy();
      this.#end(ABNORMAL, `the server answered ${response.statusCode ?? 0}`);
    });
    this.#request.on("error", (error) => this.#end(ABNORMAL, error.message));
    this.#request.end();
  }

  #opened(key: string, response: IncomingMessage, socket: Duplex, head: Buffer): void {
    const expected = createHash("sha1")
      .update(key + MAGIC)
      .digest("base64");
    socket.on("error", () => this.#end(ABNORMAL, "the connection broke"));
    if (this.#isClosed || response.headers["sec-websocket-accept"] !== expected) {
      socket.destroy();
      this.#end(ABNORMAL, "the server speaks no WebSocket");
      return;
    }
    this.#socket = socket;
    this.protocol = response.headers["sec-websocket-protocol"] ?? "";
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("end", () => this.#end(ABNORMAL, "the connection broke"));
    socket.on("close", () => this.#end(ABNORMAL, "the connection broke"));
    this.#tell(this.onopen);
    if (head.length > 0) {
      this.#read(head);
    }
  }

  /** Sends a text message; one that comes too early or too late is lost. */
  send(text: string): void {
    if (this.#isClosing) {
      return;
    }
    this.#socket?.write(encodeFrame(OPCODE.text, Buffer.from(text)));
  }

  /** Asks the other side to close, and does so itself when that takes too long. */
  close(code = 1000): void {
    if (this.#socket === undefined) {
      this.#end(ABNORMAL, "closed before it was open");
      return;
    }
    this.#closeWith(code);
  }

  #closeWith(code: number): void {
    if (this.#isClosing) {
      return;
    }
    this.#isClosing = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#socket?.write(encodeFrame(OPCODE.close, payload));
    this.#closeTimer = setTimeout(() => this.#end(ABNORMAL, "the other side did not close"), CLOSE_MS);
  }

  #read(bytes: Buffer): void {
    this.#reader.push(bytes);
    try {
      for (let frame = this.#reader.next(); frame !== undefined && !this.#isClosed; frame = this.#reader.next()) {
        this.#take(frame);
      }
    } catch (error) {
      this.#closeWith(error instanceof FrameError ? error.closeCode : 1002);
      this.#end(ABNORMAL, String(error));
    }
  }

  #take(frame: WireFrame): void {
    switch (frame.opcode) {
      case OPCODE.ping:
        this.#socket?.write(encodeFrame(OPCODE.pong, frame.payload));
        return;
      case OPCODE.pong:
        return;
      case OPCODE.close: {
        const code = frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : NO_CODE;
        this.#closeWith(code === NO_CODE ? 1000 : code);
        this.#end(code, frame.payload.subarray(2).toString());
        return;
      }
      case OPCODE.text:
      case OPCODE.binary:
      case OPCODE.continuation:
        this.#takePart(frame);
        return;
      default:
        throw new FrameError(1002, `a frame of the unknown kind ${frame.opcode}`);
    }
  }

  #takePart(frame: WireFrame): void {
    this.#partsOpcode = frame.opcode === OPCODE.continuation ? this.#partsOpcode : frame.opcode;
    this.#partsBytes += frame.payload.length;
    if (this.#partsBytes > MESSAGE_BYTES_MAX) {
      throw new FrameError(1009, "a message that is too long");
    }
    this.#parts.push(frame.payload);
    if (!frame.isFinal) {
      return;
    }
    const message = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partsBytes = 0;
    this.onmessage?.({ data: this.#partsOpcode === OPCODE.text ? message.toString("utf8") : message });
  }

  #end(code: number, reason: string): void {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#isClosing = true;
    clearTimeout(this.#closeTimer);
    this.#request.destroy();
    this.#leave(code);
    const tell = (): unknown => this.onclose?.({ code, reason });
    queueMicrotask(tell);
  }

  /** After a close frame what was written still goes out, but not for long. */
  #leave(code: number): void {
    const socket = this.#socket;
    if (socket === undefined || code === ABNORMAL) {
      socket?.destroy();
      return;
    }
    socket.end(() => socket.destroy());
    setTimeout(() => socket.destroy(), CLOSE_MS).unref();
  }

  #tell(listener: ((event: never) => unknown) | null): void {
    listener?.({} as never);
  }
}

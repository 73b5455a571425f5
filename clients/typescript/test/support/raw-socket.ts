import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { OPCODE } from "../../src/node/frame-codec.js";

/** A frame as a server sends it: not masked. */
export function serverFrame(opcode: number, payload: Buffer, first = 0x80 | opcode): Buffer {
  const extra = payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + extra);
  head[0] = first;
  head[1] = extra === 0 ? payload.length : extra === 2 ? 126 : 127;
  if (extra === 2) {
    head.writeUInt16BE(payload.length, 2);
  } else if (extra === 8) {
    head.writeBigUInt64BE(BigInt(payload.length), 2);
  }
  return Buffer.concat([head, payload]);
}

/** One connection of a client. */
export class RawConnection {
  /** Messages that the client has sent, read as JSON. */
  readonly received: { readonly type?: string; readonly token?: string | null }[] = [];
  readonly protocols: string;
  closedWith: number | undefined;
  isOver = false;
  readonly #socket: Duplex;
  readonly #unmask = new Unmasker();

  constructor(socket: Duplex, protocols: string) {
    this.#socket = socket;
    this.protocols = protocols;
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("error", () => undefined);
    socket.on("close", () => (this.isOver = true));
  }

  #read(bytes: Buffer): void {
    for (const { opcode, payload } of this.#unmask.push(bytes)) {
      if (opcode === OPCODE.text) {
        this.received.push(JSON.parse(payload.toString()) as { type?: string });
      } else if (opcode === OPCODE.close) {
        this.closedWith = payload.readUInt16BE(0);
        this.#socket.end();
      }
    }
  }

  /** What the client said in hello, once it did. */
  get hello(): { readonly token?: string | null } | undefined {
    return this.received.find((frame) => frame.type === "hello");
  }

  /** Any bytes. */
  raw(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** A text message. */
  text(text: string): void {
    this.raw(serverFrame(OPCODE.text, Buffer.from(text)));
  }

  /** A frame of the protocol. */
  say(frame: unknown): void {
    this.text(JSON.stringify(frame));
  }

  /** Closes with a code. */
  close(code: number): void {
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.raw(serverFrame(OPCODE.close, payload));
    this.#socket.end();
  }
}

/** Clients mask what they send. */
class Unmasker {
  #bytes: Buffer = Buffer.alloc(0);

  push(bytes: Buffer): { opcode: number; payload: Buffer }[] {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const frames: { opcode: number; payload: Buffer }[] = [];
    for (;;) {
      const short = (this.#bytes[1] ?? 0) & 0x7f;
      const at = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#bytes.length < at + 4) {
        return frames;
      }
      const length =
        short < 126 ? short : short === 126 ? this.#bytes.readUInt16BE(2) : Number(this.#bytes.readBigUInt64BE(2));
      if (this.#bytes.length < at + 4 + length) {
        return frames;
      }
      const mask = this.#bytes.subarray(at, at + 4);
      const payload = Buffer.from(
        this.#bytes.subarray(at + 4, at + 4 + length).map((byte, i) => byte ^ (mask[i % 4] ?? 0)),
      );
      frames.push({ opcode: (this.#bytes[0] ?? 0) & 0x0f, payload });
      this.#bytes = this.#bytes.subarray(at + 4 + length);
    }
  }
}

/** Accepts WebSockets and leaves every word to the test: for what a real server never does. */
export class RawServer {
  readonly connections: RawConnection[] = [];
  /** Answers other requests; 503 where nothing is set. */
  onRequest: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => {
    response.writeHead(503, { "retry-after": "1" }).end();
  };
  readonly #server: Server;
  #port = 0;

  private constructor() {
    this.#server = createServer((request, response) => this.onRequest(request, response));
    this.#server.on("upgrade", (request, socket) => {
      const key = request.headers["sec-websocket-key"] ?? "";
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        [
          "HTTP/1.1 101 Switching Protocols",
          "upgrade: websocket",
          "connection: Upgrade",
          `sec-websocket-accept: ${accept}`,
          "sec-websocket-protocol: readmark.v1",
          "\r\n",
        ].join("\r\n"),
      );
      this.connections.push(new RawConnection(socket, request.headers["sec-websocket-protocol"] ?? ""));
    });
  }

  /** Starts one. */
  static async start(): Promise<RawServer> {
    const server = new RawServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    const address = server.#server.address();
    server.#port = typeof address === "object" && address !== null ? address.port : 0;
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Ends it. */
  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    for (const connection of this.connections) {
      connection.close(1001);
    }
  }
}

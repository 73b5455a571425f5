import { randomBytes } from "node:crypto";

// Frames as RFC 6455 describes them, without extensions.

/** What a frame is. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** One frame. */
export interface WireFrame {
  readonly opcode: number;
  readonly isFinal: boolean;
  readonly payload: Buffer;
}

/** What the other side must not send. */
export class FrameError extends Error {
  /** The code to close with. */
  readonly closeCode: number;

  constructor(closeCode: number, detail: string) {
    super(detail);
    this.closeCode = closeCode;
  }
}

const FINAL = 0x80;
const MASKED = 0x80;
const RESERVED = 0x70;

/** A frame as a client sends it: masked. */
export function encodeFrame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const extra = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const frame = Buffer.alloc(2 + extra + 4 + length);
  frame[0] = FINAL | opcode;
  if (extra === 0) {
    frame[1] = MASKED | length;
  } else if (extra === 2) {
    frame[1] = MASKED | 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = MASKED | 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  const mask = randomBytes(4);
  mask.copy(frame, 2 + extra);
  const from = 2 + extra + 4;
  for (let i = 0; i < length; i += 1) {
    frame[from + i] = (payload[i] ?? 0) ^ (mask[i % 4] ?? 0);
  }
  return frame;
}

/** Takes bytes as they come, gives frames as they are whole. */
export class FrameReader {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #payloadMax: number;

  constructor(payloadMax: number) {
    this.#payloadMax = payloadMax;
  }

  /** More bytes. */
  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  /**
   * The next frame; undefined until it is whole.
   *
   * @throws FrameError when what came is none that a server may send.
   */
  next(): WireFrame | undefined {
    const bytes = this.#bytes;
    const [first, second] = [bytes[0], bytes[1]];
    if (first === undefined || second === undefined) {
      return undefined;
    }
    if ((first & RESERVED) !== 0 || (second & MASKED) !== 0) {
      throw new FrameError(1002, "a frame with reserved bits, or a masked one");
    }
    const short = second & 0x7f;
    const extra = short < 126 ? 0 : short === 126 ? 2 : 8;
    if (bytes.length < 2 + extra) {
      return undefined;
    }
    const length = extra === 0 ? short : extra === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (length > this.#payloadMax) {
      throw new FrameError(1009, "a frame that is too long");
    }
    const end = 2 + extra + length;
    if (bytes.length < end) {
      return undefined;
    }
    this.#bytes = bytes.subarray(end);
    return { opcode: first & 0x0f, isFinal: (first & FINAL) !== 0, payload: bytes.subarray(2 + extra, end) };
  }
}

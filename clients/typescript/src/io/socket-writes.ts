import { SOCKET_ANSWER_MS } from "../bounds.js";
import { ReadmarkError } from "../errors.js";
import type { WriteRequest } from "../state/write-queue.js";
import type { Frame } from "../wire/frames.js";
import { writeFrame } from "../wire/requests.js";
import { after, type Timer } from "./clock.js";

interface Awaited {
  readonly resolve: (body: unknown) => void;
  readonly reject: (error: ReadmarkError) => void;
  readonly deadline: Timer;
}

/** Acks and marks sent over the connection, until they are answered there. */
export class SocketWrites {
  readonly #write: (frame: string) => boolean;
  readonly #awaited = new Map<string, Awaited>();
  #count = 0;
  /** An answer did not come: until the next connection requests go by HTTP. */
  #isMute = false;

  constructor(write: (frame: string) => boolean) {
    this.#write = write;
  }

  /** Sends a request and answers its answer; undefined when it can't go this way. */
  send(request: WriteRequest): Promise<unknown> | undefined {
    const id = String((this.#count += 1));
    const frame = this.#isMute ? undefined : writeFrame(request, id);
    if (frame === undefined || !this.#write(frame)) {
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const deadline = after(SOCKET_ANSWER_MS, () => {
        this.#isMute = true;
        this.#fail(id, "timeout", "it was not answered over the connection");
      });
      this.#awaited.set(id, { resolve, reject, deadline });
    });
  }

  /** An answer came; false when nothing waits for it. */
  answered(frame: Frame & { readonly type: "ok" | "error" }): boolean {
    const awaited = this.#awaited.get(frame.id);
    if (awaited === undefined) {
      return false;
    }
    this.#awaited.delete(frame.id);
    globalThis.clearTimeout(awaited.deadline);
    if (frame.type === "ok") {
      awaited.resolve(frame.body);
    } else {
      awaited.reject(frame.error);
    }
    return true;
  }

  /** The connection ended: no answer comes any more. */
  ended(): void {
    this.#isMute = false;
    for (const id of [...this.#awaited.keys()]) {
      this.#fail(id, "network", "the connection ended before the answer");
    }
  }

  #fail(id: string, code: string, detail: string): void {
    const awaited = this.#awaited.get(id);
    this.#awaited.delete(id);
    globalThis.clearTimeout(awaited?.deadline);
    awaited?.reject(new ReadmarkError({ status: 0, code, detail }));
  }
}

import { QUEUE_CONVERSATIONS_MAX } from "../bounds.js";
import { compareSeq, maxSeq, type Seq } from "./decimal.js";

/**
 * How far the server has accepted "read up to" from here: what lies below needs not be sent again, now or ever. It is
 * not the same as the watermark, which single acks raise too, and which then leaves messages below without receipts.
 */
export class Claimed {
  /** Least recently raised first. */
  readonly #seqs = new Map<string, Seq>();

  /** The server has accepted a mark. */
  raise(conversationId: string, seq: Seq): void {
    const raised = maxSeq(this.#seqs.get(conversationId) ?? "0", seq);
    this.#seqs.delete(conversationId);
    this.#seqs.set(conversationId, raised);
    for (const oldest of this.#seqs.keys()) {
      if (this.#seqs.size <= QUEUE_CONVERSATIONS_MAX) {
        return;
      }
      this.#seqs.delete(oldest);
    }
  }

  /** Does an accepted mark cover this message? */
  covers(conversationId: string, seq: Seq): boolean {
    return compareSeq(seq, this.#seqs.get(conversationId) ?? "0") <= 0;
  }
}

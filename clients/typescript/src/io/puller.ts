import { CALL_PAUSE_MS, GATHER_MS, RECONNECT_CAP_MS } from "../bounds.js";
import { backoff } from "../state/backoff.js";
import type { Tallies } from "../state/tallies.js";
import type { MessageRef, Receipt, ReceiptAnswer } from "../types.js";
import { Alarm, nowMs } from "./clock.js";

/** What asks for tallies. */
export interface PullerParts {
  readonly tallies: Tallies;
  /** Asks for up to 200; throws when there is no answer. */
  readonly ask: (messages: readonly MessageRef[]) => Promise<readonly ReceiptAnswer[]>;
  readonly onReceipt: (receipt: Receipt) => void;
}

/** Asks by HTTP for the tallies that are due, many at once, one request at a time. Not while the page is hidden. */
export class Puller {
  readonly #parts: PullerParts;
  readonly #alarm = new Alarm(() => void this.#pull());
  #isHidden = false;
  #isStopped = false;
  #isPulling = false;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(parts: PullerParts) {
    this.#parts = parts;
  }

  /** Something may have become due. */
  plan(): void {
    const dueMs = this.#parts.tallies.nextDueMs();
    const isWaiting = dueMs === undefined || this.#isHidden || this.#isStopped || this.#isPulling;
    this.#alarm.set(isWaiting ? undefined : Math.max(dueMs, this.#pausedUntilMs, nowMs() + GATHER_MS));
  }

  /** The server is back: what failed is asked for again. */
  kick(): void {
    this.#pausedUntilMs = 0;
    this.#failures = 0;
    this.plan();
  }

  /** The page hides or is seen again. */
  setHidden(hidden: boolean): void {
    this.#isHidden = hidden;
    this.plan();
  }

  /** Asks for nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.plan();
  }

  async #pull(): Promise<void> {
    const { tallies } = this.#parts;
    const asked = tallies.takeDue(nowMs());
    if (asked.length > 0) {
      this.#isPulling = true;
      try {
        const answers = await this.#parts.ask(asked);
        this.#failures = 0;
        for (const receipt of tallies.answered(asked, answers, nowMs())) {
          this.#parts.onReceipt(receipt);
        }
      } catch {
        tallies.failed(asked, nowMs());
        this.#pausedUntilMs = nowMs() + backoff(this.#failures, CALL_PAUSE_MS, RECONNECT_CAP_MS, Math.random());
        this.#failures += 1;
      }
      this.#isPulling = false;
    }
    this.plan();
  }
}

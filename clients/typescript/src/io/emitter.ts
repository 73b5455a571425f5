import type { Events } from "../types.js";

type Listeners = { [K in keyof Events]: Set<Events[K]> };

/** Tells listeners. One that throws stops nobody else: its error is thrown where nothing waits. */
export class Emitter {
  readonly #listeners: Listeners = {
    unread: new Set(),
    receipt: new Set(),
    conversationRead: new Set(),
    status: new Set(),
    dropped: new Set(),
  };

  /** Adds a listener; the function that is answered takes it away again. */
  on<K extends keyof Events>(event: K, listener: Events[K]): () => void {
    this.#listeners[event].add(listener);
    return () => {
      this.#listeners[event].delete(listener);
    };
  }

  /** Forgets all listeners. */
  close(): void {
    for (const listeners of Object.values(this.#listeners)) {
      listeners.clear();
    }
  }

  /** Tells all listeners of an event. */
  emit<K extends keyof Events>(event: K, ...values: Parameters<Events[K]>): void {
    for (const listener of [...this.#listeners[event]]) {
      try {
        (listener as (...values: Parameters<Events[K]>) => void)(...values);
      } catch (error) {
        globalThis.setTimeout(() => {
          throw error;
        }, 0);
      }
    }
  }
}

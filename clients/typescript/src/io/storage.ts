import { SAVED_CHARS_MAX } from "../bounds.js";

/** Where texts are kept by key: `localStorage` is one, and so is any store that answers with promises. */
export interface KeyValueStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, text: string): void | Promise<void>;
  removeItem(key: string): void | Promise<void>;
}

/** Keeps nothing beyond its own life. */
export function memoryStorage(): KeyValueStorage {
  const texts = new Map<string, string>();
  return {
    getItem: (key) => texts.get(key) ?? null,
    setItem: (key, text) => void texts.set(key, text),
    removeItem: (key) => void texts.delete(key),
  };
}

/** The browser's, where there is one and it may be used; else memory. */
export function defaultStorage(): KeyValueStorage {
  try {
    const found: unknown = (globalThis as { readonly localStorage?: unknown }).localStorage;
    return typeof found === "object" && found !== null ? (found as KeyValueStorage) : memoryStorage();
  } catch {
    return memoryStorage();
  }
}

/** How a text changes: null for none. */
export type Change = (text: string | null) => string | null;

/**
 * A storage whose faults (full, forbidden, broken) are counted and stop nothing: what it should have kept is then in
 * memory only. A storage that answers at once is used at once, so that it also works while a page goes away; one
 * that answers with promises is used in order, one change after the other.
 */
export class Keeper {
  failures = 0;
  readonly #storage: KeyValueStorage;
  #last: Promise<void> | undefined;

  constructor(storage: KeyValueStorage) {
    this.#storage = storage;
  }

  /** Reads a text; null when there is none or it can't be had. */
  async load(key: string): Promise<string | null> {
    await this.#last;
    try {
      return usable(await this.#storage.getItem(key));
    } catch {
      this.failures += 1;
      return null;
    }
  }

  /** Changes a text by what it is now. */
  update(key: string, change: Change): void {
    if (this.#last !== undefined) {
      this.#last = this.#last.then(() => this.#updateLater(key, change, () => this.#storage.getItem(key)));
      return;
    }
    try {
      const found = this.#storage.getItem(key);
      if (typeof found === "object" && found !== null) {
        this.#last = this.#updateLater(key, change, () => found);
      } else {
        Promise.resolve(this.#write(key, change(usable(found)))).catch(() => (this.failures += 1));
      }
    } catch {
      this.failures += 1;
    }
  }

  async #updateLater(key: string, change: Change, find: () => string | null | Promise<string | null>): Promise<void> {
    try {
      await this.#write(key, change(usable(await find())));
    } catch {
      this.failures += 1;
    }
  }

  #write(key: string, text: string | null): void | Promise<void> {
    return text === null ? this.#storage.removeItem(key) : this.#storage.setItem(key, text);
  }
}

function usable(text: string | null): string | null {
  return typeof text === "string" && text.length <= SAVED_CHARS_MAX ? text : null;
}

import { TOKEN_CLOCK_MS, TOKEN_EARLY_MS, TOKEN_MS, TOKEN_PAUSE_MS } from "../bounds.js";
import { ReadmarkError } from "../errors.js";
import type { TokenReason, TokenSource } from "../options.js";
import { fieldsOf, parseJson } from "../wire/decode.js";
import { nowMs, pause, wallMs, within } from "./clock.js";

interface Held {
  readonly token: string;
  readonly expiresAtMs: number | undefined;
  readonly obtainedAtMs: number;
  isRefused: boolean;
}

interface Claims {
  readonly uid: string | undefined;
  readonly expiresAtMs: number | undefined;
}

/** What a token says of itself. It is the server that checks it. */
export function claimsOf(token: string): Claims {
  const part = token.split(".")[1] ?? "";
  let fields;
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    fields = fieldsOf(parseJson(new TextDecoder().decode(bytes)));
  } catch {
    fields = undefined;
  }
  const [sub, exp] = [fields?.["sub"], fields?.["exp"]];
  return {
    uid: typeof sub === "string" ? sub : undefined,
    expiresAtMs: typeof exp === "number" ? exp * 1_000 : undefined,
  };
}

function tokenError(detail: string, cause?: unknown): ReadmarkError {
  return new ReadmarkError({ status: 0, code: "token", detail, cause });
}

/** The token in use, and where the next one comes from. All who need one at a time wait for the same question. */
export class Tokens {
  /** Whose tokens these are; undefined before the first one, if the application did not say. */
  uid: string | undefined;
  readonly #source: TokenSource;
  #held: Held | undefined;
  #asking: Promise<string> | undefined;
  #askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(source: TokenSource, uid: string | undefined) {
    this.#source = source;
    this.uid = uid;
  }

  /** True when there will be no token that the server believes. */
  get isExhausted(): boolean {
    return typeof this.#source === "string" && (this.#held?.isRefused ?? false);
  }

  /**
   * A token that is good for all that is known.
   *
   * @throws ReadmarkError with code `token` when none can be had.
   */
  async get(): Promise<string> {
    const reason = this.#reason();
    if (reason === undefined && this.#held !== undefined) {
      return this.#held.token;
    }
    if (this.isExhausted) {
      throw tokenError("the token is refused, and there is no other");
    }
    this.#asking ??= this.#ask(reason ?? "first").finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** The server does not believe this token. */
  refuse(token: string): void {
    if (this.#held?.token === token) {
      this.#held.isRefused = true;
    }
  }

  #reason(): TokenReason | undefined {
    if (this.#held === undefined) {
      return "first";
    }
    if (this.#held.isRefused) {
      return "refused";
    }
    const { expiresAtMs, obtainedAtMs } = this.#held;
    const isLate = expiresAtMs !== undefined && expiresAtMs - wallMs() < TOKEN_EARLY_MS;
    const isOld = nowMs() - obtainedAtMs > TOKEN_CLOCK_MS;
    return typeof this.#source === "function" && isLate && isOld ? "expired" : undefined;
  }

  async #ask(reason: TokenReason): Promise<string> {
    await pause(Math.min(TOKEN_PAUSE_MS, this.#askedAtMs + TOKEN_PAUSE_MS - nowMs()));
    this.#askedAtMs = nowMs();
    const token = await this.#given(reason);
    const { uid, expiresAtMs } = claimsOf(token);
    if (this.uid !== undefined && uid !== undefined && uid !== this.uid) {
      throw tokenError(`a token of user ${uid} was given for user ${this.uid}: connect anew for another user`);
    }
    this.uid ??= uid;
    this.#held = { token, expiresAtMs, obtainedAtMs: nowMs(), isRefused: false };
    return token;
  }

  async #given(reason: TokenReason): Promise<string> {
    const source = this.#source;
    let given: unknown = source;
    if (typeof source === "function") {
      try {
        given = await within(TOKEN_MS, Promise.resolve(source(reason)), () => tokenError("it took too long"));
      } catch (error) {
        throw tokenError(`no token was given: ${String(error)}`, error);
      }
    }
    if (typeof given !== "string" || given === "") {
      throw tokenError("what was given is no token");
    }
    return given;
  }
}

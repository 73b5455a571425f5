import { BODY_BYTES_MAX, CALL_PAUSE_MS, CALL_RETRY_AFTER_MAX_MS, CALL_TRIES_MAX, REQUEST_MS } from "../bounds.js";
import { problemOf, ReadmarkError } from "../errors.js";
import { jittered, retryAfterMs } from "../state/backoff.js";
import { parseJson } from "../wire/decode.js";
import { after, pause, wallMs } from "./clock.js";
import type { Tokens } from "./tokens.js";

/** One request. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  /** From `/v1` on, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** It must outlive its page. */
  readonly keepalive?: boolean;
}

/** Without the slash at its end. In a page, an address may be relative to it. */
export function baseOf(url: string | URL): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  const { origin, pathname } = new URL(url, page);
  return origin + pathname.replace(/\/+$/, "");
}

/** Requests with the user's token. */
export class Http {
  readonly #base: string;
  readonly #tokens: Tokens;
  readonly #fetch: typeof globalThis.fetch;

  constructor(base: string, tokens: Tokens, fetch: typeof globalThis.fetch) {
    this.#base = base;
    this.#tokens = tokens;
    this.#fetch = fetch;
  }

  /**
   * Sends a request, once more with another token when the first one is refused; answers the body.
   *
   * @throws ReadmarkError when it is not answered, or answered with an error.
   */
  async send(request: HttpRequest): Promise<unknown> {
    const token = await this.#tokens.get();
    try {
      return await this.#once(request, token);
    } catch (error) {
      if (!(error instanceof ReadmarkError) || error.status !== 401) {
        throw error;
      }
      this.#tokens.refuse(token);
      if (this.#tokens.isExhausted) {
        throw error;
      }
      return this.#once(request, await this.#tokens.get());
    }
  }

  /**
   * Sends a request, again after a short pause when the server is away or overloaded, and reads what it answers.
   *
   * @throws ReadmarkError as `send`, and with code `bad-answer` when the body is not what it should be.
   */
  async call<T>(request: HttpRequest, decode: (body: unknown) => T | undefined): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const decoded = decode(await this.send(request));
        if (decoded === undefined) {
          throw badAnswer(`${request.method} ${request.path} was answered with something else`);
        }
        return decoded;
      } catch (error) {
        const waitMs =
          error instanceof ReadmarkError && error.isRetryable ? (error.retryAfterMs ?? CALL_PAUSE_MS) : Infinity;
        if (attempt === CALL_TRIES_MAX || waitMs > CALL_RETRY_AFTER_MAX_MS) {
          throw error;
        }
        await pause(jittered(waitMs, Math.random()));
      }
    }
  }

  async #once(request: HttpRequest, token: string): Promise<unknown> {
    const abort = new AbortController();
    const deadline = after(REQUEST_MS, () => abort.abort());
    try {
      const response = await this.#fetch.call(globalThis, this.#base + request.path, {
        method: request.method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request.keepalive === true ? { keepalive: true } : {}),
        cache: "no-store",
        credentials: "omit",
        signal: abort.signal,
      });
      const body = await bodyOf(response);
      if (!response.ok) {
        throw problemOf(response.status, body, retryAfterMs(response.headers.get("retry-after"), wallMs()));
      }
      return body;
    } catch (error) {
      throw error instanceof ReadmarkError ? error : notAnswered(request, abort.signal.aborted, error);
    } finally {
      globalThis.clearTimeout(deadline);
    }
  }
}

async function bodyOf(response: Response): Promise<unknown> {
  if (Number(response.headers.get("content-length") ?? "0") > BODY_BYTES_MAX) {
    throw badAnswer("the answer is too long");
  }
  return parseJson(await response.text());
}

function badAnswer(detail: string): ReadmarkError {
  return new ReadmarkError({ status: 0, code: "bad-answer", detail });
}

function notAnswered({ method, path }: HttpRequest, isLate: boolean, cause: unknown): ReadmarkError {
  const code = isLate ? "timeout" : "network";
  return new ReadmarkError({ status: 0, code, detail: `${method} ${path} was not answered: ${String(cause)}`, cause });
}

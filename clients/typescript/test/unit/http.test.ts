import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { test } from "node:test";
import { Http } from "../../src/io/http.js";
import { Tokens } from "../../src/io/tokens.js";
import type { TokenReason } from "../../src/options.js";
import { RawServer } from "../support/raw-socket.js";

// Answers that a real server gives rarely, or that something in between gives in its place.

interface Seen {
  readonly atMs: number;
  readonly authorization: string | undefined;
}

type Answer = (response: ServerResponse) => void;

async function answering(
  answers: readonly Answer[],
  run: (http: Http, seen: readonly Seen[], reasons: readonly TokenReason[]) => Promise<void>,
): Promise<void> {
  const raw = await RawServer.start();
  const [seen, reasons]: [Seen[], TokenReason[]] = [[], []];
  raw.onRequest = (request: IncomingMessage, response: ServerResponse) => {
    seen.push({ atMs: Date.now(), authorization: request.headers.authorization });
    (answers[seen.length - 1] ?? answers.at(-1))?.(response);
  };
  const tokens = new Tokens((reason) => {
    reasons.push(reason);
    return `token-${reasons.length}`;
  }, undefined);
  try {
    await run(new Http(raw.url, tokens, fetch), seen, reasons);
  } finally {
    raw.stop();
  }
}

const GET = { method: "GET", path: "/v1/unread" } as const;

const ok: Answer = (response) => response.writeHead(200).end('{"fine":true}');

function problem(status: number, word: string, headers: Record<string, string> = {}): Answer {
  return (response) =>
    response
      .writeHead(status, headers)
      .end(JSON.stringify({ type: `urn:readmark:problem:${word}`, detail: "in words" }));
}

const anything = (body: unknown): unknown => body;

test("a call waits for Retry-After and is made again", () =>
  answering([problem(503, "unavailable", { "retry-after": "1" }), ok], async (http, seen) => {
    assert.deepEqual(await http.call(GET, anything), { fine: true });
    const [first, second] = seen;
    assert.ok((second?.atMs ?? 0) - (first?.atMs ?? 0) >= 1_000);
    assert.equal(seen.length, 2);
  }));

test("a call does not wait for long: the error says when to come back", () =>
  answering([problem(429, "rate-limited", { "retry-after": "60" })], async (http, seen) => {
    await assert.rejects(http.call(GET, anything), {
      code: "rate-limited",
      status: 429,
      retryAfterMs: 60_000,
      isRetryable: true,
    });
    assert.equal(seen.length, 1);
  }));

test("a refusal is final", () =>
  answering([problem(403, "not-a-member")], async (http, seen) => {
    await assert.rejects(http.call(GET, anything), { code: "not-a-member", isRetryable: false });
    assert.equal(seen.length, 1);
  }));

test("a token that is refused is exchanged once, for all who use it", () =>
  answering([problem(401, "unauthenticated"), problem(401, "unauthenticated"), ok], async (http, seen, reasons) => {
    await Promise.all([http.call(GET, anything), http.call(GET, anything)]);
    assert.deepEqual(reasons, ["first", "refused"]);
    assert.deepEqual(
      seen.map((one) => one.authorization),
      ["token-1", "token-1", "token-2", "token-2"].map((token) => `Bearer ${token}`),
    );
  }));

test("tokens that are all refused end the call, not the client", () =>
  answering([problem(401, "unauthenticated")], async (http, seen, reasons) => {
    await assert.rejects(http.call(GET, anything), { status: 401, isRetryable: false });
    assert.deepEqual([seen.length, reasons.length], [2, 2]);
  }));

test("what comes from something in between is an error with its status, or a bad answer", () =>
  answering(
    [(response) => response.writeHead(502).end("<html>bad gateway</html>"), ok],
    async (http) => void assert.deepEqual(await http.call(GET, anything), { fine: true }),
  ));

test("an answer that is no answer is said to be bad", () =>
  answering([(response) => response.writeHead(200).end("<html>log in to this network</html>")], (http) =>
    assert.rejects(
      http.call(GET, () => undefined),
      { code: "bad-answer" },
    ),
  ));

test("a connection that breaks in the middle is an error of the network", () =>
  answering([(response) => response.destroy()], async (http, seen) => {
    await assert.rejects(http.call(GET, anything), { code: "network", status: 0, isRetryable: true });
    assert.equal(seen.length, 3);
  }));

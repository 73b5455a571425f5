import assert from "node:assert/strict";
import { test } from "node:test";
import {
  RECONNECT_CAP_MS,
  RECONNECT_FIRST_MS,
  RESTART_SPREAD_MS,
  RETRY_AFTER_MAX_MS,
  TOO_MANY_MS,
} from "../../src/bounds.js";
import { backoff, jittered, retryAfterMs } from "../../src/state/backoff.js";
import { CLOSE, reconnectMs } from "../../src/state/reconnect.js";
import { forSeeds } from "../support/random.js";

test("pauses double up to the cap, and half of each is drawn at random", () => {
  forSeeds(500, (random) => {
    const attempt = random.int(0, 2_000);
    const ms = backoff(attempt, 500, 30_000, random.next());
    const whole = Math.min(30_000, 500 * 2 ** attempt);
    assert.ok(ms >= whole / 2 && ms < whole, `${ms} for attempt ${attempt}`);
  });
});

test("Retry-After is seconds or a date, is never exceeded downwards, and is not believed without end", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(retryAfterMs("3", now), 3_000);
  assert.equal(retryAfterMs("Thu, 01 Jan 2026 00:00:07 GMT", now), 7_000);
  assert.equal(retryAfterMs("Wed, 31 Dec 2025 00:00:00 GMT", now), 0);
  assert.equal(retryAfterMs("86400", now), RETRY_AFTER_MAX_MS);
  for (const nothing of [null, "", " ", "soon", "NaN"]) {
    assert.equal(retryAfterMs(nothing, now), undefined);
  }
  forSeeds(100, (random) => {
    const ms = jittered(1_000, random.next());
    assert.ok(ms >= 1_000 && ms < 1_500);
  });
});

test("each way to be closed has its own pause", () => {
  forSeeds(200, (random) => {
    const pause = (code: number, wasLive: boolean, failures: number): number =>
      reconnectMs({ code, wasLive, failures }, RECONNECT_FIRST_MS, RECONNECT_CAP_MS, random.next());
    assert.ok(pause(CLOSE.restart, true, 1) < RESTART_SPREAD_MS);
    assert.equal(pause(CLOSE.tokenExpired, true, 1), 0);
    assert.ok(pause(CLOSE.tokenExpired, true, 2) >= RECONNECT_FIRST_MS / 2, "a second time in a row is not at once");
    assert.ok(pause(CLOSE.tooMany, true, 1) >= TOO_MANY_MS);
    for (const code of [1006, CLOSE.tooSlow, CLOSE.noHello, CLOSE.restart]) {
      const failures = random.int(1, 20);
      const ms = pause(code, false, failures);
      const whole = Math.min(RECONNECT_CAP_MS, RECONNECT_FIRST_MS * 2 ** (failures - 1));
      assert.ok(ms >= whole / 2 && ms < whole);
    }
  });
});

test("the pauses of many clients after a restart are spread", () => {
  forSeeds(1, (random) => {
    const pauses = Array.from({ length: 1_000 }, () =>
      reconnectMs({ code: CLOSE.restart, wasLive: true, failures: 1 }, 500, 30_000, random.next()),
    );
    const slots = new Set(pauses.map((ms) => Math.floor(ms / (RESTART_SPREAD_MS / 10))));
    assert.equal(slots.size, 10);
  });
});

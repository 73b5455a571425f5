import assert from "node:assert/strict";
import { test } from "node:test";
import { DOUBT_MS, TALLIES_MAX, UNKNOWN_TRIES_MAX } from "../../src/bounds.js";
import { Tallies, withReaders } from "../../src/state/tallies.js";
import type { MessageRef, Receipt } from "../../src/types.js";
import { forSeeds } from "../support/random.js";

const QUIET_MS = 60_000;

function receipt(seq: string, version: number, read: number, total = 9): Receipt {
  return {
    conversationId: "c",
    seq,
    mode: "full",
    read,
    total,
    allRead: read === total,
    recalled: false,
    version: version.toString(16).padStart(32, "0"),
    readersAdded: [],
  };
}

const message: MessageRef = { conversationId: "c", seq: "7" };

test("tallies in any order and any number of times leave the newest, and none is told after a newer one", () => {
  forSeeds(300, (random) => {
    const tallies = new Tallies(QUIET_MS);
    const versions = Array.from({ length: 20 }, (_, i) =>
      receipt(random.pick(["1", "2", "3"]), i * 7 + random.int(1, 6), random.int(0, 9)),
    );
    const newest = new Map<string, Receipt>();
    for (const one of versions) {
      newest.set(one.seq, one);
    }
    const told = new Map<string, string>();
    for (const one of random.shuffled([...versions, ...versions])) {
      const isNews = tallies.merge(one, 0);
      if (isNews) {
        assert.ok((told.get(one.seq) ?? "") < one.version);
        told.set(one.seq, one.version);
      }
    }
    for (const [seq, one] of newest) {
      assert.equal(tallies.get({ conversationId: "c", seq })?.version, one.version);
    }
  });
});

test("what is known of a message is not forgotten by a push that says less", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.merge({ ...receipt("7", 1, 0), msgId: "907", senderUid: "3" }, 0);
  tallies.merge(receipt("7", 2, 1), 0);
  assert.deepEqual(
    [tallies.get(message)?.msgId, tallies.get(message)?.senderUid, tallies.get(message)?.read],
    ["907", "3", 1],
  );
});

test("a server that tells less than is known, and then nothing, is asked", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch(message, 0);
  tallies.takeDue(0);
  tallies.answered([message], [receipt("7", 5, 0)], 0);
  assert.equal(tallies.nextDueMs(), QUIET_MS);
  assert.equal(tallies.pushed(receipt("7", 4, 0), 1_000), false);
  assert.equal(tallies.nextDueMs(), QUIET_MS, "the same numbers say nothing");
  assert.equal(tallies.pushed(receipt("7", 3, 1), 2_000), false);
  assert.equal(tallies.pushed(receipt("7", 4, 2), 3_000), false);
  assert.equal(tallies.nextDueMs(), 2_000 + DOUBT_MS);
  tallies.pushed(receipt("7", 5, 0), 4_000);
  assert.equal(tallies.nextDueMs(), QUIET_MS, "it has caught up");
  tallies.pushed(receipt("7", 4, 2), 5_000);
  assert.deepEqual(tallies.takeDue(5_000 + DOUBT_MS), [message]);
  assert.equal(tallies.answered([message], [receipt("7", 6, 2)], 11_000).length, 1);
});

test("a message is asked for when it comes on screen, and an incomplete one once after a quiet minute", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch(message, 1_000);
  tallies.watch(message, 1_000);
  assert.equal(tallies.nextDueMs(), 1_000);
  assert.deepEqual(tallies.takeDue(1_000), [message]);
  assert.deepEqual(tallies.takeDue(1_000), [], "it is on its way");
  assert.equal(tallies.answered([message], [receipt("7", 1, 2)], 2_000).length, 1);
  assert.equal(tallies.nextDueMs(), 2_000 + QUIET_MS);
  tallies.merge(receipt("7", 2, 3), 30_000);
  assert.equal(tallies.nextDueMs(), 30_000 + QUIET_MS, "a change begins the minute anew");
  assert.deepEqual(tallies.takeDue(90_000), [message]);
  assert.equal(tallies.answered([message], [receipt("7", 2, 3)], 90_100).length, 0);
  assert.equal(tallies.nextDueMs(), undefined, "asked once: nothing changed");
  tallies.merge(receipt("7", 3, 4), 100_000);
  assert.equal(tallies.nextDueMs(), 100_000 + QUIET_MS);
  tallies.merge(receipt("7", 4, 9), 100_000);
  assert.equal(tallies.nextDueMs(), undefined, "complete");
  tallies.unwatch(message);
  tallies.askAgain(200_000);
  assert.equal(tallies.nextDueMs(), 200_000, "still watched once");
  tallies.unwatch(message);
  assert.equal(tallies.nextDueMs(), undefined);
});

test("a snapshot while a question is on its way asks once more", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch(message, 0);
  tallies.takeDue(0);
  tallies.askAgain(10);
  assert.equal(tallies.nextDueMs(), undefined, "one question at a time");
  tallies.answered([message], [receipt("7", 1, 1)], 20);
  assert.deepEqual(tallies.takeDue(20), [message]);
});

test("an unknown message is asked for again for a while; one that may not be seen is not", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch(message, 0);
  let now = 0;
  for (let tries = 0; tries <= UNKNOWN_TRIES_MAX; tries += 1) {
    assert.deepEqual(tallies.takeDue(now), [message]);
    tallies.answered([message], [{ ...message, error: "not_found" }], now);
    now = tallies.nextDueMs() ?? now;
  }
  assert.equal(tallies.nextDueMs(), undefined);
  tallies.askAgain(now);
  tallies.takeDue(now);
  tallies.answered([message], [{ ...message, error: "forbidden" }], now);
  assert.equal(tallies.nextDueMs(), undefined);
});

test("a question that failed is asked again", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch(message, 0);
  tallies.failed(tallies.takeDue(0), 500);
  assert.equal(tallies.nextDueMs(), 500);
});

test("of messages that nobody watches only so many are remembered", () => {
  const tallies = new Tallies(QUIET_MS);
  tallies.watch({ conversationId: "c", seq: "1" }, 0);
  for (let seq = 1; seq <= TALLIES_MAX + 100; seq += 1) {
    tallies.merge(receipt(String(seq), 1, 1), 0);
  }
  assert.ok(tallies.get({ conversationId: "c", seq: "1" }), "a watched one stays");
  assert.equal(tallies.get({ conversationId: "c", seq: "2" }), undefined);
  assert.ok(tallies.get({ conversationId: "c", seq: String(TALLIES_MAX + 100) }));
});

test("names go on from the known ones only when they add up", () => {
  const told = { ...receipt("7", 2, 3), readersAdded: ["5", "6"] };
  assert.deepEqual(withReaders(new Set(["4"]), told), new Set(["4", "5", "6"]));
  assert.deepEqual(withReaders(new Set(["4", "5"]), told), new Set(["4", "5", "6"]));
  assert.equal(withReaders(new Set(), told), undefined, "somebody was missed");
  assert.equal(withReaders(new Set(["1", "2", "3", "4"]), told), undefined, "somebody has left");
});

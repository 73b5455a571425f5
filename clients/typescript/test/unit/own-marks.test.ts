import assert from "node:assert/strict";
import { test } from "node:test";
import { OWN_MARK_MS } from "../../src/bounds.js";
import { OwnMarks } from "../../src/state/own-marks.js";
import type { Row } from "../../src/wire/entry.js";
import { forSeeds } from "../support/random.js";

function row(change: Partial<Row> = {}): Row {
  return {
    conversationId: "c",
    unread: 5,
    mentions: 2,
    headSeq: "10",
    readSeq: "5",
    floorSeq: "5",
    markedUnread: false,
    muted: false,
    ...change,
  };
}

test("what is shown is never less than the truth above the mark, and exact where every message counts", () => {
  forSeeds(500, (random) => {
    const head = random.int(0, 40);
    const floor = random.int(0, head);
    const uncounted = new Set(Array.from({ length: random.int(0, 10) }, () => random.int(1, 40)));
    const above = (from: number): number =>
      Array.from({ length: head - Math.min(from, head) }, (_, i) => head - i).filter((seq) => !uncounted.has(seq))
        .length;
    const mark = random.int(1, 45);
    const marks = new OwnMarks();
    marks.raise("c", String(mark), true);
    const server = row({ headSeq: String(head), floorSeq: String(floor), unread: above(floor), mentions: 0 });
    const shown = marks.shown(server);
    const truth = above(Math.max(floor, mark));
    assert.ok(shown.unread >= truth, `${shown.unread} shown, ${truth} true`);
    assert.ok(shown.unread <= server.unread);
    assert.ok(shown.mentions <= shown.unread);
    if (uncounted.size === 0) {
      assert.equal(shown.unread, truth);
    }
    assert.equal(shown.pending, mark > floor);
  });
});

test("a mark at the head puts the dot out at once, and the server's entry ends that", () => {
  const marks = new OwnMarks();
  marks.raise("c", "10", true);
  assert.deepEqual({ ...marks.shown(row()) }, { ...row(), floorSeq: "10", unread: 0, mentions: 0, pending: true });
  marks.answered("c", "0", "10", 1_000);
  assert.equal(marks.shown(row()).unread, 0, "accepted, and not confirmed yet");
  const confirmed = row({ floorSeq: "10", readSeq: "10", unread: 0, mentions: 0 });
  marks.settle(confirmed);
  assert.equal([...marks.conversationIds()].length, 0);
  assert.equal(marks.shown(row({ headSeq: "11", floorSeq: "10", unread: 1 })).unread, 1);
});

test("a mark that was given up shows nothing any more", () => {
  const marks = new OwnMarks();
  marks.raise("c", "10", true);
  marks.answered("c", "0", "0", 1_000);
  assert.equal(marks.shown(row()).unread, 5);
});

test("a mark that is accepted and never confirmed gives way to the server's numbers", () => {
  const marks = new OwnMarks();
  marks.raise("c", "10", true);
  marks.answered("c", "0", "10", 1_000);
  assert.deepEqual(marks.expire(1_000 + OWN_MARK_MS - 1), []);
  assert.deepEqual(marks.expire(1_000 + OWN_MARK_MS), ["c"]);
  assert.equal(marks.shown(row()).unread, 5);
});

test("a mark at an unchanged seq hides the flag set by hand, until it is set again", () => {
  const marks = new OwnMarks();
  const flagged = row({ markedUnread: true });
  marks.raise("c", "5", true);
  assert.equal(marks.shown(flagged).markedUnread, false);
  marks.showFlag("c");
  assert.equal(marks.shown(flagged).markedUnread, true);
  const acked = new OwnMarks();
  acked.raise("c", "5", false);
  assert.equal(acked.shown(flagged).markedUnread, true, "an ack takes no flag away");
});

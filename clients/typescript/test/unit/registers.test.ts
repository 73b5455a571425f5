import assert from "node:assert/strict";
import { test } from "node:test";
import { compareSeq } from "../../src/state/decimal.js";
import { UnreadRegisters } from "../../src/state/registers.js";
import type { Entry, Row, Snapshot } from "../../src/wire/entry.js";
import { forSeeds, Random } from "../support/random.js";

interface ServerRow extends Pick<Row, "conversationId" | "markedUnread" | "muted"> {
  unread: number;
  mentions: number;
  head: number;
  read: number;
}

/** A server in small: rows, a stream of what happened, and what it looked like after each entry. */
class Stream {
  readonly rows = new Map<string, ServerRow>();
  readonly entries: Entry[] = [];
  readonly after: Snapshot[] = [];
  #version: number;

  constructor(firstVersion: number) {
    this.#version = firstVersion;
  }

  get snapshot(): Snapshot {
    const rows = [...this.rows.values()].map(({ head, read, ...row }) => ({
      ...row,
      headSeq: String(head),
      readSeq: String(read),
      floorSeq: String(read),
    }));
    const counted = rows.filter((row) => !row.muted);
    return {
      total: counted.reduce((sum, row) => sum + row.unread, 0),
      mentions: counted.reduce((sum, row) => sum + row.mentions, 0),
      rows,
    };
  }

  step(random: Random): void {
    const conversationId = random.pick(["a", "b", "c", "d"]);
    const row = this.rows.get(conversationId) ?? {
      conversationId,
      unread: 0,
      mentions: 0,
      markedUnread: false,
      muted: false,
      head: 0,
      read: 0,
    };
    this.rows.set(conversationId, row);
    const reads = row.head > row.read && random.chance(0.4);
    const next: ServerRow = reads
      ? { ...row, read: random.int(row.read + 1, row.head), markedUnread: false }
      : { ...row, head: row.head + random.int(0, 3), muted: random.chance(0.2), markedUnread: random.chance(0.2) };
    next.unread = next.head - next.read;
    next.mentions = Math.min(next.unread, random.int(0, 2));
    this.rows.set(conversationId, next);
    this.#version += 1;
    const { total, mentions: totalMentions } = this.snapshot;
    const { unread, mentions, markedUnread, muted } = next;
    const common = { conversationId, unread, mentions, markedUnread, total, totalMentions };
    const seqs = { floorSeq: String(next.read) };
    this.entries.push({
      version: String(this.#version),
      news: reads
        ? { kind: "conversation_read", ...common, ...seqs, readSeq: String(next.read), own: false }
        : { kind: "unread_changed", ...common, ...seqs, headSeq: String(next.head), muted },
    });
    this.after.push(this.snapshot);
  }
}

function stateOf(registers: UnreadRegisters): unknown {
  return { total: registers.total, mentions: registers.mentions, rows: new Map(registers.rows) };
}

function rowsOf(snapshot: Snapshot): unknown {
  return {
    total: snapshot.total,
    mentions: snapshot.mentions,
    rows: new Map(snapshot.rows.map((row) => [row.conversationId, row])),
  };
}

test("entries in any order and any number of times leave the state of the newest one in sequence", () => {
  forSeeds(300, (random) => {
    const stream = new Stream(random.pick([0, 9, 99, 9_007_199_254_740_800]));
    const registers = new UnreadRegisters();
    registers.replace(stream.snapshot);
    for (let i = 0; i < 40; i += 1) {
      stream.step(random);
    }
    assert.equal(registers.apply(stream.entries[0] as Entry).outcome, "applied");
    let taken = 1;
    for (let tries = 0; tries < 400 && taken < stream.entries.length; tries += 1) {
      // The next one, one of before, or one that may come too early.
      const at = random.pick([taken, random.int(0, taken - 1), random.int(taken, stream.entries.length - 1)]);
      const before = stateOf(registers);
      const { outcome } = registers.apply(stream.entries[at] as Entry);
      assert.equal(outcome, at < taken ? "old" : at === taken ? "applied" : "gap");
      if (at === taken) {
        taken += 1;
        assert.deepEqual(stateOf(registers), rowsOf(stream.after[at] as Snapshot));
      } else {
        assert.deepEqual(stateOf(registers), before, "what is old or too early changes nothing");
      }
    }
  });
});

test("following every entry from a snapshot on ends in the server's own state", () => {
  forSeeds(300, (random) => {
    const stream = new Stream(random.int(0, 200));
    const registers = new UnreadRegisters();
    const read = new Map<string, string>();
    for (let i = 0; i < 60; i += 1) {
      stream.step(random);
      if (random.chance(0.05)) {
        registers.replace(stream.snapshot);
      } else {
        assert.equal(registers.apply(stream.entries.at(-1) as Entry).outcome, "applied");
      }
      assert.deepEqual(stateOf(registers), rowsOf(stream.snapshot));
      for (const row of registers.rows.values()) {
        assert.ok(compareSeq(row.readSeq, read.get(row.conversationId) ?? "0") >= 0, "a watermark never falls");
        read.set(row.conversationId, row.readSeq);
      }
    }
  });
});

test("a snapshot of another life of the stream replaces everything, and its numbers begin anew", () => {
  const stream = new Stream(1_000);
  const registers = new UnreadRegisters();
  stream.step(new Random(1));
  assert.equal(registers.apply(stream.entries[0] as Entry).outcome, "applied");
  registers.replace({ total: 0, mentions: 0, rows: [] });
  assert.equal(registers.rows.size, 0);
  const fresh = new Stream(0);
  fresh.step(new Random(1));
  assert.equal(registers.apply(fresh.entries[0] as Entry).outcome, "applied");
  assert.equal(registers.version, "1");
});

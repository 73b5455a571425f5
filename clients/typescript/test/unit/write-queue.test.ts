import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ACKS_PER_REQUEST_MAX,
  FAULT_TRIES_MAX,
  MERGE_MS,
  NOT_THERE_TRIES_MAX,
  QUEUE_ACKS_MAX,
  QUEUE_CONVERSATIONS_MAX,
} from "../../src/bounds.js";
import { decode, EMPTY, encode, merge, subtract, type SavedQueue } from "../../src/state/saved-queue.js";
import { addedOf, WriteQueue, type WriteAnswer, type WriteRequest } from "../../src/state/write-queue.js";
import type { Dropped, WriteKind } from "../../src/types.js";
import { forSeeds, type Random } from "../support/random.js";

const ACCEPTED: WriteAnswer = { kind: "accepted", ignored: [] };

function one(queue: WriteQueue, nowMs: number): WriteRequest {
  const request = queue.take(nowMs);
  assert.ok(request !== undefined, "a request is due");
  return request;
}

function seqsOf(request: WriteRequest): string[] {
  return request.items.map((item) => item.seq);
}

test("marks of one conversation within 200 ms are one request with the highest", () => {
  const queue = new WriteQueue(MERGE_MS);
  queue.add("read", "c", [{ seq: "9" }], 1_000);
  queue.add("read", "c", [{ seq: "10" }], 1_050);
  queue.add("read", "c", [{ seq: "2" }], 1_150);
  assert.equal(queue.take(1_199), undefined);
  assert.equal(queue.nextDueMs(), 1_200);
  const request = one(queue, 1_200);
  assert.deepEqual([request.kind, seqsOf(request)], ["read", ["10"]]);
  queue.add("read", "c", [{ seq: "11" }], 1_210);
  assert.equal(queue.take(2_000), undefined, "one request of a conversation at a time");
  queue.release(request);
  const settled = queue.answer(request, ACCEPTED, 2_000, 0);
  assert.equal(settled.accepted, "10");
  assert.deepEqual(seqsOf(one(queue, 2_000)), ["11"]);
});

test("messages at or below a mark that goes out are not acked on their own; above it they are", () => {
  const queue = new WriteQueue(MERGE_MS);
  queue.add("ack", "c", [{ seq: "3", senderUid: "7" }, { seq: "12" }], 0);
  queue.add("read", "c", [{ seq: "9" }], 0);
  const acks = one(queue, 200);
  assert.deepEqual([acks.kind, seqsOf(acks)], ["ack", ["12"]]);
  queue.release(acks);
  queue.answer(acks, ACCEPTED, 200, 0);
  const read = one(queue, 200);
  assert.deepEqual([read.kind, seqsOf(read)], ["read", ["9"]]);
  queue.release(read);
  const { done } = queue.answer(read, ACCEPTED, 200, 0);
  assert.deepEqual([...(done.get("c")?.acks.keys() ?? [])], ["3"], "the mark has made its receipt");
  assert.equal(queue.size, 0);
});

test("messages below a mark that is in trouble go on their own", () => {
  const queue = new WriteQueue(MERGE_MS);
  queue.add("read", "c", [{ seq: "999" }], 0);
  queue.add("ack", "c", [{ seq: "3" }], 0);
  const read = one(queue, 200);
  assert.equal(read.kind, "read");
  queue.release(read);
  queue.answer(read, { kind: "not-there", places: [] }, 200, 0);
  assert.deepEqual(seqsOf(one(queue, 200)), ["3"]);
});

test("a lower mark is not held up by a higher one that nobody knows", () => {
  const queue = new WriteQueue(MERGE_MS);
  queue.add("read", "c", [{ seq: "999" }], 0);
  const high = one(queue, 200);
  queue.release(high);
  queue.answer(high, { kind: "not-there", places: [] }, 200, 0.5);
  queue.add("read", "c", [{ seq: "12" }], 200);
  const low = queue.take(queue.nextDueMs() ?? 0) ?? one(queue, 400);
  queue.release(low);
  queue.answer(low, seqsOf(low)[0] === "12" ? ACCEPTED : { kind: "not-there", places: [] }, 400, 0.5);
  const seen = new Set<string>(seqsOf(low));
  for (let now = 400; queue.size > 0 && now < 10 * 60_000; now += 100) {
    const request = queue.take(now);
    if (request !== undefined) {
      seqsOf(request).forEach((seq) => seen.add(seq));
      queue.release(request);
      queue.answer(request, seqsOf(request)[0] === "12" ? ACCEPTED : { kind: "not-there", places: [] }, now, 0.5);
    }
  }
  assert.deepEqual(seen, new Set(["12", "999"]));
});

test("what is never there is given up, and said so", () => {
  for (const [answer, tries, reason] of [
    [{ kind: "not-there", places: [] }, NOT_THERE_TRIES_MAX, "seq-beyond-head"],
    [{ kind: "fault", reason: "internal", detail: "" }, FAULT_TRIES_MAX, "internal"],
  ] as const) {
    const queue = new WriteQueue(MERGE_MS);
    queue.add("read", "c", [{ seq: "5" }], 0);
    let dropped: readonly Dropped[] = [];
    let sent = 0;
    for (let now = 0; queue.size > 0; now = queue.nextDueMs() ?? now) {
      const request = queue.take(now);
      if (request !== undefined) {
        sent += 1;
        queue.release(request);
        ({ dropped } = queue.answer(request, answer, now, 0.9));
      }
    }
    assert.equal(sent, tries);
    assert.deepEqual(
      dropped.map((d) => [d.kind, d.seqs, d.reason]),
      [["read", ["5"], reason]],
    );
  }
});

test("of several acks the missing one waits and the refused one goes, the others are sent", () => {
  const queue = new WriteQueue(MERGE_MS);
  queue.add("ack", "c", [{ seq: "1" }, { seq: "2" }, { seq: "3" }], 0);
  const all = one(queue, 200);
  queue.release(all);
  queue.answer(all, { kind: "not-there", places: [1] }, 200, 0.5);
  const others = one(queue, 200);
  assert.deepEqual(seqsOf(others), ["1", "3"]);
  queue.release(others);
  const { dropped } = queue.answer(others, { kind: "refused", places: [0], reason: "malformed", detail: "" }, 200, 0.5);
  assert.deepEqual(
    dropped.map((d) => d.seqs),
    [["1"]],
  );
  assert.deepEqual(seqsOf(one(queue, 200)), ["3"]);
});

test("a request holds at most what the server takes, a queue at most its bounds, and what goes is said", () => {
  const queue = new WriteQueue(MERGE_MS);
  const acks = Array.from({ length: QUEUE_ACKS_MAX + 5 }, (_, i) => ({ seq: String(i + 1) }));
  const dropped = queue.add("ack", "c", acks, 0);
  assert.deepEqual(
    dropped.map((d) => [d.reason, d.seqs.length]),
    [["queue-full", 5]],
  );
  assert.equal(one(queue, 200).items.length, ACKS_PER_REQUEST_MAX);
  const many = new WriteQueue(MERGE_MS);
  const gone: Dropped[] = [];
  for (let i = 0; i < QUEUE_CONVERSATIONS_MAX + 3; i += 1) {
    gone.push(...many.add("read", `c${i}`, [{ seq: "1" }], i));
  }
  assert.equal(many.size, QUEUE_CONVERSATIONS_MAX);
  assert.deepEqual(
    gone.map((d) => d.conversationId),
    ["c0", "c1", "c2"],
    "the oldest go",
  );
});

interface Told {
  reads: number[];
  clears: number[];
  acks: Set<string>;
}

/** A server that answers as it likes, and knows messages up to a head that rises. */
function answerOf(request: WriteRequest, random: Random, head: number, told: Told): WriteAnswer {
  const seqs = seqsOf(request).map(Number);
  const dice = random.next();
  if (dice < 0.2) {
    return { kind: "away" };
  }
  if (dice < 0.25) {
    return { kind: "fault", reason: "internal", detail: "" };
  }
  const places = seqs.flatMap((seq, place) => (seq > head ? [place] : []));
  if (places.length > 0) {
    return { kind: "not-there", places: random.chance(0.5) ? places : [] };
  }
  if (request.kind === "ack") {
    const ignored = seqs.filter(() => random.chance(0.1)).map(String);
    seqsOf(request).forEach((seq) => told.acks.add(`${request.conversationId} ${seq}`));
    return { kind: "accepted", ignored };
  }
  (request.kind === "read" ? told.reads : told.clears).push(...seqs);
  return ACCEPTED;
}

test("whatever is answered, all is accepted, covered by a mark or said to be dropped, and kept until then", () => {
  forSeeds(200, (random) => {
    const queue = new WriteQueue(MERGE_MS);
    const told = new Map(["a", "b", "c"].map((id): [string, Told] => [id, { reads: [], clears: [], acks: new Set() }]));
    const asked: { id: string; kind: WriteKind; seq: number }[] = [];
    const dropped: Dropped[] = [];
    const busy = new Set<string>();
    const flying: WriteRequest[] = [];
    let saved: SavedQueue = EMPTY;
    let head = 10;
    let now = 0;
    for (let step = 0; step < 4_000 && (step < 150 || queue.size > 0); step += 1) {
      now += random.int(0, 300);
      head += random.chance(0.1) ? 1 : 0;
      if (step < 150 && random.chance(0.5)) {
        const [id, kind, seq] = [
          random.pick(["a", "b", "c"]),
          random.pick(["read", "ack", "clear"] as const),
          random.int(1, head + 3),
        ];
        asked.push({ id, kind, seq });
        saved = merge(saved, addedOf(kind, id, [{ seq: String(seq) }]));
        dropped.push(...queue.add(kind, id, [{ seq: String(seq) }], now));
      }
      const dueMs = queue.nextDueMs();
      const request = queue.take(now);
      assert.equal(
        request !== undefined,
        dueMs !== undefined && dueMs <= now,
        "something is due exactly when it is said",
      );
      if (request !== undefined) {
        assert.ok(!busy.has(request.conversationId), "one request of a conversation at a time");
        busy.add(request.conversationId);
        flying.push(request);
      }
      if (flying.length > 0 && random.chance(0.6)) {
        const back = flying.splice(random.int(0, flying.length - 1), 1)[0] as WriteRequest;
        const answer = answerOf(back, random, head, told.get(back.conversationId) as Told);
        busy.delete(back.conversationId);
        queue.release(back);
        const settled = queue.answer(back, answer, now, random.next());
        saved = subtract(saved, settled.done);
        dropped.push(...settled.dropped);
      }
      for (const id of ["a", "b", "c"]) {
        const kept = saved.get(id);
        const waits = queue.highest(id) !== "0";
        assert.equal(kept !== undefined, waits, "the storage has something exactly while the queue has");
      }
    }
    assert.equal(queue.size, 0, "nothing waits for ever");
    const wasDropped = new Set(dropped.flatMap((d) => d.seqs.map((seq) => `${d.conversationId} ${d.kind} ${seq}`)));
    for (const { id, kind, seq } of asked) {
      const { reads, clears, acks } = told.get(id) as Told;
      const isDone =
        wasDropped.has(`${id} ${kind} ${seq}`) ||
        (kind === "read" && reads.some((mark) => mark >= seq)) ||
        (kind === "clear" && clears.some((mark) => mark >= seq)) ||
        (kind === "ack" && (acks.has(`${id} ${seq}`) || reads.some((mark) => mark >= seq)));
      const isCoveredByDropped =
        kind !== "ack" &&
        dropped.some((d) => d.conversationId === id && d.kind === kind && d.seqs.some((s) => Number(s) > seq));
      assert.ok(isDone || isCoveredByDropped, `${kind} ${seq} of ${id}`);
    }
  });
});

test("what is kept merges in any order and survives the way through text", () => {
  forSeeds(300, (random) => {
    const added = Array.from({ length: 30 }, () =>
      addedOf(random.pick(["read", "ack", "clear"] as const), random.pick(["a", "b"]), [
        { seq: String(random.int(1, 30)), senderUid: "5" },
      ]),
    );
    const all = added.reduce(merge, EMPTY);
    const other = random.shuffled([...added, ...added]).reduce(merge, EMPTY);
    const flat = (saved: SavedQueue): unknown =>
      [...saved].map(([id, writes]) => [id, writes.read, writes.clear, [...writes.acks].sort()]).sort();
    assert.deepEqual(flat(other), flat(all));
    assert.deepEqual(flat(decode(JSON.parse(encode(all)))), flat(all));
    assert.equal(subtract(all, all).size, 0);
    const part = random.pick(added);
    assert.deepEqual(flat(subtract(subtract(all, part), part)), flat(subtract(all, part)));
  });
});

test("whatever the storage holds, reading it breaks nothing", () => {
  for (const value of [
    undefined,
    null,
    7,
    "x",
    [],
    {},
    { conversations: 3 },
    { conversations: [null, 5, {}, { id: "" }, { id: "c" }] },
  ]) {
    assert.ok(decode(value).size <= 1);
  }
  const saved = decode({
    conversations: [{ id: "c", read: "x", clear: "07", acks: [["1"], ["2", "x"], [3], "4", ["0"]] }],
  });
  assert.deepEqual(
    [...(saved.get("c")?.acks ?? [])],
    [
      ["1", undefined],
      ["2", undefined],
    ],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { compareSeq, conversationIdOf, follows, maxSeq, seqOf, uidOf } from "../../src/state/decimal.js";
import { PictureModel } from "../../src/state/picture.js";
import { decodePicture, encodePicture } from "../../src/state/saved-picture.js";
import { decodeEntry, decodeMembersPage, decodeReceiptAnswers, decodeSnapshot } from "../../src/wire/decode.js";
import { decodeFrame } from "../../src/wire/frames.js";
import { forSeeds, type Random } from "../support/random.js";

const ENTRIES = [
  {
    version: "41",
    kind: "conversation_read",
    conversation_id: "c1",
    read_seq: "12",
    floor_seq: "12",
    endpoint: "phone",
    own: false,
    unread: "0",
    mentions: "0",
    marked_unread: false,
    total_unread: "4",
    total_mentions: "0",
  },
  {
    version: "42",
    kind: "unread_changed",
    conversation_id: "c1",
    head_seq: "13",
    floor_seq: "12",
    unread: "1",
    mentions: "0",
    marked_unread: false,
    muted: false,
    total_unread: "5",
    total_mentions: "0",
  },
  {
    version: "43",
    kind: "message_read",
    conversation_id: "c1",
    seq: "11",
    mode: "full",
    read: "3",
    total: "7",
    readers_added: ["8"],
    tally_version: "00000000000009ccf47d0b7400000001",
  },
];

const SNAPSHOT = {
  total: "5",
  mentions: "1",
  conversations: [
    {
      conversation_id: "c1",
      unread: "5",
      mentions: "1",
      head_seq: "1000000000000000",
      read_seq: "999999999999995",
      floor_seq: "999999999999995",
      marked_unread: false,
      muted: false,
    },
  ],
};

test("entries are read as the contract writes them", () => {
  assert.deepEqual(decodeEntry(ENTRIES[0]), {
    version: "41",
    news: {
      kind: "conversation_read",
      conversationId: "c1",
      readSeq: "12",
      floorSeq: "12",
      endpoint: "phone",
      own: false,
      unread: 0,
      mentions: 0,
      markedUnread: false,
      total: 4,
      totalMentions: 0,
    },
  });
  const { endpoint: _endpoint, ...nameless } = ENTRIES[0] as { endpoint?: string };
  assert.ok(decodeEntry(nameless), "the device may be unknown");
  assert.deepEqual(decodeEntry(ENTRIES[2])?.news, {
    kind: "message_read",
    receipt: {
      conversationId: "c1",
      seq: "11",
      mode: "full",
      read: 3,
      total: 7,
      allRead: false,
      recalled: false,
      version: "00000000000009ccf47d0b7400000001",
      readersAdded: ["8"],
    },
  });
  assert.deepEqual(decodeEntry({ version: "44", kind: "new_in_2031", what: 7 }), {
    version: "44",
    news: { kind: "unknown" },
  });
  assert.equal(decodeEntry({ ...ENTRIES[2], read: "8" }), undefined, "N above M is never told");
  assert.equal(decodeEntry({ ...ENTRIES[1], unread: "-1" }), undefined);
  assert.equal(decodeEntry({ ...ENTRIES[1], version: undefined }), undefined);
});

function mangled(value: unknown, random: Random): unknown {
  if (random.chance(0.15)) {
    return random.pick([null, undefined, -1, 1.5, "", "x", "01", "9".repeat(40), [], {}, true, 1e300, Number.NaN]);
  }
  if (Array.isArray(value)) {
    return value.map((one) => mangled(one, random));
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mangled(one, random)]));
  }
  return value;
}

test("nothing that comes from outside throws, whatever it is", () => {
  forSeeds(3_000, (random) => {
    const frame = random.pick([
      { type: "snapshot", snapshot: SNAPSHOT, token: "e.1" },
      { type: "ready", token: "e.1" },
      { type: "entries", entries: ENTRIES, token: "e.43" },
      { type: "error", id: "3", status: 409, detail: "x", items: [{ index: 0, detail: "y" }] },
      { type: "ok", id: "3" },
      { type: "pong" },
    ]);
    const text = JSON.stringify(mangled(frame, random)) ?? "";
    const cut = random.chance(0.2) ? text.slice(0, random.int(0, text.length)) : text;
    const decoded = decodeFrame(cut);
    if (decoded?.type === "entries") {
      const model = new PictureModel();
      model.follow(decoded.entries, decoded.token, 1);
      const { total, mentions } = model.picture;
      assert.ok(total >= 0 && mentions >= 0);
    }
    for (const decode of [decodeSnapshot, decodeReceiptAnswers, decodeMembersPage, decodePicture]) {
      decode(mangled(SNAPSHOT, random));
    }
  });
  for (const data of [undefined, null, 7, new ArrayBuffer(3), "", "null", "[]", '"x"']) {
    assert.equal(decodeFrame(data), undefined);
  }
});

test("a snapshot is shown, kept and restored as it was, seqs to the last digit", () => {
  const model = new PictureModel();
  const snapshot = decodeSnapshot(SNAPSHOT);
  assert.ok(snapshot);
  model.replace(snapshot, "e.7", 1_000);
  assert.equal(model.picture.conversations.get("c1")?.headSeq, "1000000000000000");
  const saved = decodePicture(JSON.parse(encodePicture(model.save(10))));
  assert.ok(saved);
  const restored = new PictureModel();
  restored.restore(saved);
  assert.deepEqual(restored.picture, { ...model.picture, stale: true });
  assert.equal(restored.token, "e.7");
  assert.equal(decodePicture(JSON.parse(encodePicture(model.save(0))))?.token, null, "a part has no token");
});

test("decimals are compared exactly", () => {
  forSeeds(500, (random) => {
    const number = (): bigint =>
      BigInt(random.int(0, 2 ** 31)) * BigInt(random.int(0, 2 ** 31)) + BigInt(random.int(0, 9));
    const [a, b] = [number(), random.chance(0.2) ? number() : number() + 1n];
    assert.equal(Math.sign(compareSeq(String(a), String(b))), a < b ? -1 : a > b ? 1 : 0);
    assert.equal(maxSeq(String(a), String(b)), String(a > b ? a : b));
    assert.ok(follows(String(a), String(a + 1n)) && !follows(String(a), String(a + 2n)));
  });
});

test("what a program must not say is refused at once", () => {
  assert.deepEqual([seqOf(7), seqOf("1000000000000000"), seqOf(12n)], ["7", "1000000000000000", "12"]);
  for (const wrong of [0, -1, 1.5, Number.NaN, "0", "01", "1e3", "", "1000000000000001", 2 ** 53]) {
    assert.throws(() => seqOf(wrong), RangeError);
  }
  assert.equal(uidOf("9223372036854775807"), "9223372036854775807");
  for (const wrong of ["9223372036854775808", -1, 2 ** 60, "x"]) {
    assert.throws(() => uidOf(wrong), RangeError);
  }
  assert.equal(conversationIdOf("ä".repeat(32)).length, 32);
  for (const wrong of ["", "ä".repeat(33)]) {
    assert.throws(() => conversationIdOf(wrong), RangeError);
  }
});

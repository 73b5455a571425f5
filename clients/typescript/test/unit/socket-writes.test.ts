import assert from "node:assert/strict";
import { test } from "node:test";
import { ACKS_PER_REQUEST_MAX, SEQ_MAX, SOCKET_ANSWER_MS } from "../../src/bounds.js";
import { SocketWrites } from "../../src/io/socket-writes.js";
import type { WriteRequest } from "../../src/state/write-queue.js";

const READ: WriteRequest = { conversationId: "c", kind: "read", items: [{ seq: "3" }] };

test("when the connection ends, what it has not answered is told to have failed at once", async () => {
  const writes = new SocketWrites(() => true);
  const sent = writes.send(READ);
  writes.ended();
  await assert.rejects(sent ?? Promise.resolve(), { code: "network" });
});

test("after an answer that never came nothing goes this way until the next connection", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const writes = new SocketWrites(() => true);
  const sent = writes.send(READ);
  context.mock.timers.tick(SOCKET_ANSWER_MS);
  await assert.rejects(sent ?? Promise.resolve(), { code: "timeout" });
  assert.equal(writes.send(READ), undefined);
  writes.ended();
  const again = writes.send(READ);
  assert.equal(writes.answered({ type: "ok", id: "77", body: {} }), false, "nobody asked that");
  assert.equal(writes.answered({ type: "ok", id: "3", body: { read_seq: "3" } }), true);
  assert.deepEqual(await again, { read_seq: "3" });
});

test("as many acks as one request holds fit a frame of the server's 64 KiB; a clear has no frame", () => {
  const frames: string[] = [];
  const writes = new SocketWrites((frame) => frames.push(frame) > 0);
  const items = Array.from({ length: ACKS_PER_REQUEST_MAX }, (_, i) => ({
    seq: String(SEQ_MAX - i),
    senderUid: "9223372036854775807",
  }));
  const sent = writes.send({ conversationId: '"'.repeat(64), kind: "ack", items });
  sent?.catch(() => undefined);
  assert.ok(sent !== undefined && Buffer.byteLength(frames[0] ?? "") < 64 * 1_024);
  assert.equal(writes.send({ ...READ, kind: "clear" }), undefined);
  writes.ended();
});

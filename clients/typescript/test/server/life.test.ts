import assert from "node:assert/strict";
import { test } from "node:test";
import type { MessageRef } from "../../src/types.js";
import type { Device } from "../support/device.js";
import { withDevices } from "../support/device.js";
import { Random } from "../support/random.js";
import { TestServer, type ImEvent } from "../support/server.js";
import { until } from "../support/wait.js";

const SEED = Number(process.env["READMARK_TEST_SEED"] ?? Math.floor(Math.random() * 0xffff_ffff));

const USERS = ["1", "2", "3", "4"];
const CONVERSATIONS = ["a", "b", "c"];
const STEPS = 250;

function userOf(device: number): string {
  return USERS[Math.floor(device / 2)] ?? "";
}

/** One life: what the IM says, what users do, and what goes wrong meanwhile. */
class Life {
  readonly #random: Random;
  readonly #server: TestServer;
  readonly #devices: readonly Device[];
  /** What each device has sent, and shows the tallies of. */
  readonly watched = new Map<Device, MessageRef[]>();
  readonly #heads = new Map(CONVERSATIONS.map((id) => [id, 0]));

  constructor(random: Random, server: TestServer, devices: readonly Device[]) {
    this.#random = random;
    this.#server = server;
    this.#devices = devices;
  }

  async step(): Promise<void> {
    const random = this.#random;
    const id = random.pick(CONVERSATIONS);
    const head = this.#heads.get(id) ?? 0;
    const device = random.pick(this.#devices);
    const dice = random.next();
    if (dice < 0.45) {
      await this.#send(id, head);
    } else if (dice < 0.5 && head > 0) {
      await this.#say({ type: "message_recalled", conversation_id: id, seq: String(random.int(1, head)) });
    } else if (dice < 0.55) {
      const uid = random.pick(USERS);
      await this.#say({ type: "member_left", conversation_id: id, uid, at_seq: String(head) });
      await this.#say({ type: "member_joined", conversation_id: id, uid, at_seq: String(head) });
    } else if (dice < 0.85 && head > 0) {
      device.client.markRead(id, random.int(1, head));
    } else if (dice < 0.9 && head > 0) {
      device.client.ack([{ conversationId: id, seq: random.int(1, head) }]);
    } else if (dice < 0.92 && head > 0) {
      await device.client.clear(id, random.int(1, head));
    } else if (dice < 0.98) {
      this.#server.gate.cut();
    } else if (dice < 0.99) {
      await this.#server.kill();
      await this.#server.up();
    }
  }

  async #send(id: string, head: number): Promise<void> {
    const [count, sender] = [this.#random.int(1, 3), this.#random.pick(USERS)];
    await this.#server.messages(id, sender, head + 1, head + count);
    this.#heads.set(id, head + count);
    const sent = Array.from({ length: count }, (_, i) => ({ conversationId: id, seq: String(head + 1 + i) }));
    for (const device of this.#devices.filter((_, i) => userOf(i) === sender)) {
      device.client.watch(sent);
      this.watched.set(device, [...(this.watched.get(device) ?? []), ...sent]);
    }
  }

  async #say(event: ImEvent): Promise<void> {
    await this.#server.events(event);
  }
}

interface Truth {
  readonly total: string;
  readonly conversations: readonly Readonly<Record<string, unknown>>[];
}

async function truthOf(server: TestServer, uid: string): Promise<Truth> {
  const response = await fetch(`${server.direct}/v1/unread?all=true`, {
    headers: { authorization: `Bearer ${server.token(uid, "auditor")}` },
  });
  return (await response.json()) as Truth;
}

function same(device: Device, truth: Truth): boolean {
  const { picture } = device.client;
  const seen = (row: Readonly<Record<string, unknown>>): unknown => {
    const shown = picture.conversations.get(String(row["conversation_id"]));
    return [shown?.unread, shown?.headSeq, shown?.readSeq, shown?.floorSeq, shown?.pending];
  };
  return (
    String(picture.total) === truth.total &&
    !picture.stale &&
    truth.conversations.every(
      (row) => String(seen(row)) === String([row["unread"], row["head_seq"], row["read_seq"], row["floor_seq"], false]),
    )
  );
}

/** Tallies that a device shows otherwise than the server says; of recalled messages nobody is told. */
async function wrongTallies(device: Device, messages: readonly MessageRef[]): Promise<unknown[]> {
  const answers = await device.client.receipts(messages);
  return answers.flatMap((answer) => {
    const shown = device.client.receipt(answer.conversationId, answer.seq);
    const isSame = !("error" in answer) && shown?.read === answer.read && shown.total === answer.total;
    return isSame || ("recalled" in answer && answer.recalled) ? [] : [{ answer, shown }];
  });
}

test(`after cuts and crashes every device shows what the server says (READMARK_TEST_SEED=${SEED})`, async () => {
  const server = await TestServer.start();
  try {
    await withDevices(async (device) => {
      for (const id of CONVERSATIONS) {
        await server.conversation(id, ...USERS);
      }
      const devices = USERS.flatMap((uid) => ["phone", "pc"].map((endpoint) => device(server, uid, endpoint)));
      const life = new Life(new Random(SEED), server, devices);
      for (let step = 0; step < STEPS; step += 1) {
        await life.step();
      }
      for (const one of devices) {
        await until(
          "the queue to be empty",
          async () => (await one.client.flush()) === 0,
          () => one.client.counters,
        );
      }
      for (const [i, one] of devices.entries()) {
        const uid = userOf(i);
        let wrong: unknown[] = [];
        let truth = await truthOf(server, uid);
        await until(
          `device ${i} of user ${uid} to show the truth`,
          async () => {
            truth = await truthOf(server, uid);
            return same(one, truth);
          },
          () => ({ truth, shown: one.client.picture, status: one.client.status }),
        );
        await until(
          `device ${i} of user ${uid} to show the tallies`,
          async () => {
            wrong = await wrongTallies(one, life.watched.get(one) ?? []);
            return wrong.length === 0;
          },
          () => wrong,
        );
        assert.deepEqual(
          [one.client.counters.badFrames, one.client.counters.badEntries, one.client.counters.gaps],
          [0, 0, 0],
        );
        assert.ok(
          one.dropped.every(({ reason }) => reason === "not-a-member"),
          JSON.stringify(one.dropped),
        );
      }
    });
  } finally {
    await server.remove();
  }
});

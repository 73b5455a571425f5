import { QUEUE_ACKS_MAX, QUEUE_CONVERSATIONS_MAX } from "../bounds.js";
import { fieldsOf } from "../wire/decode.js";
import { compareSeq, isDecimal, maxSeq, type Decimal, type Seq } from "./decimal.js";

/** What waits for one conversation: "read up to", "clear up to", single messages with their senders where known. */
export interface SavedWrites {
  readonly read?: Seq;
  readonly clear?: Seq;
  readonly acks: ReadonlyMap<Seq, Decimal | undefined>;
}

/**
 * The queue as the storage keeps it, by conversation, the oldest first. Several tabs share it: each adds what it was
 * told and takes away what was answered, and never writes what it believes to be all.
 */
export type SavedQueue = ReadonlyMap<string, SavedWrites>;

/** Nothing. */
export const EMPTY: SavedQueue = new Map();

function of(read: Seq | undefined, clear: Seq | undefined, acks: ReadonlyMap<Seq, Decimal | undefined>): SavedWrites {
  return { ...(read === undefined ? {} : { read }), ...(clear === undefined ? {} : { clear }), acks };
}

function higher(a: Seq | undefined, b: Seq | undefined): Seq | undefined {
  return a === undefined || b === undefined ? (a ?? b) : maxSeq(a, b);
}

/** Both together: marks by maximum, messages as a union. Beyond the bounds the oldest go. */
export function merge(saved: SavedQueue, added: SavedQueue): SavedQueue {
  const merged = new Map(saved);
  for (const [id, { read, clear, acks }] of added) {
    const known = merged.get(id);
    merged.set(
      id,
      of(higher(known?.read, read), higher(known?.clear, clear), new Map([...(known?.acks ?? []), ...acks])),
    );
  }
  let acks = [...merged.values()].reduce((sum, writes) => sum + writes.acks.size, 0);
  for (const [id, writes] of merged) {
    if (merged.size <= QUEUE_CONVERSATIONS_MAX && acks <= QUEUE_ACKS_MAX) {
      break;
    }
    acks -= writes.acks.size;
    merged.delete(id);
  }
  return merged;
}

/** Without what is done: marks up to the ones named, and the messages named. */
export function subtract(saved: SavedQueue, done: SavedQueue): SavedQueue {
  const left = new Map(saved);
  for (const [id, writes] of done) {
    const known = left.get(id);
    if (known === undefined) {
      continue;
    }
    const above = (seq: Seq | undefined, up: Seq | undefined): Seq | undefined =>
      seq !== undefined && (up === undefined || compareSeq(seq, up) > 0) ? seq : undefined;
    const acks = new Map([...known.acks].filter(([seq]) => !writes.acks.has(seq)));
    const rest = of(above(known.read, writes.read), above(known.clear, writes.clear), acks);
    if (rest.read === undefined && rest.clear === undefined && acks.size === 0) {
      left.delete(id);
    } else {
      left.set(id, rest);
    }
  }
  return left;
}

/** As text. */
export function encode(saved: SavedQueue): string {
  const conversations = [...saved].map(([id, { read, clear, acks }]) => ({
    id,
    read,
    clear,
    acks: [...acks].map(([seq, sender]) => (sender === undefined ? [seq] : [seq, sender])),
  }));
  return JSON.stringify({ conversations });
}

function seqIn(value: unknown): Seq | undefined {
  return typeof value === "string" && isDecimal(value) && value !== "0" ? value : undefined;
}

function writesIn(value: unknown): [string, SavedWrites] | undefined {
  const fields = fieldsOf(value);
  const id = fields?.["id"];
  if (!fields || typeof id !== "string" || id === "") {
    return undefined;
  }
  const acks = new Map<Seq, Decimal | undefined>();
  const list: unknown = fields["acks"];
  for (const pair of Array.isArray(list) ? (list as unknown[]) : []) {
    const [seq, sender] = Array.isArray(pair) ? (pair as unknown[]) : [];
    const known = seqIn(seq);
    if (known !== undefined) {
      acks.set(known, typeof sender === "string" && isDecimal(sender) ? sender : undefined);
    }
  }
  return [id, of(seqIn(fields["read"]), seqIn(fields["clear"]), acks)];
}

/** From text that this client wrote. Of anything else, what can be used: nothing, in the worst case. */
export function decode(value: unknown): SavedQueue {
  const list: unknown = fieldsOf(value)?.["conversations"];
  const saved = (Array.isArray(list) ? (list as unknown[]) : []).map(writesIn).filter((one) => one !== undefined);
  return merge(EMPTY, new Map(saved));
}

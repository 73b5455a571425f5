import { SEQ_MAX } from "../bounds.js";

/** A whole number from 0 as a decimal string without leading zeros: seqs, uids and versions travel so. */
export type Decimal = string;

/** The seq of a message, from 1 to 10^15, as a decimal string; "0" where there is no message. */
export type Seq = Decimal;

/** What is taken for a seq. Numbers are safe: the greatest seq is exact in JavaScript. */
export type SeqInput = string | number | bigint;

/** Digits of the greatest uid, 2^63 - 1: nothing that the server sends is longer. */
const DIGITS_MAX = 19;

const DECIMAL = /^(?:0|[1-9][0-9]*)$/;

/** Is this a decimal string as the server writes them? */
export function isDecimal(text: string): boolean {
  return text.length <= DIGITS_MAX && DECIMAL.test(text);
}

/** Less than 0 when `a` is the smaller, 0 when they are equal: exact, whatever their size. */
export function compareSeq(a: Decimal, b: Decimal): number {
  if (a.length !== b.length) {
    return a.length - b.length;
  }
  if (a === b) {
    return 0;
  }
  return a < b ? -1 : 1;
}

/** The greater of two. */
export function maxSeq(a: Decimal, b: Decimal): Decimal {
  return compareSeq(a, b) >= 0 ? a : b;
}

/** Is `b` the number after `a`? */
export function follows(a: Decimal, b: Decimal): boolean {
  return BigInt(b) === BigInt(a) + 1n;
}

/** A count to show. Beyond 2^53 it is rounded, which no list of messages ever reaches. */
export function countOf(text: Decimal): number {
  return Number(text);
}

/**
 * A seq as the server wants it.
 *
 * @throws RangeError when it is not a whole number from 1 to 10^15: a mistake of the program, not of the data.
 */
export function seqOf(input: SeqInput): Seq {
  const text = typeof input === "string" ? input : input.toString();
  if (!isDecimal(text) || compareSeq(text, "1") < 0 || compareSeq(text, String(SEQ_MAX)) > 0) {
    throw new RangeError(`a seq is a whole number from 1 to 10^15, not ${text.slice(0, 40)}`);
  }
  return text;
}

/**
 * A uid as the server wants it.
 *
 * @throws RangeError when it is not a whole number from 0 to 2^63 - 1, or a number that JavaScript does not hold
 * exactly.
 */
export function uidOf(input: SeqInput): Decimal {
  const text = typeof input === "string" ? input : input.toString();
  const isExact = typeof input !== "number" || Number.isSafeInteger(input);
  if (!isExact || !isDecimal(text) || compareSeq(text, "9223372036854775807") > 0) {
    throw new RangeError(`a uid is a whole number from 0 to 2^63 - 1, not ${text.slice(0, 40)}`);
  }
  return text;
}

const encoder = new TextEncoder();

/** Bytes of a conversation's id at most. */
const CONVERSATION_ID_BYTES_MAX = 64;

/**
 * A conversation's id as the server wants it.
 *
 * @throws RangeError when it is not 1 to 64 bytes of text.
 */
export function conversationIdOf(input: string): string {
  const bytes = typeof input === "string" ? encoder.encode(input).length : 0;
  if (bytes < 1 || bytes > CONVERSATION_ID_BYTES_MAX) {
    throw new RangeError(`a conversation's id is 1 to 64 bytes of text, not ${bytes}`);
  }
  return input;
}

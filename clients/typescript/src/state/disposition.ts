import type { ReadmarkError } from "../errors.js";
import type { WriteAnswer } from "./write-queue.js";

/** Places that an error names, from 0. */
function placesOf(error: ReadmarkError): number[] {
  return error.items.map((item) => item.index).filter((index) => index !== undefined);
}

/** What a failed write means for the queue. A server, a network or a token that is away never drops anything. */
export function dispositionOf(error: ReadmarkError): WriteAnswer {
  const { status, code, message: detail } = error;
  if (code === "seq-beyond-head") {
    return { kind: "not-there", places: placesOf(error) };
  }
  if (status === 0 || status === 401 || status === 408 || status === 429 || (status > 500 && status < 600)) {
    return { kind: "away" };
  }
  if (status === 500) {
    return { kind: "fault", reason: code, detail };
  }
  return { kind: "refused", places: status === 422 ? placesOf(error) : [], reason: code, detail };
}

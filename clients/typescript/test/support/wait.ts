/** How long a condition may take: generous, since the machine may be busy. */
const DEADLINE_MS = 30_000;

/** How often it is looked at. */
const LOOK_MS = 10;

/** Waits until `look` answers something, and answers that; says what was seen last when it takes too long. */
export async function until<T>(
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
  seen: () => unknown = () => "",
): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) {
      return found;
    }
    if (Date.now() > deadline) {
      throw new Error(`waited in vain for ${what}; seen last: ${JSON.stringify(seen(), plain)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function plain(_: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value as Map<string, unknown>) : value;
}

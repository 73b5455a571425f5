import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KeyValueStorage } from "../io/storage.js";

/** Keeps each text in a file of its own in a folder, readable by its owner only. For one process at a time. */
export function fileStorage(folder: string): KeyValueStorage {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (key: string): string => join(folder, `${createHash("sha256").update(key).digest("hex")}.json`);
  return {
    getItem(key) {
      try {
        return readFileSync(fileOf(key), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") {
          return null;
        }
        throw error;
      }
    },
    setItem(key, text) {
      const file = fileOf(key);
      // Written beside and renamed, so that a crash leaves the old text or the new one.
      writeFileSync(`${file}.new`, text, { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
    removeItem(key) {
      rmSync(fileOf(key), { force: true });
    },
  };
}

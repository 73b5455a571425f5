import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter } from "../../src/io/emitter.js";

test("a listener that throws stops no other, and its error is thrown where nothing of the client waits", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const emitter = new Emitter();
  const told: string[] = [];
  emitter.on("status", () => {
    throw new Error("a mistake of the application");
  });
  const stop = emitter.on("status", ({ state }) => told.push(state));
  emitter.emit("status", { state: "live", reason: "" });
  stop();
  emitter.emit("status", { state: "closed", reason: "" });
  assert.deepEqual(told, ["live"]);
  assert.throws(() => context.mock.timers.runAll(), /a mistake of the application/);
});

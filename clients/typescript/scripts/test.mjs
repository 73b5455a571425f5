// Bundles each test and runs them with Node's own runner. Names on the command line choose among the files.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;

const chosen = process.argv.slice(2);
const files = readdirSync(`${root}test`, { recursive: true })
  .filter((file) => file.endsWith(".test.ts"))
  .filter((file) => chosen.length === 0 || chosen.some((name) => file.includes(name)))
  .sort();

rmSync(`${root}build`, { recursive: true, force: true });
await build({
  entryPoints: files.map((file) => `${root}test/${file}`),
  outdir: `${root}build`,
  outbase: `${root}test`,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});

const built = files.map((file) => `${root}build/${file.replace(/\.ts$/, ".js")}`);
const run = spawnSync(
  process.execPath,
  // Files after one another: each may start servers, and the machine is small.
  ["--enable-source-maps", "--test", "--test-concurrency=1", "--test-timeout=120000", ...built],
  { stdio: "inherit", cwd: root },
);
process.exitCode = run.status ?? 1;

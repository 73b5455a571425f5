// Makes dist/: modules and their types, one file for each source, and readmark.min.js, all in one for browsers.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;

rmSync(`${root}dist`, { recursive: true, force: true });
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "--project", `${root}tsconfig.build.json`], {
  stdio: "inherit",
});

const bundle = `${root}dist/readmark.min.js`;
await build({
  entryPoints: [`${root}src/index.ts`],
  outfile: bundle,
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  minify: true,
  legalComments: "none",
  logLevel: "warning",
});

const bytes = readFileSync(bundle);
console.log(`dist/readmark.min.js: ${bytes.length} bytes, ${gzipSync(bytes, { level: 9 }).length} gzipped`);

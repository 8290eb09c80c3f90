// What a browser loads before it plays: the bytes of the page and its module with brotli.
// usage: node weigh.mjs FOLDER
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

const LATER = /^record[._]/; // loaded once a person opens a file
const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };

const folder = process.argv[2];
let bytes = 0;
for (const name of await readdir(folder)) {
  if (!LATER.test(name)) {
    bytes += brotliCompressSync(await readFile(join(folder, name)), { params }).length;
  }
}
console.log(bytes);

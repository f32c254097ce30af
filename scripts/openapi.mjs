/** Writes docs/openapi.json from the table of routes and the declarations of the actions. Build first. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../dist/doors/server/openapi.js';

const file = fileURLToPath(new URL('../docs/openapi.json', import.meta.url));
const formatter = fileURLToPath(new URL('../node_modules/@biomejs/biome/bin/biome', import.meta.url));
writeFileSync(file, `${JSON.stringify(openApiDocument(), null, 2)}\n`);
process.exitCode = spawnSync(process.execPath, [formatter, 'format', '--write', file], { stdio: 'inherit' }).status ?? 1;

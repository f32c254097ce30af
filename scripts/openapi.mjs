/** Writes docs/openapi.json from the table of routes and the declarations of the actions. Build first. */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../dist/doors/server/openapi.js';

writeFileSync(new URL('../docs/openapi.json', import.meta.url), `${JSON.stringify(openApiDocument(), null, 2)}\n`);

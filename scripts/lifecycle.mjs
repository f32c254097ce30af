/** Writes the job chart into the README, between its two markers. Run after `npm run build`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jobMachine, toMermaid } from '../dist/machines/index.js';

const readme = join(import.meta.dirname, '..', 'README.md');
const text = readFileSync(readme, 'utf8');
const drawn = text.replace(
  /(<!-- lifecycle:[^\n]*-->\n)[\s\S]*?(<!-- \/lifecycle -->)/,
  (_, start, end) => `${start}\`\`\`mermaid\n${toMermaid(jobMachine)}\n\`\`\`\n${end}`,
);
writeFileSync(readme, drawn);

/** Builds the page of `web/` into dist/dashboard, unless it is there and nothing that it is made of has changed. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const STAMP = join(ROOT, 'dist', '.dashboardinfo');
/** What ends up in the page, and what decides how. */
const SOURCES = ['web', 'src/doors', 'src/model', 'package-lock.json'];

export async function buildDashboard() {
  const sources = sourcesHash();
  const isThere = existsSync(join(ROOT, 'dist', 'dashboard', 'index.html'));
  if (isThere && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === sources) return;
  const { NODE_ENV } = process.env;
  // Whoever calls: it is the page that is shipped.
  process.env.NODE_ENV = 'production';
  try {
    const { build } = await import('vite');
    await build({ configFile: join(ROOT, 'web', 'vite.config.ts'), logLevel: 'warn' });
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
  writeFileSync(STAMP, sources);
}

function sourcesHash() {
  const hash = createHash('sha256');
  for (const source of SOURCES) {
    const path = join(ROOT, source);
    const files = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => join(entry.parentPath, entry.name))
      : [path];
    for (const file of files.sort()) hash.update(file).update(readFileSync(file));
  }
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildDashboard();

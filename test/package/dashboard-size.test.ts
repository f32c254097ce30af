/**
 * What the dashboard weighs, and that it is a page of files of its own: relative, nothing inline, nothing from elsewhere.
 *
 * The first view is what index.html needs before it shows a row. The rest comes when that stands, so it is on nobody's way.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILT = join(ROOT, 'dist', 'dashboard');
const KB = 1_024;

const assets = (ending: string): readonly string[] => readdirSync(join(BUILT, 'assets')).filter((name) => name.endsWith(ending));
const weightOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + gzipSync(readFileSync(join(BUILT, 'assets', name)), { level: 9 }).length, 0);

/** A file and all that it imports before it runs. */
function withImports(name: string, known: Set<string> = new Set()): Set<string> {
  if (known.has(name)) return known;
  known.add(name);
  const code = readFileSync(join(BUILT, 'assets', name), 'utf8');
  for (const [, imported] of code.matchAll(/(?:^|[;}])\s*import\s*(?:[^"'`();]*?from)?\s*["'`]\.\/([\w.-]+\.js)["'`]/g)) {
    withImports(imported as string, known);
  }
  return known;
}

let html = '';

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'dashboard.mjs')], { cwd: ROOT, stdio: 'inherit' });
  html = readFileSync(join(BUILT, 'index.html'), 'utf8');
});

describe('the dashboard', () => {
  it('needs at most 25 KB of script for its first view, and 46 KB in all', () => {
    const entries = [...html.matchAll(/<script[^>]* src="\.\/assets\/([^"]+)"/g)].map(([, name]) => name as string);
    expect(entries).toHaveLength(1);
    const first = withImports(entries[0] as string);
    expect(weightOf([...first])).toBeLessThanOrEqual(25 * KB);
    expect(weightOf(assets('.js'))).toBeLessThanOrEqual(46 * KB);
  });

  it('needs at most 6 KB of styles in all', () => {
    expect(weightOf(assets('.css'))).toBeLessThanOrEqual(6 * KB);
  });

  it('has nothing inline, and no address but relative ones', () => {
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i);
    expect([...html.matchAll(/<script\b[^>]*>([^<]*)</g)].map(([, code]) => code?.trim())).toEqual(['']);
    const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address as string);
    expect(addresses.length).toBeGreaterThan(0);
    expect(addresses.filter((address) => !address.startsWith('./'))).toEqual([]);
  });

  it('asks nobody but its own server', () => {
    const foreign = [...assets('.js'), ...assets('.css')].flatMap((name) =>
      [...readFileSync(join(BUILT, 'assets', name), 'utf8').matchAll(/(?:https?|wss?):\/\/[^\s"'`)]*/g)].map(([url]) => url),
    );
    // Names of XML languages, and the address in the words of an error.
    const harmless = (url: string): boolean => url.startsWith('http://www.w3.org/') || url.startsWith('http://127.0.0.1');
    expect(foreign.filter((url) => !harmless(url))).toEqual([]);
  });

  it('makes no markup of text', () => {
    const sources = readdirSync(join(ROOT, 'web', 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
    expect(sources.filter((text) => /dangerouslySetInnerHTML|\.innerHTML|insertAdjacentHTML|outerHTML/.test(text))).toEqual([]);
  });
});

/** `offstage/client` in a browser: one file, nothing of Node in it, and small. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
/** The dashboard has 25 KiB for everything. Of this, @xstate/store is 2.6. */
const MOST_KIB = 14;

const folder = mkdtempSync(join(tmpdir(), 'offstage-bundle-'));
let code = '';
let chunks = 0;

beforeAll(async () => {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'offstage'));
  writeFileSync(
    join(folder, 'entry.js'),
    "import { connect, isOffstageError } from 'offstage/client';\nglobalThis.offstage = { connect, isOffstageError };\n",
  );
  const { build } = await import('vite');
  const built = await build({
    root: folder,
    configFile: false,
    logLevel: 'error',
    build: { write: false, modulePreload: false, rollupOptions: { input: join(folder, 'entry.js') } },
  });
  const outputs = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  chunks = outputs.length;
  code = outputs.map((output) => ('code' in output ? output.code : '')).join('\n');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('is one file without anything of Node', () => {
  expect(chunks).toBe(1);
  expect(code).not.toMatch(/node:|\brequire\(|__vite-browser-external|\bprocess\.|\bBuffer\b/);
});

it(`is at most ${MOST_KIB} KiB, compressed`, () => {
  expect(gzipSync(code).length / 1_024).toBeLessThan(MOST_KIB);
});

it('runs where there is only what browsers have', async () => {
  const sent: string[] = [];
  class Socket {
    readonly readyState = 1;
    readonly #listeners = new Map<string, (event: unknown) => void>();
    constructor() {
      setImmediate(() => this.#listeners.get('open')?.({}));
    }
    addEventListener(type: string, listener: (event: unknown) => void): void {
      this.#listeners.set(type, listener);
    }
    send(text: string): void {
      sent.push(text);
      const { request_id } = JSON.parse(text);
      const snapshot = { type: 'snapshot', request_id, epoch: 'e', seq: 7, tasks: [], sessions: [], jobs: [], counts: {} };
      setImmediate(() => this.#listeners.get('message')?.({ data: JSON.stringify(snapshot) }));
    }
    close(): void {}
  }
  const window = { WebSocket: Socket, URL, fetch, setTimeout, clearTimeout, AbortController, AbortSignal, console } as Record<
    string,
    unknown
  >;
  window.globalThis = window;
  runInNewContext(code, window);
  const { connect } = window.offstage as typeof import('../../src/doors/client/index.ts');
  const client = connect({ url: 'http://127.0.0.1:4817/' });
  await client.opened();
  expect(JSON.parse(sent[0] as string)).toEqual({ action: 'subscribe', brief: true, request_id: 1 });
  client.close();
  expect(client.live.get().connection).toMatchObject({ status: 'lost', seq: 7 });
});

it('imports nothing of Node, file by file', () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
    for (const [, target] of text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)'/gm)) {
      if (target?.startsWith('.')) visit(resolve(dirname(file), target));
      else expect(target, file).toBe('@xstate/store');
    }
  };
  visit(join(ROOT, 'src/doors/client/index.ts'));
  expect(seen.size).toBeGreaterThan(20);
  expect([...seen].filter((file) => file.includes('/engine/') || file.endsWith('model/errors.ts'))).toEqual([]);
});

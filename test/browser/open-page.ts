/**
 * An engine, its server, and pages of the dashboard in the browser that all tests of a run share.
 *
 * Closing also asserts that no page has complained: an error on its console (what its content policy refuses is one) fails the test.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, devices, type Page } from 'playwright-core';
import { afterAll, expect, inject } from 'vitest';
import { type OffstageServer, serve } from '../../src/doors/server/index.ts';
import type { Offstage } from '../../src/engine/offstage.ts';
import type { Executors } from '../../src/model/executor.ts';
import { type OpenOptions, open } from '../../src/open.ts';

/** The phone of the mobile rows. */
export const PHONE: BrowserContextOptions = { ...devices['Pixel 5'] };

/** Of every wait for something on a page. */
const TIMEOUT_MS = 15_000;

let browser: Promise<Browser> | null = null;

/** The browser of this run. */
function sharedBrowser(): Promise<Browser> {
  browser ??= chromium.connect(inject('browserEndpoint'));
  return browser;
}

afterAll(async () => {
  await (await browser)?.close();
  browser = null;
});

export interface Dashboard extends AsyncDisposable {
  readonly offstage: Offstage<Executors>;
  readonly server: OffstageServer;
  /** A page of its own context, let in and showing its first view. @param hash what follows `#` in the address */
  page(options?: PageOptions): Promise<Page>;
  /** Complaints that a test expects, such as those of a connection that it cuts. */
  ignore(complaint: RegExp): void;
}

export interface PageOptions extends BrowserContextOptions {
  /** What follows the `#`, for example `/job/j1?show=running`. */
  readonly hash?: string;
  /** Default `operate`. */
  readonly scope?: 'observe' | 'operate';
}

/** @param options of the engine; by default it lies in a folder of its own, which is removed */
export async function openDashboard(options: Partial<OpenOptions<Executors>> = {}): Promise<Dashboard> {
  const dataDir = await mkdtemp(join(tmpdir(), 'offstage-browser-'));
  const offstage = (await open({ dataDir, durability: 'process', ...options } as OpenOptions<Executors>)) as Offstage<Executors>;
  const server = await serve(offstage);
  const complaints: string[] = [];
  const ignored: RegExp[] = [];
  const pages: Page[] = [];
  return {
    offstage,
    server,
    async page({ hash = '', scope = 'operate', ...contextOptions } = {}) {
      const context = await (await sharedBrowser()).newContext({
        viewport: { width: 1280, height: 800 },
        reducedMotion: 'reduce',
        ...contextOptions,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(TIMEOUT_MS);
      pages.push(page);
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      await letIn(page, server, scope);
      await page.goto(`${server.url}${hash === '' ? '' : `#${hash}`}`);
      await page.locator('[data-testid="connection"][data-status="open"]').waitFor();
      // What comes after the first view is there: keys, actions, details.
      await page.getByRole('status').waitFor({ state: 'attached' });
      return page;
    },
    ignore: (complaint) => void ignored.push(complaint),
    async [Symbol.asyncDispose]() {
      await Promise.all(pages.map((page) => page.context().close()));
      await offstage.close();
      await rm(dataDir, { recursive: true, force: true });
      expect(complaints.filter((text) => !ignored.some((pattern) => pattern.test(text)))).toEqual([]);
    },
  };
}

/** As a person comes: by the link, or with a token in the form. */
async function letIn(page: Page, server: OffstageServer, scope: 'observe' | 'operate'): Promise<void> {
  if (scope === 'operate') {
    await page.goto(server.oneTimeUrl());
    return;
  }
  await page.request.post(`${server.url}login`, { form: { token: server.issueToken(scope) } });
}

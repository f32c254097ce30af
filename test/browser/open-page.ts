/**
 * An engine, its server, and pages of the dashboard in the browser that all tests of a run share.
 *
 * Closing also asserts that no page has complained, or asked anybody else: an error on its console (what its content policy refuses is one)
 * fails the test.
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

/** Pages of one test. Disposing closes them, and asserts that none has complained and that nothing they asked for was of another origin. */
class Watch implements AsyncDisposable {
  readonly #complaints: string[] = [];
  readonly #ignored: RegExp[] = [];
  readonly #pages: Page[] = [];

  ignore(complaint: RegExp): void {
    this.#ignored.push(complaint);
  }

  /** A page of its own context; `origin` is the only one that it may ask. */
  async page(origin: string, options: BrowserContextOptions): Promise<Page> {
    const context = await (await sharedBrowser()).newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      ...options,
    });
    const note = (complaint: string): void => void this.#complaints.push(complaint);
    context.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') note(message.text());
    });
    context.on('weberror', (error) => note(String(error.error())));
    context.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) note(`It has asked ${request.url()}`);
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    const page = await context.newPage();
    this.#pages.push(page);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#pages.map((page) => page.context().close()));
    expect(this.#complaints.filter((text) => !this.#ignored.some((pattern) => pattern.test(text)))).toEqual([]);
  }
}

export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  /** As of `Dashboard`. */
  ignore(complaint: RegExp): void;
}

/** A page at an address, whoever serves it. */
export async function openPage(address: string, options: BrowserContextOptions = {}): Promise<OpenedPage> {
  const watch = new Watch();
  const page = await watch.page(new URL(address).origin, options);
  await page.goto(address);
  return { page, ignore: (complaint) => watch.ignore(complaint), [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose]() };
}

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
  /** Called with the page before it is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** @param options of the engine; unless it is given a store it lies in a folder of its own, which is removed */
export async function openDashboard(options: Partial<OpenOptions<Executors>> = {}): Promise<Dashboard> {
  const dataDir = await mkdtemp(join(tmpdir(), 'offstage-browser-'));
  const where = options.store ? {} : { dataDir };
  const offstage = (await open({ ...where, durability: 'process', ...options } as OpenOptions<Executors>)) as Offstage<Executors>;
  const server = await serve(offstage);
  const watch = new Watch();
  return {
    offstage,
    server,
    async page({ hash = '', scope = 'operate', prepare = async () => {}, ...contextOptions } = {}) {
      const page = await watch.page(new URL(server.url).origin, contextOptions);
      await prepare(page);
      await letIn(page, server, scope);
      await page.goto(`${server.url}${hash === '' ? '' : `#${hash}`}`);
      await page.locator('[data-testid="connection"][data-status="open"]').waitFor();
      // What comes after the first view is there: keys, actions, details.
      await page.getByRole('status').waitFor({ state: 'attached' });
      return page;
    },
    ignore: (complaint) => watch.ignore(complaint),
    async [Symbol.asyncDispose]() {
      try {
        await watch[Symbol.asyncDispose]();
      } finally {
        await offstage.close();
        await rm(dataDir, { recursive: true, force: true });
      }
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

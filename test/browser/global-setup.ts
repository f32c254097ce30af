/** Before the first browser test of a run: the page is built, and one browser is launched for all of them. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { launchBrowser } from './browser.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly browserEndpoint: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const root = join(import.meta.dirname, '..', '..');
  // The charts are drawn from what is compiled: without it the page is tested without them.
  execFileSync(process.execPath, [join(root, 'scripts', 'dashboard.mjs')], { cwd: root, stdio: 'inherit' });
  const browser = await launchBrowser();
  project.provide('browserEndpoint', browser.wsEndpoint());
  return () => browser.close();
}

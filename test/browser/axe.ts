/** What axe-core finds against a page. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const SOURCE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = JSON.stringify({
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  resultTypes: ['violations'],
  preload: false,
});

/** As lines of rule and element; the script comes by the driver, so the content policy has no say. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(`${SOURCE}; undefined`);
  return page.evaluate<string[]>(`axe.run(${RULES}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 160) + ' ' + (failureSummary ?? '').slice(0, 200))))`);
}

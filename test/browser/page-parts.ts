/** What the tests look at on the page: rows, details, colours, and what has the focus. */
import type { Locator, Page } from 'playwright-core';

export type RowKind = 'task' | 'session' | 'job';

export const rowOf = (page: Page, kind: RowKind, id: string): Locator =>
  page.locator(`.row[data-kind="${kind}"][data-id="${id}"]`);

/** The row, once it shows this state. */
export const rowIn = (page: Page, kind: RowKind, id: string, state: string): Locator =>
  page.locator(`.row[data-kind="${kind}"][data-id="${id}"][data-state="${state}"]`);

export const iconOf = (row: Locator): Locator => row.locator('.row-name .state');

export const detailOf = (page: Page): Locator => page.getByRole('region', { name: 'Detail' });

export const sentenceOf = (page: Page): Locator => page.getByTestId('sentence');

export const listOf = (page: Page): Locator => page.getByRole('treegrid');

export const chipOf = (page: Page, filter: string): Locator => page.locator(`.chip[data-filter="${filter}"]`);

/** Resolves when so many jobs run by the badge. */
export const badgeSays = (page: Page, count: number): Promise<void> =>
  page.locator(`[data-testid="running-count"][data-count="${count}"]`).waitFor();

export const connectionIs = (page: Page, status: 'open' | 'lost' | 'refused'): Promise<void> =>
  page.locator(`[data-testid="connection"][data-status="${status}"]`).waitFor();

/** Titles of the rows that are drawn, from the top. */
export const titlesOf = (page: Page): Promise<readonly string[]> =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll('.row')].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.querySelector('.row-title').textContent)`,
  );

/** The part of a browser's world that these functions call. */
interface World {
  getComputedStyle(element: unknown): Readonly<Record<string, string>>;
}

/** Computed values of an element. */
export const styleOf = <Name extends string>(element: Locator, ...names: Name[]): Promise<Readonly<Record<Name, string>>> =>
  element.evaluate((found, wanted) => {
    const style = (globalThis as unknown as World).getComputedStyle(found);
    return Object.fromEntries(wanted.map((name) => [name, style[name] ?? ''])) as Readonly<Record<Name, string>>;
  }, names);

/** `data-key`, label or text of what has the focus; `BODY` when nothing has. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    `(() => { const { dataset, ariaLabel, textContent, tagName } = document.activeElement; return tagName === 'BODY' ? tagName : (dataset.key ?? ariaLabel ?? (textContent.trim() || tagName)); })()`,
  );

/** Pixels by which the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

/** The lists of deliberate breaks are kept: each one still applies to the sources as they are. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Break {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly guarantee?: string;
}

const breaksOf = async (name: string): Promise<readonly Break[]> =>
  ((await import(`../../../scripts/${name}.mjs`)) as { readonly BREAKS: readonly Break[] }).BREAKS;
const ENGINE = await breaksOf('engine-breaks');

describe.each([
  ['engine-breaks', ENGINE],
  ['stop-breaks', await breaksOf('stop-breaks')],
])('%s', (_, breaks) => {
  it.each(breaks.map(({ name, ...one }) => [name, one] as const))('%s', (_name, { file, find, replace }) => {
    expect(readFileSync(file, 'utf8').split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
  });

  it('names each of them once', () => {
    const names = breaks.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

it('there are breaks of every guarantee', () => {
  const guarantees = new Set(ENGINE.map(({ guarantee }) => guarantee));
  expect([...guarantees].sort()).toEqual(Array.from({ length: 16 }, (_, index) => `G${index + 1}`).sort());
});

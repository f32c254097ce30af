/** docs/guarantees.md: all sixteen, in the words that were specified, and nothing named in it that does not exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKERS } from '../../src/testing/index.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(ROOT, 'docs', 'guarantees.md'), 'utf8');

/** The words and the checker of each: neither changes by accident. */
const GUARANTEES: readonly (readonly [words: string, checker: string])[] = [
  ['exactly one terminal state per accepted job; nothing of a terminal record changes', 'g01-one-end'],
  ['status only moves forward along the chart', 'g02-forward-only'],
  ['after `cancel` returns, terminal within the grace', 'g03-cancel-in-time'],
  ['card = job under the mapping of §9, at every committed instant', 'g04-card-is-job'],
  ['a crash at any instant loses no acknowledged job, revives none, runs none twice', 'g05-crash'],
  ['`sessionId` never changes', 'g06-session-fixed'],
  ['no observer sees a state that is not durable (answers marked `durable: false` excepted)', 'g07-durable-first'],
  [
    'starts of jobs nobody in the engine waits for follow spawn order within each session and, saturated sessions aside, over all; executing, not-waiting, not-ending bodies ≤ workers; slots balance to zero',
    'g08-order-and-slots',
  ],
  ['one total order of events; record events gapless', 'g09-one-order'],
  ['of N concurrent prompts one is admitted; stale tokens change nothing', 'g10-one-prompt'],
  ['activity = recomputed from facts, count = live registrations', 'g11-activity-from-facts'],
  ['per session and per task, publications in order, none stale', 'g12-ordered-publications'],
  ["stop reaches every execution and every non-terminal job of its task and none of another's", 'g13-stop-reaches-all'],
  ['a waiter settles exactly once', 'g14-waiters-once'],
  ['no body runs after its terminal event unless the record says `detached`', 'g15-no-body-after-end'],
  [
    'every foreign callback (executor, observer, inspector, adapter, store) may throw, hang or re-enter without harm to anyone else',
    'g16-fences',
  ],
];

/** By their headings; `number` of those that are no guarantee is null. */
const sections = text
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const number = /^G(\d+): /.exec(section)?.[1];
    return { number: number === undefined ? null : Number(number), section };
  });
const read = (path: string): string => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), 'utf8') : '');

it('has one section for each guarantee, in order', () => {
  const numbers = sections.flatMap(({ number }) => number ?? []);
  expect(numbers).toEqual(GUARANTEES.map((_, index) => index + 1));
});

describe.each(GUARANTEES.map(([words, checker], index) => ({ number: index + 1, words, checker })))('G$number', (one) => {
  const section = sections.find(({ number }) => number === one.number)?.section ?? '';

  it('is quoted in the words that were specified', () => {
    expect([...section.matchAll(/^> (.+)$/gm)].map(([, words]) => words)).toEqual([one.words]);
  });

  it('says what is not promised, and which checker watches it', () => {
    expect(section).toMatch(/^Not promised/m);
    expect(section).toContain(`Watched by \`${one.checker}\`.`);
  });

  it('is watched by a checker that is there, and says the same', () => {
    const source = read(`src/testing/simulation/checkers/${one.checker}.ts`);
    expect(source).toMatch(new RegExp(`^/\\*\\*\\n \\* G${one.number}: `));
    expect(source).toContain(`guarantee: 'G${one.number}'`);
    expect(CHECKERS[one.number - 1]).toMatchObject({ guarantee: `G${one.number}`, promise: one.words });
  });

  it('is enforced where it says: every file is there, and has the rules that are named with it', () => {
    const places = [...section.matchAll(/`(src\/[^`]+\.ts)`(?: \(([A-Z]{3}\d+(?:, [A-Z]{3}\d+)*)\))?/g)];
    expect(places.length).toBeGreaterThan(1);
    const wrong = places.flatMap(([, path = '', rules = '']) => {
      const source = read(path);
      if (source === '') return [path];
      return rules.split(', ').filter((rule) => rule !== '' && !new RegExp(`^ \\* ${rule} `, 'm').test(source));
    });
    expect(wrong).toEqual([]);
  });

  it('is proven by tests that are there', () => {
    const tests = [...section.matchAll(/^- `((?:test|property-tests)\/[^`]+\.test\.ts)`: "(.+)"$/gm)];
    expect(tests.length).toBeGreaterThan(3);
    expect(tests.filter(([, path = '', title = '']) => !read(path).includes(title)).map(([line]) => line)).toEqual([]);
  });
});

it('has no other checkers than those', () => {
  expect(CHECKERS).toHaveLength(GUARANTEES.length);
  const files = readdirSync(join(ROOT, 'src/testing/simulation/checkers')).filter((file) => /^g\d/.test(file));
  expect(files.sort()).toEqual(GUARANTEES.map(([, checker]) => `${checker}.ts`));
});

it('names no other file that is not there', () => {
  const paths = [...text.matchAll(/`(?:node )?((?:src|test|property-tests|scripts)\/[^`\s]+\.(?:ts|mjs|md))`/g)].map(
    ([, path = '']) => path,
  );
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

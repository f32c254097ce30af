/** What the dashboard says, as data: durations, sentences, the address. */
import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress } from '../../web/src/model/address.ts';
import type { JobRow } from '../../web/src/model/client.ts';
import { ago, duration, elapsed } from '../../web/src/model/long-words.ts';
import { OutputText } from '../../web/src/model/output-text.ts';
import { rowNote } from '../../web/src/model/row-words.ts';
import type { Row } from '../../web/src/model/rows.ts';
import { jobSentence } from '../../web/src/model/sentences.ts';
import { jobTime, shortDuration, shortElapsed } from '../../web/src/model/words.ts';

describe('durations', () => {
  it.each([
    [-5, '0ms', '0s'],
    [40, '40ms', '0s'],
    [3_240, '3.2s', '3s'],
    [9_960, '9s', '9s'],
    [12_900, '12s', '12s'],
    [200_000, '3m 20s', '3m 20s'],
    [7_500_000, '2h 5m', '2h 5m'],
    [172_800_000, '2d', '2d'],
  ])('%d ms', (ms, short, growing) => {
    expect(shortDuration(ms)).toBe(short);
    expect(shortElapsed(ms)).toBe(growing);
  });

  it('in sentences', () => {
    expect([duration(200_000), duration(40), elapsed(4_900), ago(200_000), ago(300)]).toEqual([
      '3 min 20 s',
      '40 ms',
      '4 s',
      '3 min ago',
      'just now',
    ]);
  });
});

const NOW = 1_000_000;
const job = (more: Partial<JobRow>): JobRow =>
  ({
    kind: 'command',
    createdAt: NOW - 300_000,
    startedAt: NOW - 290_000,
    completedAt: null,
    lastActivityAt: null,
    cancelRequestedAt: null,
    status: 'running',
    detached: false,
    bodyLive: true,
    reasonCode: null,
    ...more,
  }) as JobRow;

describe('DSH5: a job in a sentence', () => {
  it.each<[string, Partial<JobRow>]>([
    ['Waiting for a slot for 5 min', { status: 'queued', startedAt: null }],
    ['Running for 4 min 50 s, last heard 4 min ago', {}],
    ['Running for 4 min 50 s', { lastActivityAt: NOW - 1_000 }],
    ['Cancelling… asked 4 s ago; it has not ended yet', { cancelRequestedAt: NOW - 4_000 }],
    ['Completed in 2.0 s, 4 min ago', { status: 'completed', completedAt: NOW - 288_000, reasonCode: 'completed' }],
    ['Timed out after 10 s, 4 min ago', { status: 'errored', completedAt: NOW - 280_000, reasonCode: 'timed_out' }],
    [
      'Cancelled before it started, 4 s ago',
      { status: 'cancelled', startedAt: null, completedAt: NOW - 4_000, reasonCode: 'cancel.user' },
    ],
    [
      'Cancelled by force after 10 s, 4 min ago; it may still be running',
      { status: 'cancelled', completedAt: NOW - 280_000, reasonCode: 'cancel.timed_out', detached: true },
    ],
    [
      'Lost when the engine died after 10 s, 4 min ago',
      { status: 'errored', completedAt: NOW - 280_000, reasonCode: 'abandoned.crash' },
    ],
  ])('%s', (sentence, more) => {
    expect(jobSentence(job(more), NOW)).toBe(sentence);
  });

  it('its time stands still after the end, whatever the clock says', () => {
    const ended = job({ status: 'completed', completedAt: NOW - 288_000 });
    expect([jobTime(ended, NOW), jobTime(ended, NOW + 9_999_999)]).toEqual(['2.0s', '2.0s']);
  });

  it('its row says when it was last heard of', () => {
    expect(rowNote({ kind: 'job', item: job({}) } as Row, NOW)).toBe('last heard 4 min ago, command');
  });
});

describe('DSH10: the address', () => {
  it.each(['#/', '#/job/j%2F1?show=running,queued&q=a+b', '#/task/%3Cb%3E', '#/?q=x'])('%s comes back as it is', (address) => {
    expect(formatAddress(parseAddress(address))).toBe(address);
  });

  it.each(['', '#', '#/nothing/1', '#/job', '#/job/%E0%A4%A', '#/?show=toString,__proto__,x'])('%s harms nothing', (address) => {
    const { selected, search, show } = parseAddress(address);
    expect(selected === null || selected.kind === 'job').toBe(true);
    expect(selected?.id ?? '%E0%A4%A').toBe('%E0%A4%A');
    expect([search, show]).toEqual(['', []]);
  });
});

describe('DSH17: the output', () => {
  const whole = { text: 'ab', isCut: false, end: 2 };

  it('is what was read, and what came meanwhile and later, none of it twice', () => {
    const output = new OutputText();
    output.begin();
    output.add(1, 'bc');
    output.add(3, 'd');
    expect(output.read(whole)).toBe(true);
    expect([output.add(2, 'cd'), output.add(3, 'de'), output.add(5, 'f')]).toEqual([true, true, true]);
    expect(output.text).toBe('abcdef');
  });

  it('says when something is missing, also of what came meanwhile', () => {
    const output = new OutputText();
    output.begin();
    output.add(4, 'e');
    expect(output.read(whole)).toBe(false);
    output.begin();
    expect(output.read({ ...whole, text: 'abcde', end: 5 })).toBe(true);
    expect([output.add(9, 'x'), output.text]).toEqual([false, 'abcde']);
  });

  it('keeps the end of very much', () => {
    const output = new OutputText();
    output.read({ text: '', isCut: false, end: 0 });
    for (let offset = 0; offset < 300_000; offset += 1_000) output.add(offset, `${'x'.repeat(999)}\n`);
    expect([output.text.length, output.isCut, output.text.endsWith('x\n')]).toEqual([200_000, true, true]);
  });
});

import { describe, expect, it } from 'vitest';
import { isSecretKey, toPlain } from '../../src/doors/inspector/plain-value.ts';

const plain = (value: unknown): unknown => toPlain(value, isSecretKey);
const nothing = (): boolean => false;

describe('IPL1: whatever the value does', () => {
  const circle: Record<string, unknown> = { name: 'circle' };
  circle.self = { again: circle };
  const throwing = {
    before: 1,
    get broken(): never {
      throw new Error('not today');
    },
    after: 2,
  };
  const hostile = new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('no keys');
      },
    },
  );
  it.each([
    ['a getter that throws', throwing, { before: 1, broken: '[not shown: not today]', after: 2 }],
    [
      'a toJSON that throws',
      {
        a: {
          toJSON: () => {
            throw new Error('no JSON');
          },
        },
        b: 1,
      },
      { a: '[not shown: no JSON]', b: 1 },
    ],
    [
      'one that throws no error',
      {
        toJSON: () => {
          throw {
            toString: () => {
              throw 1;
            },
          };
        },
      },
      '[not shown]',
    ],
    ['a circle', circle, { name: 'circle', self: { again: '[circular]' } }],
    ['a big integer', { n: 12n }, { n: '12n' }],
    ['a proxy that throws', { hostile, n: 1 }, { hostile: '[not shown: no keys]', n: 1 }],
    [
      'a revoked proxy',
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        return [proxy];
      })(),
      [expect.stringContaining('[not shown')],
    ],
    ['functions and symbols', [() => 1, Symbol('s'), { f() {}, s: Symbol('t') }], ['[function]', '[symbol]', { s: '[symbol]' }]],
    ['numbers that JSON has not', [Number.NaN, Number.POSITIVE_INFINITY], ['NaN', 'Infinity']],
    [
      'dates, errors, maps, sets, bytes',
      [new Date(0), new TypeError('t'), new Map([[1, 2]]), new Set([1]), new Uint8Array(3)],
      ['1970-01-01T00:00:00.000Z', { name: 'TypeError', message: 't' }, '[map of 1]', [1], '[3 bytes]'],
    ],
    [
      'a toJSON that answers itself',
      (() => {
        const me = { toJSON: () => me };
        return me;
      })(),
      '[circular]',
    ],
    ['a field called __proto__', JSON.parse('{"__proto__": {"x": 1}}'), JSON.parse('{"__proto__": {"x": 1}}')],
    ['undefined', { u: undefined, n: null }, { n: null }],
  ])('%s', (_, value, expected) => {
    const shown = plain(value);
    expect(JSON.parse(JSON.stringify(shown))).toEqual(expected);
  });

  it('the same thing twice is no circle', () => {
    const twice = { n: 1 };
    expect(plain([twice, twice])).toEqual([{ n: 1 }, { n: 1 }]);
  });
});

describe('IPL2: its size is bounded', () => {
  it('long texts, lists and records are cut, and say so', () => {
    expect(plain('x'.repeat(5_000))).toBe(`${'x'.repeat(2_000)} [… 3000 more characters]`);
    expect((plain(Array.from({ length: 1_000 }, () => 1)) as unknown[]).at(-1)).toBe('[… 800 more items]');
    const record = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n]));
    expect(Object.entries(plain(record) as object).at(-1)).toEqual(['…', '[800 more fields]']);
  });

  it('deep and wide trees are cut', () => {
    let deep: unknown = 1;
    for (let n = 0; n < 10_000; n++) deep = { deep };
    expect(JSON.stringify(plain(deep)).length).toBeLessThan(500);
    const wide = (depth: number): unknown => (depth === 0 ? 'leaf' : Array.from({ length: 150 }, () => wide(depth - 1)));
    expect(JSON.stringify(plain(wide(3))).length).toBeLessThan(100_000);
  });
});

it('IPL3: nothing is shared', () => {
  const value = { list: [{ n: 1 }] };
  const copy = plain(value) as typeof value;
  copy.list[0] = { n: 2 };
  expect(value).toEqual({ list: [{ n: 1 }] });
});

describe('secrets', () => {
  it.each([
    'token',
    'accessToken',
    'GITHUB_TOKEN',
    'secret',
    'clientSecret',
    'password',
    'passwd',
    'Authorization',
    'cookie',
    'Set-Cookie',
    'api_key',
    'apiKey',
    'X-Api-Key',
    'env',
    'private_key',
    'accessKey',
    'signing-key',
    'bearer',
    'jwt',
    'pwd',
    'credentials',
  ])('under %s are withheld', (key) => {
    expect(plain({ [key]: 'hunter2', list: [{ [key]: { deep: 'hunter2' } }] })).toEqual({
      [key]: '[redacted]',
      list: [{ [key]: '[redacted]' }],
    });
  });

  it.each(['key', 'environmentName', 'event', 'pass', 'author', 'envelope'])('%s is none', (key) => {
    expect(plain({ [key]: 'shown' })).toEqual({ [key]: 'shown' });
  });

  it('null is shown, and nothing is withheld unasked', () => {
    expect(plain({ token: null })).toEqual({ token: null });
    expect(toPlain({ token: 't' }, nothing)).toEqual({ token: 't' });
  });
});

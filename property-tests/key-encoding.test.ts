/** KEY1–KEY3 for any id, and the ids people attack with (B73). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isOffstageError } from '../src/model/errors.ts';
import { decodeId, decodeOrdinal, encodeId, encodeOrdinal } from '../src/persistence/key-encoding.ts';

const anyId = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('%', '/', '.', 'A', '2', 'F') }),
);
const ordinal = fc.oneof(fc.maxSafeNat(), fc.nat(1000));
const refused = (run: () => unknown): boolean => {
  try {
    run();
    return false;
  } catch (error) {
    return isOffstageError(error, 'input.invalid');
  }
};

describe('KEY1: ids', () => {
  it('come back exactly, and use only harmless characters', () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const part = encodeId(id);
        expect(part).toMatch(/^[A-Za-z0-9_%-]+$/);
        expect(decodeId(part)).toBe(id);
      }),
      { numRuns: 2000 },
    );
  });

  it('KEY2: with a separator behind, none is the beginning of another', () => {
    fc.assert(
      fc.property(anyId, anyId, (left, right) => {
        fc.pre(left !== right);
        expect(`${encodeId(right)}/`.startsWith(`${encodeId(left)}/`)).toBe(false);
      }),
      { numRuns: 2000 },
    );
  });

  it('a part is accepted only in the one form that encodeId makes', () => {
    fc.assert(
      fc.property(fc.oneof(anyId, fc.stringMatching(/^[%A-F0-9a-f]*$/)), (part) => {
        if (refused(() => decodeId(part))) return;
        expect(encodeId(decodeId(part))).toBe(part);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    '../../x',
    '/etc/x',
    'a/../../b',
    '..',
    '.',
    '',
    '\0',
    '%',
    '%00',
    'a%2Fb',
    'x'.repeat(10_240),
    '\u2028',
    '👩‍💻',
    'é',
    '__proto__',
  ])('B73: %j', (id) => {
    expect(encodeId(id)).not.toMatch(/[/.\0]/);
    expect(decodeId(encodeId(id))).toBe(id);
  });

  it.each(['', '%4', '%41', '%2f', '%FF', 'a/b', '%E2%80', '%%'])('refuses the part %j', (part) => {
    expect(refused(() => decodeId(part))).toBe(true);
  });

  it('refuses half a surrogate pair', () => {
    expect(refused(() => encodeId('\ud800'))).toBe(true);
  });
});

describe('KEY3: ordinals', () => {
  it('come back exactly and sort as text', () => {
    fc.assert(
      fc.property(ordinal, ordinal, (left, right) => {
        expect(decodeOrdinal(encodeOrdinal(left))).toBe(left);
        expect(encodeOrdinal(left).length).toBe(encodeOrdinal(right).length);
        expect(encodeOrdinal(left) < encodeOrdinal(right)).toBe(left < right);
      }),
    );
  });

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses the number %d', (number) => {
    expect(refused(() => encodeOrdinal(number))).toBe(true);
  });

  it.each(['', '1', '00000000000000001', '9999999999999999', '000000000000000x'])('refuses the text %j', (part) => {
    expect(refused(() => decodeOrdinal(part))).toBe(true);
  });
});

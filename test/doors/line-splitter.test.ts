/** LSP1, LSP2: frames on a byte stream, wherever it is cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from '../../src/doors/control/line-splitter.ts';

describe('lines', () => {
  it('come out as they went in, wherever the stream is cut', () => {
    const line = fc.string({ unit: 'binary', maxLength: 20 }).filter((text) => !text.includes('\n') && text.trim() !== '');
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 12 }), (texts, cuts) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const splitter = new LineSplitter(1_000);
        const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const lines = places.slice(1).flatMap((to, index) => splitter.push(bytes.subarray(places[index], to)));
        expect(lines).toEqual(
          Buffer.from(texts.join('\n')).length === 0 ? [] : texts.map((text) => ({ text: text.toWellFormed() })),
        );
      }),
    );
  });

  it('one that is too long is reported at once and once; the next one is fine', () => {
    const splitter = new LineSplitter(10);
    expect(splitter.push(Buffer.from('0123456789\n'))).toEqual([{ text: '0123456789' }]);
    expect(splitter.push(Buffer.from('01234567890'))).toEqual([{ fault: 'a frame has more than 10 bytes' }]);
    expect(splitter.push(Buffer.alloc(1_000, 'x'))).toEqual([]);
    expect(splitter.push(Buffer.from('rest\nnext\n\n \n'))).toEqual([{ text: 'next' }]);
  });

  it('what comes after the last newline is a line when nothing more comes, once', () => {
    const splitter = new LineSplitter(10);
    expect(splitter.push(Buffer.from('one\ntwo'))).toEqual([{ text: 'one' }]);
    expect(splitter.end()).toEqual([{ text: 'two' }]);
    expect(splitter.end()).toEqual([]);
    splitter.push(Buffer.from('much too long'));
    expect(splitter.end()).toEqual([]);
  });

  it('bytes that are no UTF-8 are reported', () => {
    expect(new LineSplitter(10).push(Buffer.from([0xff, 0x0a, 0x61, 0x0a]))).toEqual([
      { fault: 'a frame is not valid UTF-8' },
      { text: 'a' },
    ]);
  });
});

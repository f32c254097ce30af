import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinOutput, joinPieces, lastPieces, OutputLog, outputPath, type StoredOutput } from '../../src/engine/output-log.ts';
import { LIMITS } from '../../src/model/limits.ts';

describe('the output of a job', () => {
  let folder = '';
  const errors: unknown[] = [];
  const log = (directory: string | null = join(folder, 'output')) => new OutputLog(directory, 7, (error) => errors.push(error));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'offstage-output-'));
    errors.length = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('what fits into memory leaves no file', () => {
    const output = log();
    output.append('hello ');
    output.append('world');
    expect(output.stored()).toEqual({ text: 'hello world', cut: 0, hasFile: false });
  });

  it('OLG1, OLG2: more of it is whole in the file, for the owner only, and memory keeps the end', () => {
    const output = log();
    const line = `${'é🎭'.repeat(500)}\n`;
    for (let index = 0; index < 400; index++) output.append(line);
    output.append('the end');
    const stored = output.stored() as StoredOutput;
    output.close();
    expect(stored.text.length).toBeLessThanOrEqual(LIMITS.outputMemoryBytes);
    expect(stored.text.endsWith('\nthe end')).toBe(true);
    expect(stored.text.isWellFormed()).toBe(true);
    const path = outputPath(join(folder, 'output'), 7);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toBe(`${line.repeat(400)}the end`);
    expect(joinOutput(stored, join(folder, 'output'), 7)).toBe(`${line.repeat(400)}the end`);
  });

  it('OLG2: beyond the cap the file keeps the beginning, memory the end, and the answer says that the middle is missing', () => {
    const output = log();
    const chunk = 'é'.repeat(512 * 1024);
    for (let index = 0; index < 66; index++) output.append(chunk);
    output.append('the end');
    const stored = output.stored() as StoredOutput;
    output.close();
    const file = readFileSync(outputPath(join(folder, 'output'), 7));
    expect(file.length).toBeLessThanOrEqual(LIMITS.outputSpillBytes);
    expect(file.toString('utf8')).not.toContain('\ufffd');
    const whole = joinOutput(stored, join(folder, 'output'), 7);
    expect(whole.startsWith('éé')).toBe(true);
    expect(whole).toContain('[… the middle was not kept; the end follows]');
    expect(whole.endsWith('the end')).toBe(true);
  });

  it('OLG4: just past the cap nothing is missing, nothing is there twice, and nothing else is said', () => {
    for (const excess of [0, 1, 3, LIMITS.outputMemoryBytes - 1, LIMITS.outputMemoryBytes]) {
      const output = log();
      const block = `${'é'.repeat(63)}\n\n`.repeat(4_096);
      const text = block.repeat(LIMITS.outputSpillBytes / Buffer.byteLength(block));
      expect(Buffer.byteLength(text)).toBe(LIMITS.outputSpillBytes);
      output.append(text);
      output.append('z'.repeat(excess));
      const stored = output.stored() as StoredOutput;
      output.close();
      const whole = joinOutput(stored, join(folder, 'output'), 7);
      expect([whole.length, whole === text + 'z'.repeat(excess)], `${excess} past the cap`).toEqual([text.length + excess, true]);
    }
  });

  it('OLG4: a pair of surrogates printed in two parts is one character in the file', () => {
    const output = log();
    const printed = [];
    for (let index = 0; index < 40; index++) {
      for (const part of ['x'.repeat(9_999), '\ud83c', '\udfad', '🎭\ud83c', '']) {
        output.append(part);
        printed.push(part);
        if (part === '\ud83c')
          expect(joinOutput(output.stored() as StoredOutput, join(folder, 'output'), 7)).toBe(printed.join(''));
      }
      output.append('\udfad');
      printed.push('\udfad');
    }
    const stored = output.stored() as StoredOutput;
    output.append('\ud83c');
    output.close();
    const path = outputPath(join(folder, 'output'), 7);
    expect(readFileSync(path, 'utf8')).toBe(`${printed.join('')}\ufffd`);
    expect(joinOutput(stored, join(folder, 'output'), 7)).toBe(`${printed.join('')}\ufffd`);
  });

  describe('its last lines', () => {
    const tailOf = (stored: StoredOutput, count: number, directory: string | null = join(folder, 'output')): string =>
      joinPieces(lastPieces(stored, directory, 7, count));
    const linesOf = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, index) => `${from + index} ${'é'.repeat(90)}\n`).join('');

    it('come from the file where memory does not hold so many, and begin with a whole line', () => {
      const output = log();
      for (let line = 0; line < 20_000; line += 10) output.append(linesOf(line, line + 10));
      const stored = output.stored() as StoredOutput;
      output.close();
      expect(stored.text.split('\n').length).toBeLessThan(5_000);
      const inMemory = stored.text.split('\n').length - 1;
      for (const count of [0, 1, 10, inMemory - 1, inMemory, inMemory + 1, 10_000, 20_000]) {
        expect(tailOf(stored, count) === linesOf(20_000 - count, 20_000), `${count} lines`).toBe(true);
      }
      expect(tailOf(stored, 30_000) === linesOf(0, 20_000)).toBe(true);
    });

    it('without the file they begin with a whole line all the same', () => {
      const output = log(null);
      for (let line = 0; line < 20_000; line += 10) output.append(linesOf(line, line + 10));
      const stored = output.stored() as StoredOutput;
      const inMemory = stored.text.split('\n').length - 2;
      expect(tailOf(stored, 10_000, null) === linesOf(20_000 - inMemory, 20_000)).toBe(true);
      output.append('x'.repeat(LIMITS.outputMemoryBytes));
      expect(tailOf(output.stored() as StoredOutput, 3, null)).toBe('x'.repeat(LIMITS.outputMemoryBytes));
    });

    it('reaching behind what is missing they say so', () => {
      const output = log();
      const many = linesOf(0, 20_000);
      for (let size = 0; size < LIMITS.outputSpillBytes + 4 * 1024 * 1024; size += Buffer.byteLength(many)) output.append(many);
      const stored = output.stored() as StoredOutput;
      output.close();
      const inMemory = stored.text.split('\n').length - 1;
      expect(tailOf(stored, inMemory)).not.toContain('[…');
      expect(tailOf(stored, inMemory)).toMatch(/^\d+ é+\n/);
      const more = tailOf(stored, inMemory + 5);
      expect(more).toMatch(/^\d+ é+\n/);
      expect(more).toContain('\n[… the middle was not kept; the end follows]\n');
      expect(more.endsWith(stored.text)).toBe(true);
    });
  });

  it('without a folder the beginning is lost, and the answer says how much', () => {
    const output = log(null);
    output.append('x'.repeat(LIMITS.outputMemoryBytes));
    output.append('the end');
    const stored = output.stored() as StoredOutput;
    expect(stored).toMatchObject({ cut: 7, hasFile: false });
    expect(joinOutput(stored, null, 7)).toMatch(/^\[… 7 characters were not kept\]\nx+the end$/);
  });

  it('a folder that cannot be made costs the file, not the output, and is reported once', () => {
    const output = log('/proc/no-such-place');
    for (let index = 0; index < 10; index++) output.append('x'.repeat(LIMITS.outputMemoryBytes));
    output.append('the end');
    expect(output.stored()).toMatchObject({ hasFile: false });
    expect(output.stored()?.text.endsWith('the end')).toBe(true);
    expect(errors).toHaveLength(1);
  });
});

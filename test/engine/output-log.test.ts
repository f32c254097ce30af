import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { joinOutput, OutputLog, outputPath, type StoredOutput } from '../../src/engine/output-log.ts';
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
    expect(output.stored()).toEqual({ text: 'hello world', cut: 0, hasFile: false, isCapped: false });
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

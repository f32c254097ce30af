import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterFixture, AdapterName } from '../../src/adapters/adapter-fixture.ts';
import type { Frame } from '../../src/model/agent.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';

const FOLDER = join(import.meta.dirname, '..', 'fixtures', 'adapters');

export interface FixturePart {
  /** `captured from …` or `derived from …`. */
  readonly origin: string;
  readonly steps: AdapterFixture['steps'];
  readonly frames: readonly Frame[];
}

/** A launch and its accountable end; the end continues the launch. */
export interface FixturePair {
  readonly name: string;
  readonly adapter: AdapterName;
  readonly kind: WorkloadKind;
  readonly shows: string;
  readonly launch: FixturePart;
  readonly end: FixturePart;
}

export const fixturePairs: readonly FixturePair[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.json'))
  .sort()
  .map((file) => ({ name: file.slice(0, -'.json'.length), ...JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) }));

export function fixturePair(name: string): FixturePair {
  const pair = fixturePairs.find((known) => known.name === name);
  if (pair === undefined) throw new Error(`There is no fixture ${name}.`);
  return pair;
}

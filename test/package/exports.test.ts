/** What users hand in and get back can be named: every word of the model is public, or is listed here with those that stay inside. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

const INSIDE: readonly string[] = [
  'BoundedMap',
  'ErrorDetails',
  'MinHeap',
  'NO_ACTIVITY',
  'NotJsonError',
  'UnnumberedEvent',
  'aggregateActivity',
  'aggregatePending',
  'callerOf',
  'canonicalJson',
  'cardIdOf',
  'cardStatusOf',
  'finalTextOf',
  'inPortions',
  'isInputCapable',
  'isOutcome',
  'isSameActivity',
  'jobIdIn',
  'jobIdOfCard',
  'markOf',
  'offstageError',
  'readCard',
  'readContextItem',
  'settleQuietly',
  'tierOf',
  'toJson',
];

/** Names that a file exports where it declares them. */
const declared = (text: string): readonly string[] =>
  [...text.matchAll(/^export (?:abstract |async )?(?:type|interface|const|class|function\*?) (\w+)/gm)].map(
    ([, name]) => name as string,
  );

const read = (...path: readonly string[]): string => readFileSync(join(ROOT, 'src', ...path), 'utf8');

/** Names that `index.ts` exports from files of the model. */
const published = (): ReadonlySet<string> => {
  const exported = [...read('index.ts').matchAll(/export (?:type )?\{([^}]+)\} from '\.\/model\//g)];
  return new Set(exported.flatMap(([, names = '']) => names.split(',').map((name) => name.replace('type ', '').trim())));
};

it('every word of the model is exported by name, or stays inside on purpose', () => {
  const names = readdirSync(join(ROOT, 'src', 'model')).flatMap((file) => declared(read('model', file)));
  const known = published();
  expect(names.filter((name) => !known.has(name)).sort()).toEqual(INSIDE.toSorted());
});

it('the words of agents are the same in offstage and offstage/agents', () => {
  const agents = read('agents.ts');
  for (const name of declared(read('model', 'agent.ts'))) {
    expect(agents, name).toMatch(new RegExp(`\\b${name}\\b`));
    expect([...published()], name).toContain(name);
  }
});

it('every word of the model that the client hands out or takes is exported by offstage/client', () => {
  const exported = read('doors', 'client', 'index.ts');
  for (const file of ['verbs.ts', 'live-state.ts', 'connect.ts', 'offstage-client.ts']) {
    for (const [, names = ''] of read('doors', 'client', file).matchAll(
      /import (?:type )?\{([^}]+)\} from '\.\.\/\.\.\/model\//g,
    )) {
      for (const name of names.split(',').map((one) => one.replace('type ', '').trim())) {
        if (name !== '' && name !== 'SpawnOptions') expect(exported, name).toMatch(new RegExp(`\\b${name}\\b`));
      }
    }
  }
});

/**
 * The rules of the house, read from the sources (docs/architecture.md). A rule that is not checked here is a wish.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { jobMachine, sessionActivityMachine, sessionMachine, supervisorMachine, taskMachine } from '../src/machines/index.ts';
import { ERRORS } from '../src/model/errors.ts';

const ROOT = resolve(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'src');

/** Imports go downwards only; equal numbers do not import each other. */
const ROOMS: Readonly<Record<string, number>> = {
  model: 0,
  machines: 1,
  actors: 2,
  persistence: 3,
  engine: 4,
  executors: 5,
  adapters: 5,
  // `open.ts` and `index.ts` put the rooms together.
  '.': 6,
  doors: 7,
  testing: 8,
};

/** Where the machine's time, timers and randomness may be touched. */
const MAY_TOUCH_THE_MACHINE = ['actors/clock.ts', 'actors/id-source.ts', 'doors/', 'testing/'];
const TOUCHES = [/\bDate\.now\b/, /\bMath\.random\b/, /\bset(?:Timeout|Interval)\(/, /\brandomUUID\b/, /\bnew Date\(\)/];

const LONGEST_FILE = 400;

function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name));
}

interface SourceFile {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = filesBelow(SOURCE, '.ts').map((file) => {
  const text = readFileSync(file, 'utf8');
  const path = relative(SOURCE, file).split(sep).join('/');
  const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, target]) =>
    relative(SOURCE, resolve(dirname(file), target as string))
      .split(sep)
      .join('/'),
  );
  return { path, room: roomOf(path), text, imports };
});

function roomOf(path: string): string {
  const [first = ''] = path.split('/');
  return path.includes('/') ? first : '.';
}

/** Comments out, so that a rule can be named without being broken. */
const codeOf = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');

describe('rooms', () => {
  it('every file lies in a known room', () => {
    expect(files.filter(({ room }) => ROOMS[room] === undefined).map(({ path }) => path)).toEqual([]);
  });

  it('imports go downwards only', () => {
    const wrong = files.flatMap(({ path, room, imports }) =>
      imports
        .filter((target) => roomOf(target) !== room && (ROOMS[roomOf(target)] as number) >= (ROOMS[room] as number))
        // The control socket is loaded by `open` only when it is asked for.
        .filter((target) => !(path === 'open.ts' && target === 'doors/control/control-server.ts'))
        .map((target) => `${path} -> ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('no file is dead', () => {
    const { exports, bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      exports: Record<string, string | { default: string }>;
      bin: Record<string, string>;
    };
    const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : [entry.default]));
    const fromScripts = Object.values(bin).flatMap((script) =>
      [...readFileSync(join(ROOT, script), 'utf8').matchAll(/'\.\.\/(dist\/[^']+)'/g)].map(([, path]) => `./${path}`),
    );
    const reached = new Set<string>();
    const visit = (path: string): void => {
      if (reached.has(path)) return;
      reached.add(path);
      for (const target of files.find((file) => file.path === path)?.imports ?? []) visit(target);
    };
    for (const entry of [...entries, ...fromScripts]) visit(entry.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts'));
    // Worker threads are started by file name.
    for (const { path, text } of files) {
      if (!reached.has(path)) continue;
      for (const [, target] of text.matchAll(/new URL\(\s*[`']\.\/([\w-]+)\./g))
        visit(join(dirname(path), `${target}.ts`).split(sep).join('/'));
    }
    expect(files.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
  });
});

describe('time, timers, randomness', () => {
  it('are touched only by the clock, the id source and the doors', () => {
    const wrong = files
      .filter(({ path }) => !MAY_TOUCH_THE_MACHINE.some((allowed) => path.startsWith(allowed)))
      .flatMap(({ path, text }) =>
        TOUCHES.filter((pattern) => pattern.test(codeOf(text))).map((pattern) => `${path}: ${pattern.source}`),
      );
    expect(wrong).toEqual([]);
  });
});

describe('machines', () => {
  const machines = {
    job: jobMachine,
    session: sessionMachine,
    'session-activity': sessionActivityMachine,
    supervisor: supervisorMachine,
    task: taskMachine,
  };

  it.each(Object.entries(machines))('%s sets maxIterations', (_, machine) => {
    expect(machine.options?.maxIterations).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it.each(Object.entries(machines))('every state of %s says what it means', (_, machine) => {
    const silent: string[] = [];
    const visit = (node: { key: string; meta?: { description?: string }; states: Record<string, unknown> }): void => {
      for (const child of Object.values(node.states) as (typeof node)[]) {
        if (!child.meta?.description) silent.push(child.key);
        visit(child);
      }
    };
    visit(machine.root as never);
    expect(silent).toEqual([]);
  });

  it('are all listed here', () => {
    const made = files
      .filter(({ path, text }) => path.startsWith('machines/') && text.includes('createMachine('))
      .map(({ path }) => path);
    expect(made.sort()).toEqual(
      Object.keys(machines)
        .map((name) => `machines/${name}.ts`)
        .sort(),
    );
  });
});

describe('errors', () => {
  const documented = [...readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8').matchAll(/^### `([a-z_.]+)`$/gm)].map(
    ([, code]) => code,
  );

  it('every code has one heading in docs/errors.md, and every heading a code', () => {
    expect(documented).toEqual(Object.keys(ERRORS).sort());
  });

  it('the table is in alphabetical order', () => {
    expect(Object.keys(ERRORS)).toEqual(Object.keys(ERRORS).sort());
  });

  it('every code is raised somewhere', () => {
    const code = files
      .filter(({ path }) => path !== 'model/errors.ts')
      .map(({ text }) => codeOf(text))
      .join('\n');
    expect(Object.keys(ERRORS).filter((name) => !code.includes(`'${name}'`))).toEqual([]);
  });

  it('every code is asserted by a test', () => {
    const tests = [...filesBelow(join(ROOT, 'test'), '.ts'), ...filesBelow(join(ROOT, 'property-tests'), '.ts')]
      .filter((file) => !file.endsWith('house.test.ts'))
      .map((file) => readFileSync(file, 'utf8'))
      .join('\n');
    expect(Object.keys(ERRORS).filter((name) => !tests.includes(name))).toEqual([]);
  });
});

describe('files', () => {
  it(`none is longer than ${LONGEST_FILE} lines`, () => {
    const all = [...files.map(({ path, text }) => ({ path: `src/${path}`, text }))];
    expect(all.filter(({ text }) => text.split('\n').length > LONGEST_FILE).map(({ path }) => path)).toEqual([]);
  });

  it('are named in kebab case, and none is a dump', () => {
    const names = files.map(({ path }) => path.split('/').at(-1) as string);
    expect(
      names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(name) || name === 'utils.ts' || name === 'types.ts'),
    ).toEqual([]);
  });

  it('say at the top what they are for', () => {
    expect(files.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('export by name only', () => {
    expect(files.filter(({ text }) => /^export default/m.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('use each numbered invariant prefix in one room only', () => {
    const owners = new Map<string, Set<string>>();
    for (const { path, text } of files) {
      for (const [, prefix] of text.matchAll(/^ \* ([A-Z]{3})\d+ {2}/gm)) {
        const rooms = owners.get(prefix as string) ?? new Set();
        owners.set(prefix as string, rooms.add(roomOf(path)));
      }
    }
    expect(
      [...owners].filter(([, rooms]) => rooms.size > 1).map(([prefix, rooms]) => `${prefix}: ${[...rooms].join(', ')}`),
    ).toEqual([]);
  });
});

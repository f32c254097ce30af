/** `npm start`, as a newcomer types it: an address, a URL that signs in, and one Ctrl-C that ends it well. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { json, newFolder, ROOT, until } from './offstage.ts';

interface Npm {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
}

const groups: number[] = [];
afterEach(() => {
  for (const pid of groups.splice(0)) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
});

/** In a group of its own, as a terminal starts it. */
function npmStart(args: readonly string[], env: Readonly<Record<string, string>>): Npm {
  const { npm_lifecycle_event: _, OFFSTAGE_DATA_DIR: __, ...inherited } = process.env;
  const child = spawn('npm', ['start', ...(args.length === 0 ? [] : ['--', ...args])], {
    cwd: ROOT,
    env: { ...inherited, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid as number;
  groups.push(pid);
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      text[name] += chunk;
    });
  }
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return { pid, stdout: () => text.stdout, stderr: () => text.stderr, ended };
}

/** What npm says of itself aside. */
const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '' && !line.startsWith('>'));

const toldUrls = (npm: Npm): Promise<readonly [string, string]> =>
  until(async () => {
    const [url, second] = linesOf(npm.stdout());
    return url === undefined || second === undefined ? null : ([url, second.split(' ')[0] as string] as const);
  });

async function signsIn(oneTimeUrl: string): Promise<string> {
  const response = await fetch(oneTimeUrl, { redirect: 'manual' });
  expect(response.status).toBeGreaterThanOrEqual(300);
  return (response.headers.get('set-cookie') ?? '').split(';')[0] as string;
}

/** To everybody in the group, as a terminal does; npm hands it on once more. */
const ctrlC = ({ pid }: Npm): void => void process.kill(-pid, 'SIGINT');

it('serves the folder of OFFSTAGE_DATA_DIR; Ctrl-C ends it, with 0; the second start has nothing to build', async () => {
  const data = join(await newFolder(), 'data');
  for (const round of [1, 2]) {
    const npm = npmStart([], { OFFSTAGE_DATA_DIR: data });
    const [url, oneTimeUrl] = await toldUrls(npm);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect((await fetch(new URL('healthz', url))).status).toBe(200);
    const cookie = await signsIn(oneTimeUrl);
    expect((await fetch(new URL('api/whoami', url), { headers: { cookie } })).status).toBe(200);
    ctrlC(npm);
    expect(await npm.ended).toEqual([0, null]);
    expect(npm.stderr()).toContain('offstage: closing.');
    if (round === 2) expect(npm.stderr()).not.toContain('Building');
  }
  expect(existsSync(join(data, 'store'))).toBe(true);
});

it('--demo plays the scene, in a folder of its own that goes with it; other arguments are those of serve', async () => {
  const temporary = await newFolder();
  const npm = npmStart(['--demo', '--json'], { TMPDIR: temporary, OFFSTAGE_DATA_DIR: '/no/such/folder' });
  const [document] = await until(async () => (linesOf(npm.stdout()).length > 0 ? linesOf(npm.stdout()) : null));
  const { url, oneTimeUrl, dataDir } = JSON.parse(document as string) as Record<'url' | 'oneTimeUrl' | 'dataDir', string>;
  expect(dataDir.startsWith(temporary)).toBe(true);
  expect((await fetch(new URL('healthz', url))).status).toBe(200);
  const cookie = await signsIn(oneTimeUrl);
  const jobs = await until(async () => {
    const answer = (await (await fetch(new URL('api/jobs', url), { headers: { cookie } })).json()) as {
      tasks: { subject: string }[];
    };
    return answer.tasks.some(({ subject }) => subject === 'sign') ? answer.tasks : null;
  });
  expect(jobs.length).toBeGreaterThan(10);
  const tasks = await json<readonly { title: string }[]>(['tasks', 'list', '--data-dir', dataDir]);
  expect(tasks.map(({ title }) => title).sort()).toEqual(['Checkout times out under load', 'Nightly checks', 'Release 2.4']);
  ctrlC(npm);
  expect(await npm.ended).toEqual([0, null]);
  expect(existsSync(dataDir)).toBe(false);
});

it('a wrong argument is told as serve tells it', async () => {
  const npm = npmStart(['--prot', '80'], { OFFSTAGE_DATA_DIR: join(await newFolder(), 'data') });
  expect((await npm.ended)[0]).toBe(2);
  expect(npm.stderr()).toContain("unknown option '--prot'");
});

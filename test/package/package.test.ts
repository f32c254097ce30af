import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

describe('the packed package, installed into an empty project', () => {
  let folder = '';
  let tarball = '';
  let paths: readonly string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'offstage-package-'));
    const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], { cwd: ROOT });
    type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] };
    const parsed = JSON.parse(stdout) as readonly Packed[] | Record<string, Packed>;
    const [packed] = (Array.isArray(parsed) ? parsed : Object.values(parsed)) as readonly Packed[];
    tarball = join(folder, (packed as Packed).filename);
    paths = (packed as Packed).files.map(({ path }) => path);
    writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
    await run('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: folder });
  }, 180_000);

  it('has the dashboard and its charts, and nothing that only the build has a use for', () => {
    for (const path of ['index.html', 'charts/job.svg', 'charts/supervisor.svg'])
      expect(paths).toContain(`dist/dashboard/${path}`);
    expect(paths.filter((path) => path.split('/').some((part) => part.startsWith('.')))).toEqual([]);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('runs a job and a command, and its command line works', async () => {
    writeFileSync(
      join(folder, 'host.js'),
      `import { open } from 'offstage';
       const offstage = await open({ dataDir: './data', executors: { shout: async (job) => String(job.input).toUpperCase() } });
       const job = await offstage.spawn({ kind: 'shout', input: 'hi' });
       const command = await offstage.spawn({ kind: 'command', input: { command: 'echo', args: ['from a command'] } });
       console.log((await offstage.wait(job.jobId)).resultText, (await offstage.wait(command.jobId)).resultText.trim());
       await offstage.close();`,
    );
    expect((await run(process.execPath, ['host.js'], { cwd: folder })).stdout).toBe('HI from a command\n');
    const { stdout } = await run('npx', ['offstage', 'jobs', 'list', '--json', '--data-dir', 'data'], { cwd: folder });
    expect((JSON.parse(stdout) as unknown[]).length).toBe(2);
  });

  it('has types that a strict project accepts, and they flow from the executors', async () => {
    writeFileSync(
      join(folder, 'host.ts'),
      `import { open, outcome, type JobView } from 'offstage';
       import { acpAgent, type Frame, mockAgent } from 'offstage/agents';
       import { AsyncTaskManager } from 'offstage/async-tasks';
       import { jobMachine } from 'offstage/machines';
       import { virtualClock } from 'offstage/testing';
       import { type AgentTool, agentTools, plannerTools, toAiSdkTools } from 'offstage/tools';
       import type { StandardSchemaV1 } from '@standard-schema/spec';
       declare const sum: StandardSchemaV1<{ a: number; b?: number }, { a: number; b: number }>;
       const offstage = await open({
         dataDir: 'x', clock: virtualClock(),
         agents: { default: acpAgent({ command: 'an-agent', protocol: 'v2' }), mock: mockAgent().factory },
         executors: {
           plain: async (job, ctx) => \`\${String(job.input)} \${ctx.jobId}\`,
           annotated: async (job: { input: { question: string } }) => job.input.question,
           sum: { input: sum, run: async (job, ctx) => outcome({ value: job.input.a + job.input.b + ctx.jobId.length }) },
         },
       });
       const job: JobView = await offstage.spawn({ kind: 'annotated', input: { question: 'why' } });
       await offstage.spawn({ kind: 'plain', input: 5 });
       await offstage.spawn({ kind: 'command', input: { command: 'ls' } });
       await offstage.spawn({ kind: 'agent', agentId: 'mock', input: { prompt: 'look at it', context: { file: 'a' } } });
       // @ts-expect-error a prompt is missing
       await offstage.spawn({ kind: 'agent', input: { context: 'a' } });
       // What the schema has a default for may be left out.
       await offstage.spawn({ kind: 'sum', input: { a: 1 } });
       // @ts-expect-error a is missing
       await offstage.spawn({ kind: 'sum', input: { b: 1 } });
       // @ts-expect-error question is a string
       await offstage.spawn({ kind: 'annotated', input: { question: 1 } });
       // @ts-expect-error no such kind
       await offstage.spawn({ kind: 'subtract' });
       const tools: readonly AgentTool[] = [...agentTools(offstage), ...plannerTools(offstage)];
       const answer: unknown = await tools[0]?.execute({ prompt: 'look at it' }, { sessionId: 's', signal: AbortSignal.timeout(5) });
       const forAiSdk: Record<string, { readonly description: string }> = toAiSdkTools(tools, { sessionId: 's', jobId: 'j' });
       // @ts-expect-error the signal comes from the AI SDK
       toAiSdkTools(tools, { signal: AbortSignal.timeout(5) });
       const { counts } = await offstage.plan.get('p');
       await offstage.plan.run([{ description: 'a' }], { onProgress: ({ ended, total }) => console.log(ended, total, counts.queued) });
       export { AsyncTaskManager, answer, type Frame, forAiSdk, job, jobMachine };`,
    );
    const compiler = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--lib',
      'es2023,esnext.disposable',
      '--types',
      'node',
      '--typeRoots',
      join(ROOT, 'node_modules/@types'),
      'host.ts',
    ];
    const { stdout } = await run(process.execPath, [compiler, ...options], { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  });

  it('importing it loads neither worker pools nor the command line nor OpenTelemetry; what agents are spoken to with need not be there', async () => {
    const script = `import 'offstage'; import 'offstage/agents'; import 'offstage/opentelemetry'; import 'offstage/tools'; import { createRequire } from 'node:module';
      const loaded = Object.keys(createRequire(import.meta.url).cache).filter((path) => /piscina|commander|opentelemetry.api/.test(path));
      console.log(JSON.stringify(loaded));`;
    expect((await run(process.execPath, ['--input-type=module', '-e', script], { cwd: folder })).stdout).toBe('[]\n');
  });

  it('its tools work without the AI SDK; who wants them for it is told which package is missing', async () => {
    writeFileSync(
      join(folder, 'tools.js'),
      `import { memoryStore, open } from 'offstage';
       import { agentTools, toAiSdkTools } from 'offstage/tools';
       const offstage = await open({ store: memoryStore(), executors: { agent: async (job) => 'did ' + job.input.prompt } });
       const tools = agentTools(offstage);
       console.log(await tools[0].execute({ prompt: 'it' }));
       try { toAiSdkTools(tools); } catch ({ code, message }) { console.log(code + ': ' + message); }
       await offstage.close();`,
    );
    expect((await run(process.execPath, ['tools.js'], { cwd: folder })).stdout).toBe(
      'did it\npackage.missing: This needs the package "ai", which is not installed: npm install ai\n',
    );
  });

  it('telemetry can be imported without OpenTelemetry; who wants it is told which package is missing', async () => {
    writeFileSync(
      join(folder, 'telemetry.js'),
      `import { memoryStore, open } from 'offstage';
       import { traceJobs } from 'offstage/opentelemetry';
       const offstage = await open({ store: memoryStore() });
       try { traceJobs(offstage); } catch ({ code, message }) { console.log(code + ': ' + message); }
       await offstage.close();`,
    );
    expect((await run(process.execPath, ['telemetry.js'], { cwd: folder })).stdout).toBe(
      'package.missing: This needs the package "@opentelemetry/api", which is not installed: npm install @opentelemetry/api\n',
    );
  });

  it('publint and attw find nothing', async () => {
    const publint = await run(process.execPath, [join(ROOT, 'node_modules/publint/src/cli.js'), tarball, '--strict'], {
      cwd: folder,
    });
    expect(publint.stdout).toContain('All good!');
    // It exits with an error on any problem that counts for an ESM package.
    const attw = await run(
      process.execPath,
      [join(ROOT, 'node_modules/@arethetypeswrong/cli/dist/index.js'), tarball, '--profile', 'esm-only', '--format', 'json'],
      { cwd: folder },
    );
    const { analysis } = JSON.parse(attw.stdout) as { analysis: { entrypoints: Record<string, unknown> } };
    expect(Object.keys(analysis.entrypoints)).toEqual([
      '.',
      './agents',
      './async-tasks',
      './client',
      './machines',
      './opentelemetry',
      './server',
      './testing',
      './tools',
      './package.json',
    ]);
  });
});

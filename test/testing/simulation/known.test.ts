/** KNO1, KNO2: what is known of a world follows from its facts alone, and the store is what was written, whatever the engine was told. */
import { describe, expect, it } from 'vitest';
import type { SessionRow, TaskRow } from '../../../src/model/records.ts';
import { encodeLargePart } from '../../../src/persistence/job-codec.ts';
import { KEYS } from '../../../src/persistence/row-keys.ts';
import {
  removeSessionOperations,
  removeTaskOperations,
  sessionOperations,
  taskOperations,
} from '../../../src/persistence/session-rows.ts';
import type { StoreEntry } from '../../../src/persistence/store.ts';
import { Known } from '../../../src/testing/simulation/known.ts';
import { Tale } from '../../support/simulation-tale.ts';

/** Learns what of the tale it has not heard yet. */
const hearing = (known = new Known()) => {
  let heard = 0;
  return {
    known,
    of(tale: Tale): Known {
      for (const fact of tale.facts.slice(heard)) known.learn(fact);
      heard = tale.facts.length;
      return known;
    },
  };
};

const entries = (known: Known): readonly StoreEntry[] => [...known.rows].map(([key, value]) => ({ key, value }));
const SESSION: SessionRow = {
  ...{ sessionId: 's/1', taskId: 't', agentId: null, state: 'created', interrupted: false, pending: null },
  ...{ createdAt: 1, updatedAt: 1, revision: 1 },
};
const TASK: TaskRow = { taskId: 't', title: 'Paint it', state: 'in_progress', createdAt: 5, revision: 3 };

describe('the store', () => {
  it('has jobs as they were written, and tells what each batch changed', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(
      tale
        .job('a')
        .job('b')
        .write(
          [
            ['a', 'queued'],
            ['b', 'pending'],
          ],
          { isTold: false },
        ),
    );
    expect([...ear.known.jobs.keys()]).toEqual(['a', 'b']);
    expect(ear.known.changes.map(({ jobId, before }) => [jobId, before])).toEqual([
      ['a', null],
      ['b', null],
    ]);

    ear.of(tale.write([['a', 'active']], { isTold: false }));
    const [change] = ear.known.changes;
    expect(ear.known.changes).toHaveLength(1);
    expect([change?.before?.state, change?.after?.state]).toEqual(['queued', 'active']);
    expect([change?.before?.record.revision, change?.after?.record.revision]).toEqual([1, 2]);

    // An end moves the row to where finished ones lie: it is one job all the same.
    ear.of(tale.write([['a', 'completed']], { isTold: false }));
    expect(ear.known.changes.map(({ after }) => after?.record.status)).toEqual(['completed']);
    expect(ear.known.rows.has(KEYS.finished(1))).toBe(true);
    expect(ear.known.rows.has(KEYS.live(1))).toBe(false);
    expect(ear.known.jobs.get('a')?.record).toMatchObject({ status: 'completed', resultText: 'done', revision: 3 });

    ear.of(tale.prune('a'));
    expect(ear.known.jobs.has('a')).toBe(false);

    ear.of(tale.note({ type: 'did', what: 'nothing' }));
    expect(ear.known.changes).toEqual([]);
  });

  it('KNO2: what failed is not in it, what was denied is', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.job('failed').write([['failed', 'queued']], { outcome: 'failed' }));
    expect(ear.known.jobs.size).toBe(0);
    expect(ear.known.changes).toEqual([]);
    expect(ear.known.rows.size).toBe(0);
    ear.of(new Tale().job('denied').write([['denied', 'queued']], { outcome: 'denied' }));
    const denied = hearing().of(new Tale().job('denied').write([['denied', 'queued']], { outcome: 'denied' }));
    expect([...denied.jobs.keys()]).toEqual(['denied']);
  });

  it('reads large inputs wherever their part stands in the batch', () => {
    const tale = new Tale().job('large', { isLarge: true, input: 'x'.repeat(5_000), description: 'long' });
    const known = hearing().of(tale.write([['large', 'queued']]));
    expect(known.rows.get(KEYS.large(1))).toBe(encodeLargePart(tale.base('large')));
    expect(known.jobs.get('large')?.record).toMatchObject({ input: 'x'.repeat(5_000), description: 'long' });
  });

  it('numbers events, and knows how far they are synced', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.job('a').write([['a', 'queued']], { sync: true }));
    const { seq } = ear.known;
    expect([ear.known.syncedSeq, ear.known.events.size]).toEqual([seq, seq]);
    ear.of(tale.write([['a', 'active']], { sync: false }));
    expect(ear.known.seq).toBe(seq + 1);
    expect(ear.known.syncedSeq).toBe(seq);
    expect(ear.known.events.get(seq + 1)).toMatchObject({ type: 'job.status', jobId: 'a', status: 'running' });
    ear.of(tale.write([['a', 'completed']], { sync: true }));
    expect(ear.known.syncedSeq).toBe(ear.known.seq);
    // What the log forgets is gone; the newest number stays.
    const newest = ear.known.seq;
    ear.of(tale.rows([{ type: 'del', key: KEYS.events(1) }]));
    expect(ear.known.events.has(1)).toBe(false);
    expect(ear.known.seq).toBe(newest);
  });

  it('has sessions and tasks until they are removed', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.rows([...sessionOperations(SESSION), ...taskOperations(TASK)]));
    expect(ear.known.sessions.get('s/1')).toMatchObject({ taskId: 't', state: 'created' });
    expect(ear.known.tasks.get('t')).toMatchObject({ title: 'Paint it' });
    ear.of(tale.rows([...removeSessionOperations(SESSION, 9), ...removeTaskOperations('t', 9)]));
    expect([ear.known.sessions.size, ear.known.tasks.size]).toEqual([0, 0]);
  });
});

describe('a crash', () => {
  it('replaces the store by what is left, and tells what that changed', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.job('kept').write([['kept', 'queued']]));
    const left = entries(ear.known);
    const { seq } = ear.known;
    ear.of(
      tale.job('lost').write(
        [
          ['kept', 'active'],
          ['lost', 'queued'],
        ],
        { sync: false },
      ),
    );
    ear.of(tale.note({ type: 'crashed', kind: 'power', left, taken: 1 }));
    expect([...ear.known.jobs.keys()]).toEqual(['kept']);
    expect(ear.known.jobs.get('kept')?.state).toBe('queued');
    expect([ear.known.seq, ear.known.syncedSeq, ear.known.events.size]).toEqual([seq, seq, seq]);
    const changes = ear.known.changes.map(({ jobId, before, after }) => [jobId, before?.state, after?.state]);
    expect(changes).toEqual([
      ['kept', 'active', 'queued'],
      ['lost', 'queued', undefined],
    ]);
    expect(ear.known.isOpen).toBe(false);
    expect(entries(ear.known)).toEqual(left);
  });

  it('ends its bodies and agents; calls are remembered', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.spawn('a').start('a'));
    const waits = tale.wait('a', 'b');
    tale.note({ type: 'agent.started', agent: 4, executionId: 'x', sessionId: 's', jobId: null });
    const known = ear.of(tale);
    const body = known.bodies.get(tale.run('a'));
    expect([body?.called.jobId, body?.told, body?.settled, [...(body?.waits ?? [])]]).toEqual(['a', null, null, [waits]]);
    expect(known.agents.get(4)).toMatchObject({ isGone: false, toldToEnd: null });
    expect(known.isOpen).toBe(true);
    ear.of(tale.note({ type: 'crashed', kind: 'process', left: entries(known), taken: 0 }));
    expect([known.bodies.size, known.agents.size]).toEqual([0, 0]);
    expect(known.calls.get(waits)).toMatchObject({ settled: null, gaveUp: false });
    expect(known.changes).toEqual([]);
  });
});

describe('calls, bodies and agents', () => {
  it('a call is open until it is settled; who gave up is known', () => {
    const tale = new Tale();
    const [one, two] = [tale.ask('wait', ['a']), tale.ask('get', ['a'])];
    tale.note({ type: 'gave-up', call: one }).refuse(two, 'job.not_found');
    const known = hearing().of(tale);
    expect(known.calls.get(one)).toMatchObject({ asked: { verb: 'wait' }, settled: null, gaveUp: true });
    expect(known.calls.get(two)).toMatchObject({ settled: { type: 'refused', code: 'job.not_found' }, gaveUp: false });
  });

  it('a body is told, goes on, and settles', () => {
    const tale = new Tale();
    const ear = hearing();
    ear.of(tale.spawn('a').start('a'));
    const run = tale.run('a');
    const call = tale.wait('a', 'b');
    ear.of(tale.signal('a').note({ type: 'body.goes-on', run, jobId: 'a', call }).settle('a'));
    const body = ear.known.bodies.get(run);
    expect(body).toMatchObject({ told: { code: 'job.cancelled' }, settled: { how: 'returned' } });
    expect(body?.waits.size).toBe(0);
  });

  it('an agent has open prompts, is told to end once, and goes', () => {
    const head = { agent: 1, sessionId: 's' } as const;
    const tale = new Tale().note(
      { type: 'agent.started', ...head, executionId: 'x', jobId: null },
      { type: 'agent.prompted', ...head, jobId: null, generation: 1, origin: 'human', content: 'a' },
      { type: 'agent.prompted', ...head, jobId: null, generation: 2, origin: 'human', content: 'b' },
      { type: 'agent.prompt-over', ...head, generation: 1, how: 'returned' },
    );
    tale.pass(5).note({ type: 'agent.told-to-end', ...head });
    tale.pass(5).note({ type: 'agent.told-to-end', ...head }, { type: 'agent.gone', ...head });
    const agent = hearing().of(tale).agents.get(1);
    expect([...(agent?.openPrompts ?? [])]).toEqual([2]);
    expect(agent).toMatchObject({ isGone: true, toldToEnd: { at: 5 } });
  });

  it('time that stood still adds up, and settings are those of the last opening', () => {
    const tale = new Tale({ workers: 7 }).note({ type: 'stood-still', ms: 3 }, { type: 'stood-still', ms: 4 });
    const known = hearing().of(tale);
    expect([known.stoodStillMs, known.settings.workers]).toEqual([7, 7]);
    known.learn({ step: 0, at: 0, life: 1, type: 'closed' });
    expect(known.isOpen).toBe(false);
  });
});

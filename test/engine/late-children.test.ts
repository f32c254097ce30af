/** Children of parents that have ended: the family above them still counts (spec 4.6, ADM5, LIN4). */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { controlledExecutor } from '../../src/testing/controlled-executor.ts';
import { testEngine } from '../support/test-engine.ts';

async function family() {
  const gate = controlledExecutor({ stubborn: true });
  const engine = await testEngine({ executors: { gate } });
  const { offstage } = engine;
  const root = await offstage.spawn({ kind: 'gate' });
  const child = await offstage.spawn({ kind: 'gate', parentJobId: root.jobId });
  await gate.release(child.jobId);
  await offstage.wait(child.jobId);
  return { gate, engine, offstage, root, child };
}

describe('a child of a job that has ended', () => {
  it('is not born when a living ancestor was cancelled after its parent had ended', async () => {
    const { engine, offstage, gate, root, child } = await family();
    await using _ = engine;
    await gate.started(root.jobId);
    await offstage.cancel(root.jobId);
    await expect(offstage.spawn({ kind: 'gate', parentJobId: child.jobId })).rejects.toMatchObject({
      code: 'job.parent_cancelled',
      details: { parentJobId: root.jobId },
    });
    expect(gate.calls).toEqual([root.jobId, child.jobId]);
  });

  it('is not born when the ancestor is cancelled while the child is being admitted', async () => {
    const { engine, offstage, gate, root, child } = await family();
    await using _ = engine;
    await gate.started(root.jobId);
    const born = offstage.spawn({ kind: 'gate', parentJobId: child.jobId }).then(
      ({ jobId }) => jobId,
      ({ code }: { code: string }) => code,
    );
    await Promise.resolve();
    await offstage.cancel(root.jobId);
    await gate.release(root.jobId);
    const outcome = await born;
    if (outcome !== 'job.parent_cancelled') expect((await offstage.wait(outcome)).reasonCode).toBe('cancel.parent');
  });

  it('is reached by the cascade of a living ancestor', async () => {
    const { engine, offstage, root, child } = await family();
    await using _ = engine;
    const grandchild = await offstage.spawn({ kind: 'gate', parentJobId: child.jobId });
    await offstage.cancel(root.jobId);
    expect(await offstage.get(grandchild.jobId)).toMatchObject({ cancelReason: null, status: 'running' });
    expect((await offstage.get(grandchild.jobId)).cancelRequestedAt).not.toBeNull();
  });

  it('is reached through a parent whose body never settled', async () => {
    const gate = controlledExecutor({ stubborn: true });
    const store = memoryStore();
    await using engine = await testEngine({ executors: { gate }, store });
    const { offstage, clock } = engine;
    const root = await offstage.spawn({ kind: 'gate' });
    const detached = await offstage.spawn({ kind: 'gate', parentJobId: root.jobId, timeoutMs: 10 });
    await gate.started(detached.jobId);
    await clock.advance(40_000);
    expect(await offstage.get(detached.jobId)).toMatchObject({ status: 'errored', detached: true, bodyLive: true });
    const late = await offstage.spawn({ kind: 'gate', parentJobId: detached.jobId });
    await offstage.cancel(root.jobId);
    expect((await offstage.get(late.jobId)).cancelRequestedAt).not.toBeNull();
  });

  it('spawned again with the same id, is the job it was, also when its parent was pruned', async () => {
    const { engine, offstage, gate, root } = await family();
    await using _ = engine;
    const again = { kind: 'gate', jobId: 'child', parentJobId: root.jobId };
    const job = await offstage.spawn(again);
    await gate.release(root.jobId);
    await offstage.wait(root.jobId);
    await offstage.prune({ maxJobs: 0 });
    expect(await offstage.spawn(again)).toMatchObject({ jobId: 'child', status: 'running', parentJobId: root.jobId });
    await gate.release(job.jobId);
    await offstage.wait(job.jobId);
    expect(await offstage.spawn(again)).toMatchObject({ jobId: 'child', status: 'completed' });
    await expect(offstage.spawn({ kind: 'gate', parentJobId: root.jobId })).rejects.toMatchObject({ code: 'job.expired' });
  });
});

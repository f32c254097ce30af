/** A session is cut off, not followed, by an agent that launches without end. */
import { expect, it } from 'vitest';
import { LIMITS } from '../../src/model/limits.ts';
import { sessionLab } from '../support/sessions.ts';

it('at most so many workloads of agents are registered on one session', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  const { executionId } = s;
  for (let number = 0; number < LIMITS.workloadsPerSession; number++) {
    await lab.offstage.workloads.register({ sessionId: s.sessionId, executionId, kind: 'shell', workloadId: `w${number}` });
  }
  const one = { sessionId: s.sessionId, executionId, kind: 'shell', workloadId: 'one more' } as const;
  await expect(lab.offstage.workloads.register(one)).rejects.toMatchObject({ code: 'limit.workloads', retryable: true });
  await s.bgc({ workloadId: 'w0' });
  expect(await lab.offstage.workloads.register(one)).toEqual({ changed: true });
});

it('PWK6: what an agent launches beyond that is not counted, and the log says so once', async () => {
  await using lab = await sessionLab();
  const s = await lab.running();
  const { sessionId, taskId, executionId } = s;
  const workloads = Array.from({ length: LIMITS.workloadsPerSession }, (_, number) => ({ workloadId: `w${number}` }));
  await lab.offstage.workloads.snapshot({ sessionId, executionId, workloads });
  const said = () => lab.engine.log.filter(({ event }) => event === 'workload.limit');
  expect(said()).toEqual([]);
  await s.reg('one more');
  await s.reg('and another');
  expect(await s.works()).toHaveLength(LIMITS.workloadsPerSession);
  const fields = { sessionId, taskId, limit: LIMITS.workloadsPerSession };
  expect(said()).toEqual([{ level: 'warn', event: 'workload.limit', fields }]);
});

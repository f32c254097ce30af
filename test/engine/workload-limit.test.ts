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

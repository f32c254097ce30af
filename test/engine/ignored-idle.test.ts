/** A word that does not count is said once, for whoever writes an agent (liveness 4). */
import { expect, it } from 'vitest';
import { FULL, sessionLab } from '../support/sessions.ts';

it('an idle frame that does not count, because the provider has not said that it hands on, is logged once with what is missing', async () => {
  await using lab = await sessionLab({ script: { attests: FULL }, announces: null });
  const session = await lab.running();
  await session.idle();
  await session.idle();
  expect(await session.tier()).toBe('generating');
  const said = lab.engine.log.filter(({ event }) => event === 'foreground_idle.ignored');
  expect(said.map(({ level, fields }) => [level, fields])).toEqual([
    ['debug', { agentId: 'default', sessionId: 's', yield: true, handoff: true, capability: false }],
  ]);
});

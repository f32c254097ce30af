/** What a provider calls a conversation is kept with the session, so that its next agent can take it up (liveness 1). */
import { describe, expect, it } from 'vitest';
import { mockAgent } from '../../src/adapters/mock-agent.ts';
import type { AgentFactory } from '../../src/model/agent.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';
import { keptStore } from '../support/kept-store.ts';
import { testEngine } from '../support/test-engine.ts';

const named =
  (factory: AgentFactory, conversationId: string): AgentFactory =>
  async (context) =>
    Object.assign(await factory(context), { conversationId });

describe('the conversation of a session', () => {
  it('is offered to the next agent, in this process and in the next, and to no other session', async () => {
    const store = keptStore(memoryStore());
    const mock = mockAgent();
    const first = await testEngine({ store: store.open(), agents: { default: named(mock.factory, 'conversation-one') } });
    await first.offstage.sessions.create({ sessionId: 's' });
    await first.offstage.sessions.create({ sessionId: 'other' });
    await first.offstage.sessions.prompt('s', { content: 'hi' });
    (await mock.nextPrompt()).end();
    mock.exit();
    await first.eventOf((event) => event.type === 'session.state_changed' && event.newState === 'idle');
    await first.offstage.sessions.prompt('s', { content: 'again' });
    await first.offstage.sessions.prompt('other', { content: 'hi' });
    await first[Symbol.asyncDispose]();
    await using second = await testEngine({ store: store.open(), agents: { default: mock.factory } });
    await second.offstage.sessions.prompt('s', { content: 'still there?' });
    expect(mock.starts.map(({ sessionId, conversationId }) => [sessionId, conversationId])).toEqual([
      ['s', null],
      ['s', 'conversation-one'],
      ['other', null],
      ['s', 'conversation-one'],
    ]);
  });
});

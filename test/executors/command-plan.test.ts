import { expect, it } from 'vitest';
import { open } from '../../src/index.ts';
import { memoryStore } from '../../src/persistence/memory-store.ts';

it('a plan may hold commands: the prompt that plans add is left aside', async () => {
  const offstage = await open({ store: memoryStore(), workers: 2 });
  const entries = await offstage.plan.run([
    { description: 'say hi', kind: 'command', input: { command: 'echo', args: ['hi'] } },
    { description: 'fail', kind: 'command', input: { command: 'sh', args: ['-c', 'exit 3'] }, prompt: 'go' },
  ]);
  expect(entries).toMatchObject([
    {
      subject: 'say hi',
      description: 'say hi',
      status: 'completed',
      resultText: 'hi\n',
      input: { command: 'echo', args: ['hi'] },
    },
    { subject: 'fail', description: 'go', status: 'errored', result: { exitCode: 3 } },
  ]);
  await offstage.close();
});

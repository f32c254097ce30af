import { expect, it } from 'vitest';
import { createActor, createMachine } from 'xstate';

// xstate ships two builds whose checks differ. This test fails when the suite does not run on the build that it says it runs on.
it('runs on the xstate build that OFFSTAGE_XSTATE names', () => {
  const parent = createActor(createMachine({})).start();
  const child = createActor(createMachine({}), { parent }).start();
  let stack = '';
  try {
    child.stop();
  } catch (error) {
    stack = (error as Error).stack ?? '';
  }
  // The file that threw tells which build it is.
  const [, firstFrame = ''] = stack.split('\n    at ');
  expect(firstFrame).toContain('xstate/dist/');
  expect(firstFrame.includes('.development.')).toBe(process.env.OFFSTAGE_XSTATE !== 'production');
});

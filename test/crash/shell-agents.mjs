/**
 * Agents of sessions that are mere shells: they take every prompt, and end its turn soon or never. Each writes `agent <session> <execution>`
 * into the run log before anything else, and has children in its own session and elsewhere; some do not end when asked.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../dist/actors/clock.js';
import { FrameQueue } from '../../dist/adapters/frame-queue.js';
import { startAgentProcess } from '../../dist/executors/agent-process.js';

const SCRIPT = 'echo "agent $1 $OFFSTAGE_EXECUTION" >> "$2"; (setsid sleep 30 &); sleep 30 & wait';
const NOTHING = { workloads: [], yield: false, handoff: false, snapshot: false };

/** The shell's command for its log; `"deaf"` ones ignore TERM. */
const scriptOf = (isDeaf) => (isDeaf ? `trap "" TERM; ${SCRIPT}` : SCRIPT);

export function shellAgents(runLog, random) {
  return async ({ sessionId, execution, signal }) => {
    const args = ['-c', scriptOf(random.next() < 0.3), 'sh', sessionId, runLog];
    const program = await startAgentProcess({ command: 'sh', args }, { clock: systemClock, execution, signal });
    const frames = new FrameQueue();
    void program.exited.then(() => frames.end());
    return {
      attests: NOTHING,
      frames,
      async prompt(content, { generation, signal: turn }) {
        frames.push({ type: 'prompt.accepted', generation });
        await delay(content.ms, undefined, { signal: turn });
        return { stopReason: 'end_turn' };
      },
      close: () => program.end(),
    };
  };
}

/** A command that does the same. */
export const shellCommand = (jobId, runLog, isDeaf) => ({
  kind: 'command',
  jobId,
  input: { command: 'sh', args: ['-c', scriptOf(isDeaf).replace('"agent', '"command'), 'sh', jobId, runLog] },
});

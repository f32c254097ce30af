/** An engine whose bodies call each other, by the subjects of their jobs. */
import { type Body, echo, gate, scripted, stubborn } from './executors.ts';
import { testEngine } from './test-engine.ts';

export const withFamily = async (bodies: Readonly<Record<string, Body>>, workers: number | null = 1) => {
  const held = gate();
  const stuck = stubborn();
  const engine = await testEngine({ executors: { family: scripted(bodies), held, stuck, echo }, workers });
  const start = (subject: string, more: object = {}) =>
    engine.offstage.spawn({ kind: 'family', subject, jobId: subject, ...more });
  return { engine, held, stuck, start };
};

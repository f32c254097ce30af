/** A simulation in which nothing happens breaks no guarantee: over some worlds everything that it is there for does happen. */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Fact, type FactType, simulate } from '../../../src/testing/index.ts';

const FACTS: readonly FactType[] = [
  'opened',
  'closing',
  'closed',
  'crashed',
  'jumped',
  'stood-still',
  'asked',
  'answered',
  'refused',
  'gave-up',
  'wrote',
  'told',
  'attached',
  'detached',
  'body.called',
  'body.told',
  'body.waits',
  'body.goes-on',
  'body.settled',
  'agent.started',
  'agent.not-started',
  'agent.prompted',
  'agent.prompt-over',
  'agent.said',
  'agent.cancelled',
  'agent.told-to-end',
  'agent.gone',
  'rested',
  'did',
];

const VERBS =
  `spawn run cancel cancelMany get list wait waitMany history output snapshot prune plan.run plan.cancel sessions.create sessions.get
  sessions.list sessions.prompt sessions.interrupt sessions.stop sessions.remove sessions.tickets sessions.cancelTicket tasks.create tasks.get
  tasks.list tasks.stop tasks.remove tasks.archive tasks.setState workloads.register workloads.complete workloads.list workloads.dismiss cards.get
  cards.list context.expand close stop.settled`
    .split(/\s+/)
    .filter((verb) => verb !== '');

const REASONS =
  `completed failed timed_out idle_timed_out cancel.user cancel.parent cancel.caller_gone cancel.stop cancel.timed_out
  abandoned.shutdown abandoned.crash`.split(/\s+/);

const seen = new Set<string>();

function look(fact: Fact): void {
  seen.add(fact.type);
  if (fact.type === 'crashed') seen.add(`${fact.kind}, ${fact.taken > 0 ? 'with' : 'without'} loss`);
  if (fact.type === 'wrote') seen.add(`${fact.outcome}, ${fact.sync ? 'synced' : 'not synced'}`);
  if (fact.type === 'answered') seen.add(`${fact.verb} is answered`);
  if (fact.type === 'answered' && (fact.value as { durable?: boolean } | null)?.durable === false)
    seen.add('an answer that is not durable');
  if (fact.type === 'refused') seen.add(`refused: ${fact.code}`);
  if (fact.type === 'rested')
    for (const { reasonCode, detached } of fact.view.jobs) seen.add(`${reasonCode}`).add(`detached: ${detached}`);
  if (fact.type === 'rested') seen.add(`rests, ${fact.view.health.status}`);
}

beforeAll(async () => {
  // Fixed seeds: what is seen in them stays seen.
  for (let seed = 1; seed <= 50; seed++) await simulate({ seed, steps: 700, checkers: [], onFact: look });
});

describe('over fifty worlds', () => {
  it.each(FACTS)('there is a fact %s', (type) => {
    expect(seen).toContain(type);
  });

  it.each(VERBS)('%s is answered', (verb) => {
    expect(seen).toContain(`${verb} is answered`);
  });

  it.each(REASONS)('a job has ended %s', (reason) => {
    expect(seen).toContain(reason);
  });

  it.each([
    'process, without loss',
    'power, with loss',
    'written, synced',
    'written, not synced',
    'failed, synced',
    'denied, synced',
    'an answer that is not durable',
    'detached: true',
    'rests, ok',
    'rests, degraded',
    'rests, starved',
    'refused: engine.closing',
    'refused: engine.degraded',
    'refused: store.failed',
    'refused: prompt.busy',
    'refused: task.stopping',
    'refused: job.wait_cycle',
    'refused: job.parent_cancelled',
    'refused: stop.failed',
    'refused: remove.refused',
  ])('there is: %s', (what) => {
    expect(seen).toContain(what);
  });

  it.each(['escaped', 'never-rests'])('there is no fact %s', (type) => {
    expect(seen).not.toContain(type);
  });
});

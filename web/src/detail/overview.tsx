/** Nothing is selected: how the engine does. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Health } from '../../../src/doors/client/index.ts';
import { useShown } from '../view/live.ts';
import { useLoad } from '../view/use-load.ts';
import { verbs } from '../view/verbs.ts';
import { ChartPane } from './chart-pane.tsx';
import { type Fact, Facts, Section } from './parts.tsx';

const LOOK_MS = 2_000;

const WORDS: Readonly<Record<Health['status'], string>> = {
  ok: 'The engine works',
  degraded: 'The store refuses writes: no new work is taken; cancels and stops go on',
  starved: 'No slot is left: work that was told to end holds all of them',
  closing: 'The engine is closing',
};

/** Where its supervisor stands. */
const CHART: Readonly<Record<Health['status'], readonly string[]>> = {
  ok: ['accepting', 'accepting.healthy'],
  degraded: ['accepting', 'accepting.degraded'],
  starved: ['accepting', 'accepting.healthy'],
  closing: ['draining'],
};

export function Overview(): JSX.Element | null {
  const [looks, setLooks] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setLooks((count) => count + 1), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  const running = useShown(({ counts }) => counts.running);
  const { value: health } = useLoad('health', `${looks} ${running}`, () => verbs.health());
  if (health === null) return null;
  const { status } = health;
  return (
    <article class="thing">
      <header class="head">
        <h2>
          <span class="head-title">Overview</span>
        </h2>
        <p class="sentence" data-testid="health" data-status={status}>
          {WORDS[status]}
        </p>
      </header>
      <p class="keys-hint muted">
        Select a row to see what it is doing. In the list: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens, <kbd>c</kbd>{' '}
        cancels, <kbd>/</kbd> searches, <kbd>?</kbd> tells the rest.
      </p>
      <Section title="Slots and store">
        <Facts facts={factsOf(health)} />
      </Section>
      <ChartPane kind="supervisor" id="" active={CHART[status]} />
    </article>
  );
}

function factsOf({ pool, agents, store }: Health): readonly Fact[] {
  const { workers, running, waiting, queued, detached } = pool;
  const rest = (parts: readonly (readonly [number, string])[]): string =>
    parts.flatMap(([count, words]) => (count > 0 ? [`, ${count} ${words}`] : [])).join('');
  return [
    {
      name: 'Jobs at work',
      value: `${running} of ${workers ?? 'any number'}${rest([
        [waiting, 'wait for others'],
        [detached, 'may still be running after their end'],
      ])}`,
    },
    { name: 'Jobs in line', value: queued.toLocaleString('en') },
    {
      name: 'Agents',
      value: `${agents.live}${rest([
        [agents.ending, 'ending'],
        [agents.detached, 'may still be running'],
      ])}`,
    },
    {
      name: 'Store',
      value: `${store.durability === 'full' ? 'survives power loss' : 'survives the death of the process'}${rest([
        [store.pendingWrites, 'writes not stored yet'],
      ])}`,
    },
    ...(store.lastError === null ? [] : [{ name: 'Its last error', value: store.lastError }]),
  ];
}

/** The charts of a thing and of what works for it, as the inspector tells them; without it by the record alone. */
import type { JSX } from 'preact';
import { Chart } from '../chart/chart.tsx';
import '../chart/chart.css';
import { useInspectFeed } from '../chart/inspect-feed.ts';
import type { ChartPaneProps } from './chart-pane.tsx';

/** Session and task: so many charts of their actors at most. */
const SHOWN = 2;

export function LiveCharts({ kind, id, active }: ChartPaneProps): JSX.Element {
  const { status, actors } = useInspectFeed({ [`${kind}Id`]: id });
  const own = actors.filter(({ machine, isOver }) => !isOver && (kind === 'job' ? machine === 'job' : machine !== 'job'));
  const main = kind === 'job' ? own[0] : undefined;
  return (
    <div data-testid="charts" data-feed={status}>
      <Chart machine={kind} active={main?.active ?? active} lastEdge={main?.lastEdge ?? null} />
      {kind === 'session' &&
        own
          .slice(0, SHOWN)
          .map(({ name, machine, active: on, lastEdge }) => (
            <Chart key={name} machine={machine} active={on} lastEdge={lastEdge} />
          ))}
    </div>
  );
}

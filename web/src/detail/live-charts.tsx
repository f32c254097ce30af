/** The charts of a thing and of what works for it, as the inspector tells them; without it by the record alone. */
import type { JSX } from 'preact';
import { Chart } from '../chart/chart.tsx';
import '../chart/chart.css';
import { useInspectFeed } from '../chart/inspect-feed.ts';
import type { ChartPaneProps } from './chart-pane.tsx';

export function LiveCharts({ kind, id, active }: ChartPaneProps): JSX.Element {
  // The engine has no owner to ask for: how it stands is known without.
  const { status, actors } = useInspectFeed(kind === 'supervisor' ? null : { [`${kind}Id`]: id });
  const live = actors.filter(({ isOver }) => !isOver);
  const own = live.find(({ machine }) => machine === kind);
  const activity = kind === 'session' ? live.find(({ machine }) => machine === 'session-activity') : undefined;
  return (
    <div class="charts" data-testid="charts" data-feed={status}>
      <Chart machine={kind} active={own?.active ?? active} lastEdge={own?.lastEdge ?? null} />
      {activity && <Chart machine="session-activity" active={activity.active} lastEdge={activity.lastEdge} />}
    </div>
  );
}

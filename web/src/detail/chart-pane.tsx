/** The statechart of a thing, live. It comes with its own code, and only when somebody looks. */
import type { JSX } from 'preact';

interface ChartPaneProps {
  readonly kind: 'job' | 'session';
  readonly id: string;
  readonly revision: number;
  readonly status: string;
  readonly isEnding: boolean;
}

/** The place of the statechart: `../chart/chart.tsx`. */
export function ChartPane(_: ChartPaneProps): JSX.Element | null {
  return null;
}

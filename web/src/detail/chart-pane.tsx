/** The statechart of a thing, live: while it works as its actor tells it, else as its record does. It comes with code of its own, when somebody looks. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { lazily } from '../view/lazily.tsx';
import { Section } from './parts.tsx';

/** As it was left, until the page is left. */
let wasOpen = true;

const LiveCharts = lazily(async () => (await import('./live-charts.tsx')).LiveCharts);

export interface ChartPaneProps {
  readonly kind: 'job' | 'session' | 'task' | 'supervisor';
  readonly id: string;
  /** By the record. */
  readonly active: readonly string[];
}

export function ChartPane(props: ChartPaneProps): JSX.Element {
  const [isOpen, setOpen] = useState(wasOpen);
  const toggle = (): void => {
    wasOpen = !isOpen;
    setOpen(wasOpen);
  };
  return (
    <Section
      title="Statechart"
      aside={
        <button type="button" class="toggle" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? 'Hide' : 'Show'}
        </button>
      }
    >
      {isOpen && <LiveCharts {...props} />}
    </Section>
  );
}

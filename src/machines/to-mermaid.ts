/** A chart as a mermaid state diagram, for the README and the docs: what is drawn is what runs. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';

const INDENT = '  ';

/** The text of a `stateDiagram-v2`; events in words, compound states nested. */
export function toMermaid(machine: AnyStateMachine): string {
  const lines = ['stateDiagram-v2'];
  drawStates(machine.root, INDENT, lines);
  drawTransitions(machine.root, lines);
  return lines.join('\n');
}

function drawStates(parent: AnyStateNode, indent: string, lines: string[]): void {
  const initial = parent.initial?.target?.[0];
  if (initial !== undefined) lines.push(`${indent}[*] --> ${nameOf(initial)}`);
  for (const state of Object.values(parent.states)) {
    if (Object.keys(state.states).length === 0) continue;
    lines.push(`${indent}state ${nameOf(state)} {`);
    drawStates(state, indent + INDENT, lines);
    lines.push(`${indent}}`);
  }
  for (const state of Object.values(parent.states)) if (state.type === 'final') lines.push(`${indent}${nameOf(state)} --> [*]`);
}

function drawTransitions(parent: AnyStateNode, lines: string[]): void {
  // One arrow per pair of states, with all the events that lead along it.
  const arrows = new Map<string, string[]>();
  const visit = (state: AnyStateNode): void => {
    for (const [event, transitions] of state.transitions) {
      for (const transition of transitions) {
        for (const target of transition.target ?? []) {
          const arrow = `${nameOf(state)} --> ${nameOf(target)}`;
          const events = arrows.get(arrow) ?? [];
          if (!events.includes(event)) arrows.set(arrow, [...events, event]);
        }
      }
    }
    for (const child of Object.values(state.states)) visit(child);
  };
  for (const state of Object.values(parent.states)) visit(state);
  for (const [arrow, events] of arrows) lines.push(`${INDENT}${arrow}: ${events.join(', ')}`);
}

const nameOf = (state: AnyStateNode): string => state.path.join('_').replaceAll('-', '_');

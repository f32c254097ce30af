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

function drawTransitions(root: AnyStateNode, lines: string[]): void {
  // One arrow per pair of states, with all the events that lead along it.
  const arrows = new Map<string, string[]>();
  const draw = (from: AnyStateNode, { transitions }: AnyStateNode): void => {
    for (const [event, alternatives] of transitions) {
      for (const target of alternatives.flatMap((transition) => transition.target ?? [])) {
        const arrow = `${nameOf(from)} --> ${nameOf(target)}`;
        const events = arrows.get(arrow) ?? [];
        if (!events.includes(event)) arrows.set(arrow, [...events, event]);
      }
    }
  };
  const visit = (state: AnyStateNode): void => {
    draw(state, state);
    for (const child of Object.values(state.states)) visit(child);
  };
  const states = Object.values(root.states);
  // What the chart takes as a whole, it takes in each of its states; nothing can be drawn at the whole.
  for (const state of states) if (state.type !== 'final') draw(state, root);
  for (const state of states) visit(state);
  for (const [arrow, events] of arrows) lines.push(`${INDENT}${arrow}: ${events.join(', ')}`);
}

const nameOf = (state: AnyStateNode): string => state.path.join('_').replaceAll('-', '_');

/**
 * A chart as states and arrows, from `toDirectedGraph`, which leaves some of it out and draws some of it wrong.
 *
 * CHG1  Transitions without an event (`always`) are there; the graph of the library has none.
 * CHG2  Transitions without a target are not: they lead nowhere, and the library draws them as arrows to themselves.
 * CHG3  What the chart takes as a whole begins at `*`.
 */
import { toDirectedGraph } from '@xstate/graph';
import { conditionInWords, eventInWords, stateInWords } from './chart-words.mjs';

export const WHOLE = '*';

const pathOf = (node) => (node.path.length === 0 ? WHOLE : node.path.join('.'));
const guardName = (guard) => (typeof guard === 'object' && guard !== null ? guard.type : guard);

/** @returns {{id: string, states: ChartState[], arrows: Arrow[]}} states in document order; parents before children */
export function chartGraph(machine) {
  const graph = toDirectedGraph(machine);
  const states = [];
  const arrows = [];
  const visit = (node) => {
    const { stateNode } = node;
    if (stateNode.path.length > 0) states.push(stateOf(stateNode));
    arrows.push(...arrowsOf(node));
    for (const child of node.children) visit(child);
  };
  visit(graph);
  return { id: machine.id, isParallel: machine.root.type === 'parallel', states, arrows: joined(arrows) };
}

function stateOf(node) {
  const { parent } = node;
  return {
    path: pathOf(node),
    parent: parent.path.length === 0 ? null : pathOf(parent),
    words: stateInWords(node.key),
    description: node.meta?.description ?? '',
    isCompound: Object.keys(node.states).length > 0,
    isFinal: node.type === 'final',
    isInitial: parent.initial?.target?.includes(node) === true,
  };
}

function arrowsOf({ stateNode, edges }) {
  const from = pathOf(stateNode);
  const triggered = edges
    .filter(({ transition }) => transition.target !== undefined)
    .map(({ target, label }) => ({ from, event: label.text, to: pathOf(target), words: eventInWords(label.text) }));
  const always = (stateNode.always ?? []).flatMap(({ target = [], guard }) =>
    target.map((to) => ({ from, event: '', to: pathOf(to), words: conditionInWords(guardName(guard)) })),
  );
  return [...triggered, ...always];
}

/** One arrow from one state to another, with everything that leads along it, in order. */
function joined(all) {
  const pairs = new Map();
  for (const { from, to, event, words } of all) {
    const key = `${from}|${to}`;
    if (!pairs.has(key)) pairs.set(key, { from, to, events: [] });
    const { events } = pairs.get(key);
    if (!events.some((one) => one.event === event)) events.push({ event, words });
  }
  return [...pairs.values()];
}

/**
 * Draws the charts of the engine as static pictures: web/public/charts/<machine>.svg.
 *
 *   node scripts/charts.mjs               after the build; does nothing while the charts are as they were
 *   node scripts/charts.mjs <folder>      draws them there
 *
 * CHD1  Every state is a `[data-state]`, every transition with a target a `[data-edge="from|event|to"]`; the page only toggles classes.
 * CHD2  No style attributes, no style elements, no scripts: the page's policy allows none. Colours are `currentColor` until a page says else.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chartGraph, WHOLE } from './chart-graph.mjs';
import { stateInWords } from './chart-words.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const FONT = 12;
const LABEL_FONT = 10.5;
const LINE = 14;
const STATE_HEIGHT = 30;
const HEAD = 26;
const ARROW = 6;
const CORNER = 7;
const MARGIN = 6;
const BEHIND = 24;

/** Which way a chart is read. */
const DIRECTION = { task: 'RIGHT' };

/** Ends that many states lead to in the same words: written in those states, where arrows would cross everything. */
const WRITTEN_ENDS = { session: ['failed', 'cancelled'] };

const LAYOUT = {
  'elk.algorithm': 'layered',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.json.shapeCoords': 'ROOT',
  'elk.json.edgeCoords': 'ROOT',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF',
  'elk.layered.nodePlacement.bk.fixedAlignment': 'BALANCED',
  'elk.layered.thoroughness': '40',
  'elk.aspectRatio': '0.8',
  'elk.spacing.nodeNode': '18',
  'elk.spacing.edgeNode': '12',
  'elk.spacing.edgeEdge': '10',
  'elk.spacing.edgeLabel': '3',
  'elk.spacing.componentComponent': '18',
  'elk.layered.spacing.nodeNodeBetweenLayers': '22',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '9',
};

const NARROW = new Set("fijlrtI.,:;|'!() ");
const WIDE = new Set('mwMWGOQ');

/** About as wide as a sans-serif font makes it; there is no browser here to ask. */
const widthOf = (text, size) =>
  [...text].reduce((width, letter) => width + size * (NARROW.has(letter) ? 0.34 : WIDE.has(letter) ? 0.84 : 0.57), 0);

/** @returns the text of an SVG document */
export async function drawChart(name, machine) {
  const graph = chartGraph(machine);
  const isWritten = ({ to }) => WRITTEN_ENDS[name]?.includes(to) === true;
  const drawn = {
    ...graph,
    arrows: graph.arrows.filter((arrow) => !isWritten(arrow)),
    exits: exitsOf(graph.arrows.filter(isWritten)),
  };
  // A megabyte and a half; not needed while nothing has changed.
  const { default: ELK } = await import('elkjs/lib/elk.bundled.js');
  const placed = await new ELK().layout(elkGraph(name, drawn));
  return svg(name, graph, drawn, placed);
}

/** By state: the lines that stand in it. */
function exitsOf(arrows) {
  const exits = new Map();
  for (const { from, to, events } of arrows) {
    const lines = events.map(({ event, words }) => ({ event, to, words: `${words} \u2192 ${stateInWords(to)}` }));
    exits.set(from, [...(exits.get(from) ?? []), ...lines]);
  }
  return exits;
}

function elkGraph(name, { states, arrows, exits, isParallel }) {
  const nodes = new Map(states.map((state) => [state.path, elkState(state, exits.get(state.path) ?? [])]));
  const root = { id: 'root', children: [], edges: [], layoutOptions: { ...LAYOUT, 'elk.direction': DIRECTION[name] ?? 'DOWN' } };
  for (const end of WRITTEN_ENDS[name] ?? []) nodes.get(end).layoutOptions = { 'elk.layered.layering.layerConstraint': 'LAST' };
  if (WRITTEN_ENDS[name] !== undefined) root.layoutOptions['elk.separateConnectedComponents'] = 'false';
  const of = (parent) => (parent === null ? root : nodes.get(parent));
  const hasWhole = arrows.some(({ from }) => from === WHOLE);
  if (hasWhole) root.children.push({ id: WHOLE, width: widthOf('in any state', FONT) + 20, height: STATE_HEIGHT - 4 });
  for (const { path, parent, isInitial } of states) {
    const { children } = of(parent);
    // Beside arrows from everywhere it would be one of them; it is put behind its state.
    if (isInitial && !(hasWhole && parent === null)) {
      children.push({ id: `initial ${path}`, width: 8, height: 8 });
      root.edges.push({ id: `initial|${path}`, sources: [`initial ${path}`], targets: [path] });
    }
    children.push(nodes.get(path));
  }
  // Regions have nothing to do with each other; one below the other, they are narrower.
  const regions = isParallel ? root.children.map(({ id }) => id) : [];
  for (const [index, id] of regions.slice(1).entries())
    root.edges.push({ id: `below ${id}`, sources: [regions[index]], targets: [id] });
  const order = new Map(states.map(({ path }, index) => [path, index]));
  arrows.forEach(({ from, to, events }, index) => {
    // Laid out the other way round, what leads back does not turn the chart upside down.
    const isBack = order.get(to) < order.get(from) && !from.startsWith(`${to}.`);
    const width = Math.max(...events.map(({ words }) => widthOf(words, LABEL_FONT))) + 6;
    root.edges.push({
      id: `${isBack ? 'back' : 'arrow'} ${index}`,
      sources: [isBack ? to : from],
      targets: [isBack ? from : to],
      labels: [{ text: 'label', width, height: events.length * LINE, layoutOptions: { 'elk.edgeLabels.inline': 'true' } }],
    });
  });
  return root;
}

function elkState({ path, words, isCompound }, exits) {
  const width = Math.max(widthOf(words, FONT) + 24, ...exits.map((exit) => widthOf(exit.words, LABEL_FONT) + 16));
  if (!isCompound)
    return { id: path, width: Math.max(64, width), height: STATE_HEIGHT + (exits.length === 0 ? 0 : exits.length * LINE + 4) };
  return {
    id: path,
    children: [],
    layoutOptions: {
      'elk.padding': `[top=${HEAD + 12},left=14,bottom=14,right=14]`,
      'elk.nodeSize.minimum': `(${width}, 60)`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
    },
  };
}

const round = (value) => Math.round(value * 10) / 10;
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function svg(name, graph, { arrows, exits }, placed) {
  const width = Math.ceil(placed.width + 2 * MARGIN);
  const height = Math.ceil(placed.height + 2 * MARGIN);
  const boxes = new Map();
  const collect = (node) => {
    for (const child of node.children ?? []) {
      boxes.set(child.id, child);
      collect(child);
    }
  };
  collect(placed);
  const edges = [];
  const gather = (node) => {
    edges.push(...(node.edges ?? []));
    for (const child of node.children ?? []) gather(child);
  };
  gather(placed);
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" class="chart-picture" data-chart="${name}" data-order="${graph.states.map(({ path }) => path).join(' ')}" viewBox="${-MARGIN} ${-MARGIN} ${width} ${height}" width="${width}" height="${height}" fill="none" stroke="currentColor" font-family="system-ui, sans-serif" font-size="${FONT}" role="img">`,
    `<title>${escaped(`The chart of ${ARTICLES[name] ?? `a ${name}`}`)}</title>`,
    `<desc>${escaped(inWords(graph))}</desc>`,
    ...graph.states.filter(({ isCompound }) => isCompound).map((state) => compound(state, boxes.get(state.path))),
    ...edges.filter(({ id }) => id.startsWith('initial')).map((edge) => `<g class="chart-initial">${line(edge)}</g>`),
    ...edges.filter(({ id }) => /^(arrow|back) /.test(id)).map((edge) => arrow(edge, arrows[Number(edge.id.split(' ')[1])])),
    ...[...boxes.values()].filter(({ id }) => id.startsWith('initial')).map(dot),
    ...graph.states
      .filter(({ path, isInitial }) => isInitial && !boxes.has(`initial ${path}`))
      .map(({ path }) => behind(boxes.get(path))),
    ...(boxes.has(WHOLE) ? [whole(boxes.get(WHOLE))] : []),
    ...graph.states
      .filter(({ isCompound }) => !isCompound)
      .map((state) => leaf(state, boxes.get(state.path), exits.get(state.path) ?? [])),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

const ARTICLES = { 'session-activity': 'the activity of a session', supervisor: 'the supervisor' };

const text = (x, y, words, more = '') =>
  `<text x="${round(x)}" y="${round(y)}" fill="currentColor" stroke="none"${more}>${escaped(words)}</text>`;

const box = ({ x, y, width, height }, radius, more) =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"${more}/>`;

const stateTag = ({ path, isFinal, isCompound, parent }) =>
  `<g class="chart-state${isFinal ? ' is-final' : ''}${isCompound ? ' is-compound' : ''}" data-state="${path}" data-parent="${parent ?? ''}">`;

const titleOf = ({ words, description }) => `<title>${escaped(description === '' ? words : `${words}: ${description}`)}</title>`;

function compound(state, place) {
  const frame = box(place, 10, ' class="chart-frame" stroke-opacity="0.5"');
  return `${stateTag(state)}${titleOf(state)}${frame}${text(place.x + 14, place.y + 18, state.words, ' class="chart-name" font-weight="600"')}</g>`;
}

function leaf(state, place, exits) {
  const { x, y, width, height } = place;
  const middle = x + width / 2;
  const inner = state.isFinal
    ? box({ x: x + 3, y: y + 3, width: width - 6, height: height - 6 }, 6, ' class="chart-inner" stroke-opacity="0.5"')
    : '';
  const name = text(middle, y + STATE_HEIGHT / 2 + FONT * 0.35, state.words, ' class="chart-name" text-anchor="middle"');
  const written = exits.map(({ event, to, words }, index) => {
    const line = text(
      middle,
      y + STATE_HEIGHT + index * LINE + LABEL_FONT - 2,
      words,
      ` text-anchor="middle" font-size="${LABEL_FONT}"`,
    );
    return `<g class="chart-edge" data-edge="${state.path}|${event}|${to}">${line}</g>`;
  });
  return `${stateTag(state)}${titleOf(state)}${box(place, 8, ' class="chart-box"')}${inner}${name}</g>${written.join('')}`;
}

const dot = ({ x, y }) =>
  `<circle class="chart-dot" cx="${round(x + 4)}" cy="${round(y + 4)}" r="4" fill="currentColor" stroke="none"/>`;

function behind({ x, y, width, height }) {
  const points = [x + width + BEHIND, x + width].map((at) => ({ x: at, y: y + height / 2 }));
  const edge = { id: 'initial', sections: [{ startPoint: points[0], endPoint: points[1] }] };
  return `<g class="chart-initial">${line(edge)}</g>${dot({ x: points[0].x - 4, y: points[0].y - 4 })}`;
}

function whole(place) {
  const { x, y, width, height } = place;
  return `<g class="chart-whole">${box(place, height / 2, ' stroke-dasharray="3 3"')}${text(x + width / 2, y + height / 2 + FONT * 0.35, 'in any state', ' font-style="italic" text-anchor="middle"')}</g>`;
}

function pointsOf({ id, sections: [section] }) {
  const points = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
  return id.startsWith('back') ? points.reverse() : points;
}

/** Bends are rounded; the last piece ends where the head of the arrow begins. */
function pathOf(points) {
  const d = [`M${round(points[0].x)} ${round(points[0].y)}`];
  for (let index = 1; index < points.length; index++) {
    const [before, here, next] = [points[index - 1], points[index], points[index + 1]];
    const length = Math.hypot(here.x - before.x, here.y - before.y) || 1;
    if (next === undefined) {
      const rest = Math.max(0, length - ARROW) / length;
      d.push(`L${round(before.x + (here.x - before.x) * rest)} ${round(before.y + (here.y - before.y) * rest)}`);
      continue;
    }
    const after = Math.hypot(next.x - here.x, next.y - here.y) || 1;
    const radius = Math.min(CORNER, length / 2, after / 2);
    const toward = (point, distance) =>
      `${round(here.x + ((point.x - here.x) * radius) / distance)} ${round(here.y + ((point.y - here.y) * radius) / distance)}`;
    d.push(`L${toward(before, length)}Q${round(here.x)} ${round(here.y)} ${toward(next, after)}`);
  }
  return d.join('');
}

function headOf(points) {
  const [before, end] = points.slice(-2);
  const angle = Math.round((Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI);
  return `<path class="chart-head" d="M0 0L${-ARROW - 1} -3.5V3.5Z" transform="translate(${round(end.x)} ${round(end.y)}) rotate(${angle})" fill="currentColor" stroke="none"/>`;
}

function line(edge) {
  const points = pointsOf(edge);
  return `<path class="chart-line" d="${pathOf(points)}" stroke-opacity="0.55"/>${headOf(points)}`;
}

function arrow(edge, { from, to, events }) {
  const [label] = edge.labels;
  const words = events.map(({ event, words: inWords }, index) => {
    const y = label.y + index * LINE + LABEL_FONT;
    return `<g class="chart-edge" data-edge="${from}|${event}|${to}">${text(label.x + label.width / 2, y, inWords, ` text-anchor="middle" font-size="${LABEL_FONT}"`)}</g>`;
  });
  const halo = box(label, 3, ' class="chart-halo" fill="Canvas" stroke="none"');
  return `<g class="chart-arrow">${line(edge)}${halo}${words.join('')}</g>`;
}

/** What the picture shows, for who does not see it. */
export function inWords({ states, arrows }) {
  const name = (path) => (path === WHOLE ? 'in any state' : path.split('.').at(-1).replaceAll('_', ' '));
  const lines = states.map(({ path, words, description }) => {
    const leaving = arrows
      .filter(({ from }) => from === path)
      .map(({ to, events }) => `${events.map((one) => one.words).join(', ')}: ${name(to)}`);
    return `${words}: ${description}${leaving.length === 0 ? '' : ` From here: ${leaving.join('; ')}.`}`;
  });
  const whole = arrows
    .filter(({ from }) => from === WHOLE)
    .map(({ to, events }) => `${events.map((one) => one.words).join(', ')}: ${name(to)}`);
  if (whole.length > 0) lines.push(`In any state: ${whole.join('; ')}.`);
  return lines.join('\n');
}

/** The charts by the names of their pictures. */
export const chartsOf = (machines) => ({
  job: machines.jobMachine,
  session: machines.sessionMachine,
  'session-activity': machines.sessionActivityMachine,
  supervisor: machines.supervisorMachine,
  task: machines.taskMachine,
});

/** Draws them all into the folder. */
export async function drawCharts(folder) {
  const charts = chartsOf(await import('../dist/machines/index.js'));
  mkdirSync(folder, { recursive: true });
  for (const [name, machine] of Object.entries(charts))
    writeFileSync(join(folder, `${name}.svg`), await drawChart(name, machine));
}

/** Those of the dashboard, unless they are there and nothing that they are made of has changed. */
export async function drawDashboardCharts() {
  const folder = join(ROOT, 'web', 'public', 'charts');
  const stamp = join(ROOT, 'dist', '.chartsinfo');
  const sources = sourcesHash();
  if (existsSync(join(folder, 'job.svg')) && existsSync(stamp) && readFileSync(stamp, 'utf8') === sources) return;
  await drawCharts(folder);
  writeFileSync(stamp, sources);
}

function sourcesHash() {
  const hash = createHash('sha256');
  const machines = join(ROOT, 'dist', 'machines');
  const compiled = readdirSync(machines).filter((name) => name.endsWith('.js'));
  const own = ['charts.mjs', 'chart-graph.mjs', 'chart-words.mjs'];
  for (const name of compiled.sort()) hash.update(readFileSync(join(machines, name)));
  for (const name of own) hash.update(readFileSync(join(ROOT, 'scripts', name)));
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === undefined) await drawDashboardCharts();
  else await drawCharts(process.argv[2]);
}

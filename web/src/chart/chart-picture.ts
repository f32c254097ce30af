/**
 * The picture of a chart, as scripts/charts.mjs has drawn it: fetched and parsed once, then copied.
 *
 * WPC1  What comes is read as data: no script of it runs, and what is not a chart is refused.
 */
import type { ChartName } from './chart-states.ts';

export interface ChartState {
  readonly path: string;
  readonly depth: number;
  /** Its name, and what it means. */
  readonly title: string;
}

export interface ChartPicture {
  readonly svg: SVGSVGElement;
  readonly title: string;
  readonly states: readonly ChartState[];
  readonly edges: readonly string[];
}

const pictures = new Map<ChartName, Promise<ChartPicture>>();

/** Rejects when it cannot be had; the next call tries again. */
export function chartPicture(name: ChartName): Promise<ChartPicture> {
  let picture = pictures.get(name);
  if (picture === undefined) {
    picture = load(name);
    pictures.set(name, picture);
    picture.catch(() => pictures.delete(name));
  }
  return picture;
}

async function load(name: ChartName): Promise<ChartPicture> {
  const answer = await fetch(new URL(`charts/${name}.svg`, document.baseURI));
  if (!answer.ok) throw new Error(`the chart could not be loaded: ${answer.status}`);
  const root = new DOMParser().parseFromString(await answer.text(), 'image/svg+xml').documentElement;
  if (!(root instanceof SVGSVGElement) || root.dataset.chart !== name) throw new Error('what was loaded is not this chart');
  return {
    svg: root,
    title: root.querySelector('title')?.textContent ?? '',
    states: [...root.querySelectorAll<SVGGElement>('[data-state]')].map(stateOf).sort(byPath(root)),
    edges: [...root.querySelectorAll<SVGGElement>('[data-edge]')].map(({ dataset }) => dataset.edge ?? ''),
  };
}

function stateOf(group: SVGGElement): ChartState {
  const path = group.dataset.state ?? '';
  return { path, depth: path.split('.').length - 1, title: group.querySelector('title')?.textContent ?? path };
}

/** In the order of the chart: frames are drawn first, and would stand before everything else. */
function byPath(root: SVGSVGElement): (a: ChartState, b: ChartState) => number {
  const order = (root.dataset.order ?? '').split(' ');
  return (a, b) => order.indexOf(a.path) - order.indexOf(b.path);
}

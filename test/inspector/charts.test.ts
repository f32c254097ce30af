import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { jobMachine, sessionActivityMachine, sessionMachine, supervisorMachine, taskMachine } from '../../src/machines/index.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const CHARTS: Readonly<Record<string, AnyStateMachine>> = {
  job: jobMachine,
  session: sessionMachine,
  'session-activity': sessionActivityMachine,
  supervisor: supervisorMachine,
  task: taskMachine,
};

const folder = mkdtempSync(join(tmpdir(), 'offstage-charts-'));
beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'charts.mjs'), folder]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const pictureOf = (name: string): string => readFileSync(join(folder, `${name}.svg`), 'utf8');
const all = (picture: string, attribute: string): string[] =>
  [...picture.matchAll(new RegExp(` ${attribute}="([^"]*)"`, 'g'))].map(([, value]) => value as string);

const nodesOf = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(nodesOf)];
const pathOf = (node: AnyStateNode): string => node.path.join('.') || '*';
/** From the chart itself, not from the library's graph of it. */
const edgesOf = (machine: AnyStateMachine): string[] => [
  ...new Set(
    nodesOf(machine.root).flatMap((node) =>
      [...[...node.transitions.values()].flat(), ...(node.always ?? [])].flatMap(({ eventType, target = [] }) =>
        target.map((to) => `${pathOf(node)}|${eventType}|${pathOf(to)}`),
      ),
    ),
  ),
];

describe.each(Object.entries(CHARTS))('CHD1: the picture of %s', (name, machine) => {
  const states = nodesOf(machine.root).slice(1);

  it('has every state once, with what it means', () => {
    const picture = pictureOf(name);
    expect(all(picture, 'data-state').sort()).toEqual(states.map(pathOf).sort());
    for (const { meta } of states) expect(picture).toContain(meta.description);
  });

  it('has every transition that leads somewhere once, and no other', () => {
    expect(all(pictureOf(name), 'data-edge').sort()).toEqual(edgesOf(machine).sort());
  });

  it('says events in words', () => {
    const texts = [...pictureOf(name).matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text as string);
    expect(texts.filter((text) => /[._]/.test(text))).toEqual([]);
  });

  it('CHD2: is nothing but shapes and classes, and fits a pane', () => {
    const picture = pictureOf(name);
    expect(picture).not.toMatch(/<style|\sstyle=|<script|\son\w+=|href/);
    expect(Number(all(picture, 'width')[0])).toBeLessThan(720);
    expect(picture.length).toBeLessThan(24_000);
  });
});

it('CHG1: shows what is left without an event', () => {
  expect(all(pictureOf('session-activity'), 'data-edge')).toContain('foreground.resting||foreground.generating');
});

it('CHG2: shows no arrow that leads nowhere', () => {
  expect(all(pictureOf('task'), 'data-edge').filter((edge) => edge.startsWith('*|task.tell'))).toEqual([]);
});

/** Every pair of fixtures goes through the mapping of its adapter, and every kind that an adapter vouches for has its pair (liveness 8). */
import { describe, expect, it } from 'vitest';
import { acpV1Agent } from '../../src/adapters/acp-v1-agent.ts';
import { acpV2Agent } from '../../src/adapters/acp-v2-agent.ts';
import { type AdapterFixture, type AdapterName, FixtureReplay } from '../../src/adapters/adapter-fixture.ts';
import { claudeAgentSdkAgent } from '../../src/adapters/claude-agent-sdk.ts';
import type { Attestation } from '../../src/model/agent.ts';
import { fixturePairs } from './fixture-files.ts';
import { recordExample } from './record-example.ts';
import { ScriptedAcp, V1_ANSWERS, V2_ANSWERS } from './scripted-acp.ts';

const CAPTURED = /^captured from the example agent \(examples\/agent\.mjs\) over stdio/;
const DERIVED = /^derived from the published types of @[\w-]+\/[\w-]+@\d+\.\d+\.\d+/;

describe('fixtures', () => {
  it.each(fixturePairs)('$name: $shows', ({ adapter, launch, end }) => {
    const replay = new FixtureReplay();
    for (const { origin, steps, frames } of [launch, end]) {
      expect(CAPTURED.test(origin) || DERIVED.test(origin)).toBe(true);
      expect(replay.frames({ adapter, steps })).toEqual(frames);
    }
  });

  it.each(fixturePairs)('$name: its end told twice names nothing new', ({ adapter, launch, end }) => {
    const replay = new FixtureReplay();
    const ended = (steps: AdapterFixture['steps']) =>
      replay.frames({ adapter, steps }).filter(({ type }) => type === 'workload.ended');
    const [, first, second] = [launch, end, end].map(({ steps }) => ended(steps));
    for (const frame of second ?? []) expect(first).toContainEqual(frame);
  });

  it.each(['subagent', 'shell', 'monitor'])('what the example agent says of a %s today is what was captured', async (kind) => {
    const { launch, end } = await recordExample(`/background 300 ${kind}\nsay launched`);
    const pair = fixturePairs.find(({ name }) => name === `acp-v2-${kind}`);
    expect({ launch, end }).toEqual({ launch: pair?.launch.steps, end: pair?.end.steps });
  });
});

describe('attestation', () => {
  const adapters: readonly { name: AdapterName; attests: () => Promise<Attestation> }[] = [
    {
      name: 'acp-v2',
      attests: async () => (await acpV2Agent({ ...new ScriptedAcp(V2_ANSWERS).pair.host, cwd: '/' })).attests,
    },
    {
      name: 'acp-v1',
      attests: async () => (await acpV1Agent({ ...new ScriptedAcp(V1_ANSWERS).pair.host, cwd: '/' })).attests,
    },
    {
      name: 'acp-v1-claude',
      attests: async () => (await acpV1Agent({ ...new ScriptedAcp(V1_ANSWERS).pair.host, cwd: '/', metadata: 'claude' })).attests,
    },
    {
      name: 'claude-agent-sdk',
      attests: async () => claudeAgentSdkAgent({ query: () => (async function* () {})() }).attests,
    },
  ];

  it.each(adapters)('$name: attested kinds have captured pairs, shown ones have pairs', async ({ name, attests }) => {
    const { workloads, shown = [] } = await attests();
    const pairs = fixturePairs.filter(({ adapter }) => adapter === name);
    const captured = pairs.filter(({ launch, end }) => CAPTURED.test(launch.origin) && CAPTURED.test(end.origin));
    expect([...workloads].sort()).toEqual([...new Set(captured.map(({ kind }) => kind))].sort());
    const derived = pairs.filter((pair) => !captured.includes(pair));
    expect([...shown].sort()).toEqual([...new Set(derived.map(({ kind }) => kind))].sort());
  });

  it('hand-off is vouched for by none: nothing that shows it could be captured', async () => {
    for (const { attests } of adapters) expect((await attests()).handoff).toBe(false);
  });
});

/**
 * What a provider said once, kept as a file, and told again through the mapping of its adapter.
 *
 * AFX1  A fixture goes the way of the real thing: the same mapping, nothing else.
 */
import type { Frame } from '../model/agent.ts';
import { AcpV1Mapping } from './acp-v1-mapping.ts';
import { AcpV2Mapping } from './acp-v2-mapping.ts';
import { claudeStreamMapping } from './claude-agent-sdk-mapping.ts';
import type { FrameMapping, MappingStep } from './frame-mapping.ts';

export type AdapterName = 'acp-v2' | 'acp-v1' | 'acp-v1-claude' | 'claude-agent-sdk';

/** Steps on the wire of one adapter, in order. */
export interface AdapterFixture {
  readonly adapter: AdapterName;
  readonly steps: readonly MappingStep[];
}

const MAPPINGS: Readonly<Record<AdapterName, () => FrameMapping>> = {
  'acp-v2': () => new AcpV2Mapping(),
  'acp-v1': () => new AcpV1Mapping(),
  'acp-v1-claude': () => new AcpV1Mapping({ metadata: 'claude' }),
  'claude-agent-sdk': () => claudeStreamMapping((generation) => `message-${generation}`),
};

/** Tells fixtures again. One after another continue each other, where they are of the same adapter. */
export class FixtureReplay {
  readonly #mappings = new Map<AdapterName, FrameMapping>();

  /** The frames of a fixture; `shift` is added to its generations. */
  frames({ adapter, steps }: AdapterFixture, shift = 0): Frame[] {
    let mapping = this.#mappings.get(adapter);
    if (mapping === undefined) {
      mapping = MAPPINGS[adapter]();
      this.#mappings.set(adapter, mapping);
    }
    const shifted = steps.map((step) => ('generation' in step ? { ...step, generation: step.generation + shift } : step));
    return shifted.flatMap((step) => (mapping as FrameMapping).step(step));
  }
}

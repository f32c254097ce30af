/** Liveness and stop, "Gate and tier": L1–L22. When a running session shows what, and whom it lets in (liveness 2, 3, 4, 6, 8). */
import { describe, expect, it } from 'vitest';
import type { MockAgentScript } from '../../src/adapters/mock-agent.ts';
import type { WorkloadKind } from '../../src/model/executor.ts';
import { FULL, type LabSession, type SessionLab, type SessionLabOptions, sessionLab } from '../support/sessions.ts';

const SUBAGENT = { kind: 'subagent', isDetached: false } as const;
const DETACHED = { kind: 'subagent', isDetached: true } as const;
const BACKGROUND_SHELL = { kind: 'shell', isDetached: true } as const;

type Story = (session: LabSession, lab: SessionLab) => Promise<void>;

/** A running session of which the agent has told `story`. */
async function when(story: Story, assertions: Story, options: SessionLabOptions = {}): Promise<void> {
  await using lab = await sessionLab(options);
  const session = await lab.running();
  await story(session, lab);
  await assertions(session, lab);
}

const busy: Story = async (session, lab) => {
  const before = lab.mock.prompts.length;
  expect([await session.tier(), await session.attempt()]).toEqual(['generating', 'prompt.busy']);
  expect(lab.mock.prompts).toHaveLength(before);
};

/** The prompt reaches the agent once, although the earlier one has not returned. */
const admits =
  (tier: 'background' | null): Story =>
  async (session, lab) => {
    const [earlier, before] = [session.prompt, lab.mock.prompts.length];
    expect(await session.view()).toMatchObject({ state: 'running', foregroundActivity: tier });
    expect(await session.attempt()).toBe('accepted');
    expect(lab.mock.prompts).toHaveLength(before + 1);
    expect([earlier.isOpen, session.generation > earlier.generation]).toEqual([true, true]);
    expect(await session.tier()).toBe('generating');
  };

describe('the gate', () => {
  it('L1: a running session of which nothing is known takes no prompt', async () => {
    await when(async () => {}, busy);
    await when((s) => s.out(), busy);
    await when(async () => {}, busy, { script: {}, announces: null });
  });

  it('L2: work is live and the foreground is vouched to be free: the prompt is accepted', async () => {
    await when(async (s, lab) => {
      await s.reg('t1');
      await busy(s, lab);
      await s.idle();
    }, admits('background'));
  });

  it('L2: the same where the host registers the work', async () => {
    await when(async (s) => {
      expect(await s.hostReg('t1')).toEqual({ changed: true });
      await s.idle();
    }, admits('background'));
  });

  it('L3: the absence of work never closes the gate', async () => {
    await when(async (s) => {
      await s.reg('t1');
      await s.idle();
      await s.bgc({ workloadId: 't1' });
    }, admits(null));
    await when((s) => s.idle(), admits(null));
  });

  it('L4: a top-level tool call after the yield is the foreground again', async () => {
    await when(async (s) => {
      await s.reg('bg');
      await s.idle();
      await s.call('read-file', { status: 'running' });
    }, busy);
  });
});

describe('the tier', () => {
  it('L6: of two that work in the background the last one ends it', async () => {
    await when(
      async (s) => {
        await s.reg('t2');
        await s.reg('t3');
        await s.idle();
      },
      async (s) => {
        await s.bgc({ workloadId: 't2' });
        expect(await s.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
        await s.bgc({ workloadId: 't3' });
        expect(await s.view()).toMatchObject({ foregroundActivity: null, activeSubagentCount: 0 });
      },
    );
  });

  it('L7: the completion of the turn leaves what works behind it', async () => {
    await when(
      async (s) => {
        await s.reg('t1');
        expect(await s.tier()).toBe('generating');
        await s.done();
      },
      async (s) => {
        expect(await s.view()).toMatchObject({ state: 'waiting_for_input', foregroundActivity: 'background', turn: null });
        expect(await s.attempt()).toBe('accepted');
      },
    );
  });

  it('L9: a completion without an id ends the only candidate', async () => {
    await when(
      async (s) => {
        await s.reg('b1', 'shell');
        await s.idle();
        expect(await s.tier()).toBe('background');
        await s.bgc();
      },
      async (s) => expect([await s.tier(), await s.works()]).toEqual([null, []]),
    );
  });
});

describe('a subagent that is its tool call', () => {
  const running: Story = async (s) => {
    await s.call('agent', { work: SUBAGENT });
    await s.idle();
    expect(await s.works()).toEqual(['agent']);
  };
  const withChild: Story = async (s, lab) => {
    await running(s, lab);
    await s.call('ls', { parent: 'agent', hasOutput: true });
  };
  const noWork: Story = async (s) => expect([await s.works(), await s.count()]).toEqual([[], 0]);

  it('L10: admits, and so it does while a child of it calls a tool', async () => {
    await when(running, admits('background'));
    await when(withChild, admits('background'));
  });

  it('L11: ends with its terminal update', async () => {
    for (const status of ['completed', 'failed', 'cancelled'] as const) {
      await when(async (s, lab) => {
        await withChild(s, lab);
        await s.update('agent', { status, work: SUBAGENT });
        await noWork(s, lab);
      }, admits(null));
    }
  });

  it('L12: ends with it whatever the update carries: the id counts, not the kind', async () => {
    await when(async (s, lab) => {
      await withChild(s, lab);
      await s.update('agent', { status: 'completed', hasOutput: true });
      await noWork(s, lab);
    }, admits(null));
  });

  it('L13: does not end with the terminal update of another id', async () => {
    await when(async (s) => {
      await running(s, undefined as never);
      await s.update('unregistered', { status: 'completed', hasOutput: true });
      expect(await s.works()).toEqual(['agent']);
    }, admits('background'));
  });
});

describe('a launch', () => {
  it('L15: that shows only in an update registers then', async () => {
    await when(
      async (s) => {
        await s.call('bash');
        expect(await s.works()).toEqual([]);
        await s.update('bash', { work: BACKGROUND_SHELL });
        expect(await s.works()).toEqual(['bash']);
      },
      async (s, lab) => {
        await s.idle();
        await admits('background')(s, lab);
      },
    );
  });

  it('L16: that completes does not end what it launched', async () => {
    await when(
      async (s) => {
        await s.call('agent', { work: DETACHED });
        await s.idle();
        await s.update('agent', { status: 'completed', hasOutput: true });
      },
      async (s, lab) => {
        expect(await s.view()).toMatchObject({ foregroundActivity: 'background', activeSubagentCount: 1 });
        expect(await s.works()).toEqual(['agent']);
        await admits('background')(s, lab);
        // By its own word it ends.
        await s.done();
        await s.bgc({ toolCallId: 'agent' });
        expect([await s.works(), await s.count()]).toEqual([[], 0]);
      },
    );
  });

  it('L18: that is heard of again neither frees nor takes the foreground', async () => {
    await when(async (s) => {
      await s.call('bash', { work: BACKGROUND_SHELL });
      await s.idle();
      await s.update('bash', { hasOutput: true });
      expect(await s.tier()).toBe('background');
      await s.out();
      expect(await s.tier()).toBe('generating');
      await s.update('bash', { status: 'running', hasOutput: true });
    }, busy);
  });
});

describe('what an adapter must vouch for', () => {
  const NAMES = ['default', 'claude', 'codex', 'opencode', 'offstage'];

  it('L19: attested, but not said by the provider at connect: no prompt, whatever the name; said, the next yield counts', async () => {
    for (const agentId of NAMES) {
      await using lab = await sessionLab({ announces: null, names: [agentId] });
      const named = await sessionWith(lab, agentId);
      await named.reg('t1');
      await named.idle();
      await busy(named, lab);
      await named.tell({ type: 'capability', generation: 0, handoff: true, snapshot: false });
      // The yield that did not count is not made to count afterwards.
      await busy(named, lab);
      await named.idle();
      await admits('background')(named, lab);
    }
  });

  it('L19: a capability that says no, or says it garbled, is none', async () => {
    for (const handoff of [false, 'true', 1, null, undefined] as unknown as boolean[]) {
      await when(
        async (s) => {
          await s.reg('t1');
          await s.idle();
        },
        busy,
        { announces: { handoff, snapshot: true } },
      );
    }
  });

  it.each([
    ['no yield', { attests: { ...FULL, yield: false } }],
    ['no hand-off', { attests: { ...FULL, handoff: false } }],
    ['neither', { attests: { ...FULL, yield: false, handoff: false } }],
  ] as readonly [string, MockAgentScript][])('attested %s: the yield changes neither tier nor admission', async (_, script) => {
    await when(
      async (s) => {
        await s.reg('t1');
        await s.idle();
      },
      busy,
      { script },
    );
  });

  it('a yield of no generation, or of another one, changes nothing', async () => {
    for (const generation of [0, -1, 1.5, Number.NaN, 99]) {
      await when(async (s) => {
        await s.reg('t1');
        await s.idle(generation);
      }, busy);
    }
  });

  it('L21: frames that look like work of agents nobody vouches for register nothing and free nothing', async () => {
    for (const agentId of ['codex', 'opencode', 'generic']) {
      await using lab = await sessionLab({ script: { attests: {} }, names: [agentId] });
      const s = await sessionWith(lab, agentId);
      await s.call('agent', { work: SUBAGENT });
      await s.call('async', { work: DETACHED });
      await s.reg('t1');
      await s.tell({ type: 'workload.snapshot', generation: 0, workloads: [{ workloadId: 't2', kind: 'subagent' }] });
      await s.idle();
      expect([await s.count(), await s.works()]).toEqual([0, []]);
      await busy(s, lab);
      await expect(s.hostReg('t3')).rejects.toMatchObject({ code: 'workload.not_attested' });
    }
  });

  it.each([
    ['async subagent', 'subagent'],
    ['background shell', 'shell'],
    ['chatty monitor', 'monitor'],
  ] as const)('L22: %s, recognised, and the foreground free: exactly one prompt reaches the agent', async (_, kind) => {
    await when(
      async (s) => {
        await s.call('launch', { work: { kind, isDetached: true } });
        await s.update('launch', { status: 'completed', hasOutput: true });
        await s.idle();
        if (kind === 'monitor') for (let line = 0; line < 20; line++) await s.update('launch', { hasOutput: true });
      },
      async (s, lab) => {
        await admits('background')(s, lab);
        expect(s.prompts.map(({ content }) => content)).toEqual(['begin', 'may I?']);
        expect(await s.works()).toEqual(['launch']);
      },
    );
  });

  it.each([
    ['not attested', { ...FULL, snapshot: false }, { handoff: true, snapshot: true }],
    ['attested, and not said at connect', FULL, null],
    ['attested, and denied at connect', FULL, { handoff: true, snapshot: false }],
    ['attested, and garbled at connect', FULL, { handoff: true, snapshot: 'true' as unknown as boolean }],
  ])(
    'a list of live work that is %s says nothing: neither that work has ended nor that there is more',
    async (_, attests, announces) => {
      await when(
        async (s) => {
          await s.reg('t1');
          for (const workloads of [[], [{ workloadId: 't2', kind: 'subagent' as const }]])
            await s.tell({ type: 'workload.snapshot', generation: 0, workloads });
        },
        async (s) => expect([await s.works(), await s.count()]).toEqual([['t1'], 1]),
        { script: { attests }, announces },
      );
    },
  );

  it('kinds that are only shown keep prompts out while the turn is open, and let them in when it has ended', async () => {
    const kinds: readonly WorkloadKind[] = ['shell'];
    await when(
      async (s) => {
        await s.reg('m', 'monitor');
        await s.idle();
      },
      async (s) => {
        expect([await s.tier(), await s.attempt()]).toEqual(['background', 'prompt.busy']);
        await s.done();
        expect([await s.tier(), await s.attempt()]).toEqual(['background', 'accepted']);
      },
      { script: { attests: { ...FULL, workloads: kinds, shown: ['monitor'] } } },
    );
  });
});

/** A running session of the agent of that name; all of them are the same mock. */
async function sessionWith(lab: SessionLab, agentId: string): Promise<LabSession> {
  const session = await lab.create(`of ${agentId}`, undefined, agentId);
  await session.ask('begin');
  await lab.settled();
  return session;
}

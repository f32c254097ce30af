#!/usr/bin/env node
/**
 * An agent without a model: a real program that speaks the Agent Client Protocol over standard input and output and does what the
 * prompt tells it to. Use it to see how Offstage treats agents that launch background work, hang, crash, or never tell the end.
 *
 *   offstage:  agents: { default: acpAgent({ command: 'node', args: ['examples/agent.mjs'], protocol: 'v2' }) }
 *   by hand:   node examples/agent.mjs --help
 *
 * It speaks the draft of version 2, and vouches for its background work as that version has it: each piece is announced, listed in
 * the `background` of every `state_update` until its final status, and outlives the turn that launched it. With `--v1` it speaks
 * version 1, where nothing of the kind can be said, so nobody can rely on it.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import * as v1 from '@agentclientprotocol/sdk';
import * as v2 from '@agentclientprotocol/sdk/experimental/v2';

const HELP = `Usage: node examples/agent.mjs [--v1] [--help]

An agent that speaks ACP on its standard input and output: version 2 (draft), or version 1 with --v1.
A prompt is a script, one step per line; a line that is no step is repeated. Durations: 250 (ms), 250ms, 2s, 1m.

  say TEXT                       says TEXT, word by word
  think TEXT                     thinks TEXT
  /slow DURATION                 talks for so long
  /tool [DURATION]               uses a tool and waits for it
  /background DURATION [KIND]    launches work that outlives the turn: subagent (default), shell or monitor
  /forget DURATION [KIND]        the same, but tells nobody when it ends
  /twice                         from now on tells the end of all work twice
  /out-of-turn DURATION          speaks once more that much later, without being asked
  /permission [words]            asks whether it may
  /spawn [setsid]                starts a real child process that sleeps; with setsid in a session of its own
  /refuse                        ends the turn: refused
  /fail                          ends the turn: an error
  /reject                        does not take the prompt at all
  /hang                          never ends the turn
  /ignore-cancel                 from now on does not listen when it is told to stop
  /ignore-term                   from now on does not listen to SIGTERM either
  /crash [DURATION]              writes a last line to standard error and exits with code 1
  /exit [CODE]                   exits
`;

const UNITS = { ms: 1, s: 1_000, m: 60_000 };

/** Milliseconds of `250`, `250ms`, `2s` or `1m`; 0 for nothing. */
function duration(text = '0') {
  const [, number, unit = 'ms'] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`${text} is no duration`);
  return Number(number) * UNITS[unit];
}

/** What holds for the whole process, once a prompt has asked for it. */
const manners = { tellsTwice: false, ignoresCancel: false };

/** One conversation: turns one after another, and the work that outlives them. `voice` says all of it in one version of the protocol. */
class Conversation {
  /** Announced and not ended: the name of the work → its kind. */
  #live = new Map();
  #voice;
  #turns = Promise.resolve();
  /** Of the turns that are open or wait for their time. */
  #open = new Set();
  #foreground = 'idle';
  #isClosed = false;

  constructor(voice) {
    this.#voice = voice;
  }

  /** Resolves with the end of the turn. `begun` is called when its time has come; never if it was cancelled before. */
  prompt(text, begun) {
    const turn = new AbortController();
    this.#open.add(turn);
    const ended = this.#turns
      .then(() => this.#runTurn(text.split('\n'), begun, turn.signal))
      .finally(() => this.#open.delete(turn));
    this.#turns = ended.catch(() => {});
    return ended;
  }

  cancel() {
    if (manners.ignoresCancel) return;
    for (const turn of this.#open) turn.abort();
  }

  async close() {
    this.cancel();
    await this.#turns;
    this.#isClosed = true;
  }

  /** Each state comes with the list of all work that goes on. */
  async state(foreground = this.#foreground, end = {}) {
    this.#foreground = foreground;
    await this.#voice.state(foreground, [...this.#live], end);
  }

  async #runTurn(lines, begun, signal) {
    if (signal.aborted) return { stopReason: 'cancelled' };
    await begun();
    await this.state('running');
    let end;
    try {
      end = (await this.#steps(lines, signal)) ?? { stopReason: 'end_turn' };
    } catch (error) {
      end = signal.aborted ? { stopReason: 'cancelled' } : { stopReason: 'error', message: error.message };
    }
    await this.state('idle', end);
    return end;
  }

  async #steps(lines, signal) {
    for (const line of lines) {
      const [step, ...words] = line.trim().split(/\s+/);
      const run = Object.hasOwn(STEPS, step) ? STEPS[step] : null;
      const end = await (run === null ? this.say(line.trim(), signal) : run(this, words, signal));
      if (end !== undefined) return end;
      signal.throwIfAborted();
    }
    return undefined;
  }

  async say(text, signal) {
    for (const word of text.split(/(?<= )/)) {
      signal?.throwIfAborted();
      if (word !== '') await this.#voice.say(word);
    }
  }

  think(text) {
    return this.#voice.think(text);
  }

  /** A tool that the turn waits for. */
  async tool(ms, signal) {
    const id = `tool_${randomUUID()}`;
    await this.#voice.tool(id, { name: 'Read', title: 'look at something', kind: 'read', status: 'in_progress' });
    try {
      await pause(ms, undefined, { signal });
      await this.#voice.tool(id, { status: 'completed' });
    } catch (error) {
      await this.#voice.tool(id, { status: 'failed' });
      throw error;
    }
  }

  /** Work that goes on behind the turn. */
  async launch(ms, kind, isForgotten) {
    const id = `${kind}_${randomUUID()}`;
    await this.#voice.launched(id, kind);
    this.#live.set(id, kind);
    await this.state();
    if (!isForgotten) setTimeout(() => this.#finish(id, kind), ms);
  }

  async #finish(id, kind) {
    if (this.#isClosed) return;
    this.#live.delete(id);
    for (let times = manners.tellsTwice ? 2 : 1; times > 0; times -= 1) {
      await this.#voice.finished(id, kind);
      await this.state();
    }
  }

  speakLater(ms) {
    const speak = async () => {
      if (this.#isClosed) return;
      await this.state('running');
      await this.say('By the way: nobody asked me.');
      await this.state('idle', { stopReason: 'end_turn' });
    };
    setTimeout(() => {
      this.#turns = this.#turns.then(speak);
    }, ms);
  }

  async ask(title, signal) {
    await this.state('requires_action');
    const answer = await this.#voice.ask(title, signal);
    await this.state('running');
    await this.say(`The answer is ${answer}.`, signal);
  }
}

const behave = (change) => void Object.assign(manners, change);

/** What a line of a prompt makes it do; what a step returns is the end of the turn. */
const STEPS = {
  say: (conversation, words, signal) => conversation.say(words.join(' '), signal),
  think: (conversation, words) => conversation.think(words.join(' ')),
  async '/slow'(conversation, [length], signal) {
    const ms = duration(length) / 10;
    for (const part of '0123456789') {
      await conversation.say(`${part} `, signal);
      await pause(ms, undefined, { signal });
    }
  },
  '/tool': (conversation, [length], signal) => conversation.tool(duration(length), signal),
  '/background': (conversation, [length, kind]) => conversation.launch(duration(length), kindOf(kind), false),
  '/forget': (conversation, [length, kind]) => conversation.launch(duration(length), kindOf(kind), true),
  '/twice': () => behave({ tellsTwice: true }),
  '/out-of-turn': (conversation, [length]) => conversation.speakLater(duration(length)),
  '/permission': (conversation, words, signal) => conversation.ask(words.join(' ') || 'May I?', signal),
  async '/spawn'(conversation, [where]) {
    const child = spawn('sleep', ['600'], { detached: where === 'setsid', stdio: 'ignore' });
    await conversation.say(`Started process ${child.pid}.`);
  },
  '/refuse': () => ({ stopReason: 'refusal' }),
  '/fail': () => {
    throw new Error('told to fail');
  },
  '/hang': (_, __, signal) => pause(2 ** 31 - 1, undefined, { signal }),
  '/ignore-cancel': () => behave({ ignoresCancel: true }),
  '/ignore-term': () => void process.on('SIGTERM', () => {}),
  async '/crash'(_, [length]) {
    await pause(duration(length));
    process.stderr.write('agent.mjs: told to crash\n');
    process.exit(1);
  },
  '/exit': (_, [code]) => process.exit(Number(code ?? 0)),
};

function kindOf(kind = 'subagent') {
  if (kind === 'subagent' || kind === 'shell' || kind === 'monitor') return kind;
  throw new Error(`${kind} is no kind of work`);
}

const TOOLS = {
  subagent: { name: 'Agent', title: 'a subagent in the background', kind: 'think' },
  shell: { name: 'Bash', title: 'a command in the background', kind: 'execute' },
  monitor: { name: 'Monitor', title: 'a monitor', kind: 'other' },
};
const OPTIONS = [
  { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
  { optionId: 'deny', name: 'Deny', kind: 'reject_once' },
];

const textOf = (prompt) => prompt.map((block) => block.text ?? '').join('\n');
const isRejected = (text) => text.split('\n').some((line) => line.trim() === '/reject');

/** Version 1: the prompt's answer is the end of the turn, and that is all there is to say about it. */
function v1Voice(client, sessionId) {
  const tell = (update) => client.notify(v1.methods.client.session.update, { sessionId, update });
  return {
    say: (text) => tell({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }),
    think: (text) => tell({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text } }),
    tool: (toolCallId, fields) =>
      tell({ sessionUpdate: fields.title === undefined ? 'tool_call_update' : 'tool_call', toolCallId, ...fields }),
    launched: (toolCallId, kind) => tell({ sessionUpdate: 'tool_call', toolCallId, ...TOOLS[kind], status: 'in_progress' }),
    finished: (toolCallId) => tell({ sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' }),
    state: async () => {},
    async ask(title, cancellationSignal) {
      const toolCall = { toolCallId: `tool_${randomUUID()}`, title };
      const asked = { sessionId, toolCall, options: OPTIONS };
      const { outcome } = await client.request(v1.methods.client.session.requestPermission, asked, { cancellationSignal });
      return outcome.optionId ?? outcome.outcome;
    },
  };
}

function v1Agent() {
  const conversations = new Map();
  return v1
    .agent({ name: 'example' })
    .onRequest(v1.methods.agent.initialize, () => ({
      protocolVersion: v1.PROTOCOL_VERSION,
      agentInfo: { name: 'example', version: '1' },
      agentCapabilities: {},
    }))
    .onRequest(v1.methods.agent.session.new, ({ client }) => {
      const sessionId = `session_${randomUUID()}`;
      conversations.set(sessionId, new Conversation(v1Voice(client, sessionId)));
      return { sessionId };
    })
    .onRequest(v1.methods.agent.session.prompt, async ({ params }) => {
      const text = textOf(params.prompt);
      if (isRejected(text)) throw new v1.RequestError(-32_000, 'told to reject it');
      const { stopReason, message } = await conversations.get(params.sessionId).prompt(text, async () => {});
      if (stopReason === 'error') throw new v1.RequestError(-32_603, message);
      return { stopReason };
    })
    .onNotification(v1.methods.agent.session.cancel, ({ params }) => conversations.get(params.sessionId)?.cancel());
}

/** Version 2: states with lists of the work behind them. A command is listed as its terminal, other work as its tool call. */
function v2Voice(client, sessionId) {
  const tell = (update) => client.notify(v2.methods.client.session.update, { sessionId, update });
  let messageId = '';
  let last = 'idle';
  const listed = ([id, kind]) =>
    kind === 'shell' ? { type: 'terminal', terminalId: id } : { type: 'tool_call', toolCallId: id };
  return {
    say: (text) => tell({ sessionUpdate: 'agent_message_chunk', messageId, content: { type: 'text', text } }),
    think: (text) => tell({ sessionUpdate: 'agent_thought_chunk', messageId: `${messageId}_t`, content: { type: 'text', text } }),
    tool: (toolCallId, fields) => tell({ sessionUpdate: 'tool_call_update', toolCallId, ...fields }),
    launched: (id, kind) =>
      kind === 'shell'
        ? tell({ sessionUpdate: 'terminal_update', terminalId: id, command: 'sleep' })
        : tell({ sessionUpdate: 'tool_call_update', toolCallId: id, ...TOOLS[kind], status: 'in_progress' }),
    finished: (id, kind) =>
      kind === 'shell'
        ? tell({ sessionUpdate: 'terminal_update', terminalId: id, exitStatus: { exitCode: 0 } })
        : tell({ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed' }),
    state(state, live, { stopReason, message }) {
      if (last === 'idle') messageId = `message_${randomUUID()}`;
      last = state;
      const why = stopReason === undefined ? {} : { stopReason };
      const error = message === undefined ? {} : { error: { code: -32_603, message } };
      return tell({ sessionUpdate: 'state_update', state, background: live.map(listed), ...why, ...error });
    },
    async ask(title, cancellationSignal) {
      const asked = { sessionId, title, options: OPTIONS };
      const { outcome } = await client.request(v2.methods.client.session.requestPermission, asked, { cancellationSignal });
      return outcome.optionId ?? outcome.outcome;
    },
  };
}

function v2Agent() {
  const conversations = new Map();
  const conversationOf = ({ sessionId }) => {
    const conversation = conversations.get(sessionId);
    if (conversation === undefined) throw new v2.RequestError(-32_002, `There is no session ${sessionId}.`);
    return conversation;
  };
  return v2
    .agent({ name: 'example' })
    .onRequest(v2.methods.agent.initialize, () => ({
      protocolVersion: v2.PROTOCOL_VERSION,
      info: { name: 'example', version: '1' },
      capabilities: { session: {} },
    }))
    .onRequest(v2.methods.agent.session.new, ({ client }) => {
      const sessionId = `session_${randomUUID()}`;
      conversations.set(sessionId, new Conversation(v2Voice(client, sessionId)));
      return { sessionId };
    })
    .onRequest(v2.methods.agent.session.list, () => ({ sessions: [] }))
    .onRequest(v2.methods.agent.session.resume, async ({ params }) => {
      await conversationOf(params).state('idle');
      return {};
    })
    .onRequest(v2.methods.agent.session.prompt, ({ params }) => {
      const conversation = conversationOf(params);
      const text = textOf(params.prompt);
      if (isRejected(text)) throw new v2.RequestError(-32_000, 'told to reject it');
      return new Promise((resolve, reject) => {
        // Answered when its turn begins; the end of the turn is told by its state.
        const begun = async () => {
          resolve({ messageId: `message_${randomUUID()}` });
          await pause(0);
        };
        const cancelled = new v2.RequestError(-32_800, 'cancelled before its turn began');
        conversation.prompt(text, begun).then(() => reject(cancelled), reject);
      });
    })
    .onNotification(v2.methods.agent.session.cancel, ({ params }) => conversations.get(params.sessionId)?.cancel())
    .onRequest(v2.methods.agent.session.close, async ({ params }) => {
      await conversations.get(params.sessionId)?.close();
      conversations.delete(params.sessionId);
      return {};
    });
}

const args = process.argv.slice(2);
const unknown = args.find((arg) => !['--v1', '--help'].includes(arg));
if (unknown !== undefined || args.includes('--help')) {
  process[unknown === undefined ? 'stdout' : 'stderr'].write(
    unknown === undefined ? HELP : `There is no option ${unknown}.\n\n${HELP}`,
  );
  process.exit(unknown === undefined ? 0 : 2);
}
const isV1 = args.includes('--v1');
const stream = (isV1 ? v1 : v2).ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
await (isV1 ? v1Agent() : v2Agent()).connect(stream).closed;
process.exit(0);

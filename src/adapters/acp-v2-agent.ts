/**
 * An agent that speaks the draft of ACP v2 (liveness 8).
 *
 * AVA1  What it attests is the protocol's own: lists of background work, and idle.
 */
import type { AcpAgent, AcpDialect, AcpSession } from './acp-session.ts';
import { type AcpAgentOptions, type AcpConnection, DEFAULT_CLIENT_INFO, startAcp, takeUp } from './acp-start.ts';
import { AcpV2Mapping } from './acp-v2-mapping.ts';
import { watchedWire } from './acp-wire.ts';
import { fieldsOf, textOf } from './read-json.ts';

const VERSION = 2;

/**
 * Begins, or resumes, a conversation with an ACP v2 agent. It needs the package `@agentclientprotocol/sdk`.
 * @throws agent.start_failed, or the reason of `options.signal`
 * @example
 * const agent = await acpV2Agent({
 *   input: Writable.toWeb(child.stdin),
 *   output: Readable.toWeb(child.stdout),
 *   cwd: process.cwd(),
 *   signal: context.signal,
 * });
 */
export function acpV2Agent(options: AcpAgentOptions): Promise<AcpAgent> {
  const mapping = new AcpV2Mapping();
  const dialect: AcpDialect = {
    attests: { workloads: ['subagent', 'shell', 'monitor'], yield: true, handoff: false, snapshot: true },
    mapping,
    cancelsAllRequests: false,
    acceptsWhenWritten: false,
    readPromptAnswer: (result, generation) =>
      textOf(fieldsOf(result).messageId) === undefined ? null : { step: 'accepted', generation },
  };
  return startAcp(options, dialect, (session) => open(options, session, mapping));
}

async function open(options: AcpAgentOptions, session: AcpSession, mapping: AcpV2Mapping): Promise<AcpConnection> {
  const sdk = await import('@agentclientprotocol/sdk/experimental/v2');
  const { agent, client } = sdk.methods;
  const info = options.clientInfo ?? DEFAULT_CLIENT_INFO;
  const wire = watchedWire(options, sdk.ndJsonStream, session);
  const connection = sdk
    .client({ name: info.name })
    .onRequest(client.session.requestPermission, async ({ params, signal }) => {
      const { toolCall } = fieldsOf(params.subject);
      const generation = mapping.generationOf(textOf(fieldsOf(toolCall).toolCallId));
      const question = { generation, title: textOf(params.title), options: params.options, signal };
      const optionId = await session.desk.ask(question);
      return typeof optionId === 'string'
        ? { outcome: { outcome: 'selected', optionId } }
        : { outcome: { outcome: 'cancelled' } };
    })
    .connect(wire.stream);
  const { agent: peer } = connection;

  const begin = async (): Promise<void> => {
    const { sessionId } = await peer.request(agent.session.new, { cwd: options.cwd, mcpServers: [] });
    session.conversationId = sessionId;
  };
  const resume = (sessionId: string): Promise<boolean> =>
    takeUp(session, sessionId, connection.signal, () =>
      peer.request(agent.session.resume, { sessionId, cwd: options.cwd, mcpServers: [] }),
    );
  return {
    async handshake() {
      const hello = await peer.request(agent.initialize, { protocolVersion: VERSION, info, capabilities: {} });
      if (hello.protocolVersion !== VERSION) throw new Error(`it speaks version ${hello.protocolVersion} of the protocol`);
      session.connected(hello);
      const { conversationId } = options;
      if (conversationId === undefined || !(await resume(conversationId))) await begin();
    },
    prompt: (sessionId, prompt) => peer.request(agent.session.prompt, { sessionId, prompt: prompt as never }),
    cancel: (sessionId) => peer.notify(agent.session.cancel, { sessionId }),
    close(reason) {
      connection.close(reason);
      wire.endInput();
    },
    closed: connection.closed.then(() => connection.signal.reason as unknown),
  };
}

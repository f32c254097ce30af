/**
 * An agent that speaks ACP v1 (liveness 8).
 *
 * AOA1  Nothing is attested. With Claude metadata its kinds of work are shown, but admit nothing: the fixtures that show them were derived
 *       from published types, and not captured.
 * AOA2  A prompt is accepted when its bytes were handed to the agent.
 */
import type { Attestation } from '../model/agent.ts';
import type { AcpAgent, AcpDialect, AcpSession } from './acp-session.ts';
import { type AcpAgentOptions, type AcpConnection, DEFAULT_CLIENT_INFO, startAcp, takeUp } from './acp-start.ts';
import { AcpV1Mapping, type AcpV1MappingOptions } from './acp-v1-mapping.ts';
import { watchedWire } from './acp-wire.ts';
import { fieldsOf, isFields, textOf } from './read-json.ts';

const VERSION = 1;
const UNATTESTED: Attestation = { workloads: [], yield: false, handoff: false, snapshot: false };
const SHOWN: Attestation = { ...UNATTESTED, shown: ['subagent', 'shell', 'monitor'] };

export interface AcpV1AgentOptions extends AcpAgentOptions, AcpV1MappingOptions {}

/**
 * Begins, or resumes, a conversation with an ACP v1 agent. It needs the package `@agentclientprotocol/sdk`.
 * @throws agent.start_failed, or the reason of `options.signal`
 * @example
 * const agent = await acpV1Agent({ input, output, cwd: process.cwd(), metadata: 'claude', signal: context.signal });
 */
export function acpV1Agent(options: AcpV1AgentOptions): Promise<AcpAgent> {
  const mapping = new AcpV1Mapping(options);
  const dialect: AcpDialect = {
    attests: options.metadata === 'claude' ? SHOWN : UNATTESTED,
    mapping,
    cancelsAllRequests: true,
    acceptsWhenWritten: true,
    readPromptAnswer: (result, generation) => {
      const stopReason = textOf(fieldsOf(result).stopReason);
      return stopReason === undefined ? null : { step: 'answered', generation, stopReason };
    },
  };
  return startAcp(options, dialect, (session) => open(options, session, mapping));
}

async function open(options: AcpV1AgentOptions, session: AcpSession, mapping: AcpV1Mapping): Promise<AcpConnection> {
  const sdk = await import('@agentclientprotocol/sdk');
  const { agent, client } = sdk.methods;
  const info = options.clientInfo ?? DEFAULT_CLIENT_INFO;
  const wire = watchedWire(options, sdk.ndJsonStream, session);
  const connection = sdk
    .client({ name: info.name })
    .onRequest(client.session.requestPermission, async ({ params, signal }) => {
      const { toolCallId, title } = params.toolCall;
      const generation = mapping.generationOf(toolCallId);
      const question = { generation, title: textOf(title), options: params.options, signal };
      const optionId = await session.desk.ask(question);
      return typeof optionId === 'string'
        ? { outcome: { outcome: 'selected', optionId } }
        : { outcome: { outcome: 'cancelled' } };
    })
    .connect(wire.stream);
  const { agent: peer } = connection;
  const { cwd } = options;

  const begin = async (): Promise<void> => {
    const { sessionId } = await peer.request(agent.session.new, { cwd, mcpServers: [] });
    session.conversationId = sessionId;
  };
  /** Loading tells the history again; resuming does not. */
  const resume = async (sessionId: string, capabilities: unknown): Promise<boolean> => {
    const { loadSession, sessionCapabilities } = fieldsOf(capabilities);
    const canResume = isFields(fieldsOf(sessionCapabilities).resume);
    if (!canResume && loadSession !== true) return false;
    session.isReplaying = true;
    try {
      return await takeUp(session, sessionId, connection.signal, () =>
        peer.request(canResume ? agent.session.resume : agent.session.load, { sessionId, cwd, mcpServers: [] }),
      );
    } finally {
      session.isReplaying = false;
    }
  };
  return {
    async handshake() {
      const hello = await peer.request(agent.initialize, {
        protocolVersion: VERSION,
        clientInfo: { name: info.name, version: info.version },
        // It lets Claude's adapter tell the end of a shell in the background.
        clientCapabilities: { _meta: { terminal_output: options.metadata === 'claude' } },
      });
      if (hello.protocolVersion !== VERSION) throw new Error(`it speaks version ${hello.protocolVersion} of the protocol`);
      session.connected(hello);
      const { conversationId } = options;
      if (conversationId === undefined || !(await resume(conversationId, hello.agentCapabilities))) await begin();
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

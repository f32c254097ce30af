/**
 * Starts a conversation with an ACP agent over a pair of byte streams, in either version.
 *
 * AST1  The library is loaded when an agent is started, and never before: it is an optional peer.
 * AST2  A start that its signal ends, or whose agent ends or refuses, leaves nothing open.
 * AST3  A conversation that the agent answers not to take up, whatever the reason, does not keep one from beginning.
 */
import { offstageError } from '../model/errors.ts';
import { type AcpAgent, type AcpDialect, type AcpPeer, AcpSession } from './acp-session.ts';

/** Where the agent is, and what it is told at the start. */
export interface AcpAgentOptions {
  /** What the agent reads: `Writable.toWeb(child.stdin)`. */
  readonly input: WritableStream<Uint8Array>;
  /** What the agent writes: `Readable.toWeb(child.stdout)`. */
  readonly output: ReadableStream<Uint8Array>;
  /** The absolute path that the conversation is about. */
  readonly cwd: string;
  /**
   * A conversation to go on with. An agent that cannot resume, or answers that with an error, begins a new one: compare the
   * `conversationId` of the agent.
   */
  readonly conversationId?: string | undefined;
  /** How this program introduces itself; default `offstage`. */
  readonly clientInfo?: { readonly name: string; readonly version: string } | undefined;
  /** Ends the start, and later the agent; pass that of the agent's context. */
  readonly signal?: AbortSignal | undefined;
  /** Names the agent in errors. */
  readonly agentId?: string | undefined;
}

export const DEFAULT_CLIENT_INFO = { name: 'offstage', version: '0' };

/** An open connection on which nothing has been said yet. */
export interface AcpConnection extends AcpPeer {
  /** Introduces both sides, and begins or resumes the conversation. */
  handshake(session: AcpSession): Promise<void>;
  /** Resolves with the reason when the connection has closed. */
  readonly closed: Promise<unknown>;
}

/**
 * False when the agent will not go on with the conversation (AST3); updates that come then are those of another one.
 * `ended` is the connection's signal: what fails with the connection is no answer. @throws what `resume` rejects with then
 */
export async function takeUp(
  session: AcpSession,
  conversationId: string,
  ended: AbortSignal,
  resume: () => Promise<unknown>,
): Promise<boolean> {
  session.conversationId = conversationId;
  try {
    await resume();
    return true;
  } catch (error) {
    if (ended.aborted) throw error;
    session.conversationId = null;
    return false;
  }
}

/** @throws agent.start_failed, or the reason of the signal */
export async function startAcp(
  options: AcpAgentOptions,
  dialect: AcpDialect,
  open: (session: AcpSession) => Promise<AcpConnection>,
): Promise<AcpAgent> {
  const { signal, agentId = 'default' } = options;
  signal?.throwIfAborted();
  const session = new AcpSession(dialect);
  let connection: AcpConnection | null = null;
  const end = (message: string, cause?: unknown): void => {
    signal?.removeEventListener('abort', onAbort);
    session.gone(message, cause);
    if (connection === null) options.input.close().catch(() => {});
    else connection.close(cause);
  };
  const onAbort = (): void => end('it was told to end');
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    connection = await open(session);
    signal?.throwIfAborted();
    await connection.handshake(session);
    signal?.throwIfAborted();
  } catch (error) {
    end('it could not be started');
    throw signal?.aborted === true ? signal.reason : startFailed(agentId, error);
  }
  void connection.closed.then((reason) => end('the connection has ended', reason));
  return session.agent(connection, async () => end('it was closed'));
}

function startFailed(agentId: string, error: unknown): Error {
  const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
  const message = isMissing
    ? 'the package @agentclientprotocol/sdk, by which it is spoken to, is not installed'
    : error instanceof Error
      ? error.message
      : String(error);
  return offstageError('agent.start_failed', { agentId, message }, { cause: error });
}

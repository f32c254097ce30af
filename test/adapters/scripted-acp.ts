/** The agent's side of an ACP connection by hand: raw JSON-RPC lines, so that it can also say what no library would. */
import type { JsonValue } from '../../src/model/json.ts';
import { type BytePair, bytePair } from './byte-pair.ts';

type Message = { readonly [key: string]: JsonValue };

export class ScriptedAcp {
  readonly pair: BytePair = bytePair();
  readonly requests: Message[] = [];
  readonly #writer = this.pair.agent.output.getWriter();
  readonly #waiting: { readonly method: string; resolve(message: Message): void }[] = [];
  readonly #unread: Message[] = [];
  #hasEnded = false;
  /** What it reads has ended. */
  readonly inputEnded: Promise<void>;
  /** Answered by themselves; the rest waits for the test. */
  readonly answers: Record<string, JsonValue>;

  constructor(answers: Record<string, JsonValue>) {
    this.answers = answers;
    this.inputEnded = this.#read();
  }

  async #read(): Promise<void> {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of this.pair.agent.input) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#receive(JSON.parse(line) as Message);
    }
  }

  #receive(message: Message): void {
    const method = typeof message.method === 'string' ? message.method : 'answer';
    this.requests.push(message);
    const answer = this.answers[method];
    if (answer !== undefined && message.id !== undefined) this.send({ id: message.id, result: answer });
    const index = this.#waiting.findIndex((waiter) => waiter.method === method);
    if (index < 0) this.#unread.push(message);
    else this.#waiting.splice(index, 1)[0]?.resolve(message);
  }

  /** The next message of this method (`answer`: an answer) that no earlier call has taken. */
  next(method: string): Promise<Message> {
    const index = this.#unread.findIndex((message) => (message.method ?? 'answer') === method);
    if (index >= 0) return Promise.resolve(this.#unread.splice(index, 1)[0] as Message);
    return new Promise((resolve) => this.#waiting.push({ method, resolve }));
  }

  send(message: Message): void {
    this.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  raw(text: string): void {
    // Node takes a write after the end for a fault of its own.
    if (this.#hasEnded) return;
    void this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }

  update(update: JsonValue, sessionId = 'conversation-one'): void {
    this.send({ method: 'session/update', params: { sessionId, update } });
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#writer.close();
  }
}

export const V2_ANSWERS: Record<string, JsonValue> = {
  initialize: { protocolVersion: 2, info: { name: 'scripted', version: '1' }, capabilities: { session: {} } },
  'session/new': { sessionId: 'conversation-one' },
};
export const V1_ANSWERS: Record<string, JsonValue> = {
  initialize: { protocolVersion: 1, agentCapabilities: {} },
  'session/new': { sessionId: 'conversation-one' },
};

/**
 * Watches the messages of an ACP connection pass, in the order of the wire, before the protocol's own library handles them.
 *
 * AWR1  Order is the wire's: an update and an answer are seen as they come, however late the library's promises settle.
 * AWR2  Updates of a session end here: they are read tolerantly, and the library, which would refuse malformed ones, never sees them.
 */
import { fieldsOf, isFields } from './read-json.ts';

/** A pair of streams of JSON-RPC messages, as the library makes and takes it. */
export interface MessageStream<Message> {
  readonly readable: ReadableStream<Message>;
  readonly writable: WritableStream<Message>;
}

export interface WireWatch {
  /** The parameters of a `session/update`. */
  onUpdate(params: unknown): void;
  /** The answer to a request: its result, or its error. */
  onAnswer(requestId: unknown, answer: { readonly result: unknown } | { readonly error: unknown }): void;
  /** A request is about to be written; what this returns is called once it has been. */
  onRequest(method: string, requestId: unknown): (() => void) | undefined;
  /** There is nothing more to read. */
  onEnd(error: unknown): void;
}

const UPDATE = 'session/update';

/** The same stream, watched. */
export function watchWire<Message>(stream: MessageStream<Message>, watch: WireWatch): MessageStream<Message> {
  const reader = stream.readable.getReader();
  const writer = stream.writable.getWriter();
  const readable = new ReadableStream<Message>(
    {
      async pull(controller) {
        try {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) {
              watch.onEnd(null);
              controller.close();
              return;
            }
            if (see(value, watch)) continue;
            controller.enqueue(value);
            return;
          }
        } catch (error) {
          watch.onEnd(error);
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const writable = new WritableStream<Message>({
    async write(message) {
      const { method, id } = fieldsOf(message);
      const onWritten = typeof method === 'string' && id !== undefined ? watch.onRequest(method, id) : undefined;
      await writer.write(message);
      onWritten?.();
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
  return { readable, writable };
}

/** True when the message ends here. */
function see(message: unknown, watch: WireWatch): boolean {
  if (!isFields(message)) return false;
  const { id, method } = message;
  if (method === UPDATE && id === undefined) {
    watch.onUpdate(message.params);
    return true;
  }
  if (method === undefined && id !== undefined) {
    watch.onAnswer(id, isFields(message.error) ? { error: message.error } : { result: message.result });
  }
  return false;
}

/**
 * Watches an ACP connection in the order of the wire, around the protocol's own library.
 *
 * AWR1  Order is the wire's: an update and an answer are seen as they come, however late the library's promises settle.
 * AWR2  Updates of a session end here: they are read tolerantly, and the library, which would refuse malformed ones, never sees them.
 * AWR3  Answers to what nobody asked end here too; the library would print them.
 * AWR4  A request is written when the stream below took its bytes, and not when it was queued.
 */
import { fieldsOf, isFields } from './read-json.ts';

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

/** A pair of streams of JSON-RPC messages, as the library makes and takes it. */
interface MessageStream<Message> {
  readonly readable: ReadableStream<Message>;
  readonly writable: WritableStream<Message>;
}

/** The bytes of both directions. */
interface ByteStreams {
  readonly input: WritableStream<Uint8Array>;
  readonly output: ReadableStream<Uint8Array>;
}

const UPDATE = 'session/update';

export interface WatchedWire<Message> {
  readonly stream: MessageStream<Message>;
  /** Tells the agent that nobody speaks to it any more. */
  endInput(): void;
}

/** The library's message stream over these bytes, watched. `frame` is its `ndJsonStream`: one message for each line and each write. */
export function watchedWire<Message>(
  bytes: ByteStreams,
  frame: (output: WritableStream<Uint8Array>, input: ReadableStream<Uint8Array>) => MessageStream<Message>,
  watch: WireWatch,
): WatchedWire<Message> {
  const asked = new Set<unknown>();
  const writer = bytes.input.getWriter();
  const { readable, writable } = frame(watchedInput(writer, asked, watch), bytes.output);
  return {
    stream: { readable: watchedMessages(readable, asked, watch), writable },
    endInput: () => void writer.close().catch(() => {}),
  };
}

function watchedInput(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  asked: Set<unknown>,
  watch: WireWatch,
): WritableStream<Uint8Array> {
  const decoder = new TextDecoder();
  return new WritableStream<Uint8Array>({
    async write(line) {
      const { method, id } = fieldsOf(JSON.parse(decoder.decode(line)));
      if (typeof method !== 'string' || id === undefined) return writer.write(line);
      asked.add(id);
      const onWritten = watch.onRequest(method, id);
      await writer.write(line);
      onWritten?.();
    },
  });
}

function watchedMessages<Message>(
  messages: ReadableStream<Message>,
  asked: Set<unknown>,
  watch: WireWatch,
): ReadableStream<Message> {
  const reader = messages.getReader();
  return new ReadableStream<Message>(
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
            if (see(value, asked, watch)) continue;
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
}

/** True when the message ends here. */
function see(message: unknown, asked: Set<unknown>, watch: WireWatch): boolean {
  if (!isFields(message)) return false;
  const { id, method } = message;
  if (method === UPDATE && id === undefined) {
    watch.onUpdate(message.params);
    return true;
  }
  if (method !== undefined) return false;
  if (!asked.delete(id)) return true;
  watch.onAnswer(id, isFields(message.error) ? { error: message.error } : { result: message.result });
  return false;
}

/** Two programs in one process, connected by byte streams as if by pipes. */

export interface BytePair {
  /** For the adapter: what the agent reads, and what it writes. */
  readonly host: { readonly input: WritableStream<Uint8Array>; readonly output: ReadableStream<Uint8Array> };
  /** For the agent: its standard output, and its standard input. */
  readonly agent: { readonly output: WritableStream<Uint8Array>; readonly input: ReadableStream<Uint8Array> };
}

export function bytePair(): BytePair {
  const toAgent = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1e6 }, { highWaterMark: 1e6 });
  const toHost = new TransformStream<Uint8Array, Uint8Array>(undefined, { highWaterMark: 1e6 }, { highWaterMark: 1e6 });
  return {
    host: { input: toAgent.writable, output: toHost.readable },
    agent: { output: toHost.writable, input: toAgent.readable },
  };
}

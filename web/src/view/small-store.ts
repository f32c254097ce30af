/**
 * What the build puts in the place of `@xstate/store`: the part of it that the page and the client use. The package brings a system of
 * signals with it, a tenth of what the page may weigh. The sources are written, and checked, against the package.
 */

type Transitions<Context> = Readonly<Record<string, (context: Context, event: Readonly<Record<string, unknown>>) => Context>>;

interface Snapshot<Context> {
  readonly context: Context;
}

export function createStore<Context>({ context: first, on }: { readonly context: Context; readonly on: Transitions<Context> }) {
  let snapshot: Snapshot<Context> = { context: first };
  const listeners = new Set<(snapshot: Snapshot<Context>) => void>();
  const send = (event: { readonly type: string }): void => {
    const context = on[event.type]?.(snapshot.context, event as never) ?? snapshot.context;
    if (context === snapshot.context) return;
    snapshot = { context };
    for (const listener of listeners) listener(snapshot);
  };
  const trigger: Record<string, (payload?: object) => void> = {};
  for (const type of Object.keys(on)) trigger[type] = (payload) => send({ ...payload, type });
  return {
    send,
    trigger,
    getSnapshot: () => snapshot,
    subscribe(listener: (snapshot: Snapshot<Context>) => void) {
      listeners.add(listener);
      return { unsubscribe: () => listeners.delete(listener) };
    },
  };
}

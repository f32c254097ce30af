/** Hands on the frames between page and server, and lets a test hold or change them. */
import type { Page, WebSocketRoute } from 'playwright-core';

export type WireFrame = { readonly type?: string } & Readonly<Record<string, unknown>>;

export interface Wire {
  /** What the server says, as the page is to hear it; null: not at all. Replaces the earlier one. */
  change(how: (frame: WireFrame) => WireFrame | null): void;
  /** From now on answers of this action wait. */
  hold(action: string): void;
  /** Lets them go. */
  release(): void;
  /** Resolves when an answer waits. */
  readonly held: Promise<void>;
  /** What the page has asked for, in order. */
  readonly asked: readonly string[];
}

/** To be called before the page is opened. */
export async function wireOf(page: Page): Promise<Wire> {
  let change = (frame: WireFrame): WireFrame | null => frame;
  let wanted: string | null = null;
  const asked: string[] = [];
  const actions = new Map<unknown, string>();
  const waiting: (() => void)[] = [];
  let onHeld = (): void => {};
  const held = new Promise<void>((resolve) => {
    onHeld = resolve;
  });
  const join = (route: WebSocketRoute): void => {
    const server = route.connectToServer();
    route.onMessage((message) => {
      const frame = JSON.parse(String(message)) as WireFrame;
      actions.set(frame.request_id, String(frame.action));
      asked.push(String(frame.action));
      server.send(message);
    });
    server.onMessage((message) => {
      const frame = JSON.parse(String(message)) as WireFrame;
      const pass = (): void => {
        const changed = change(frame);
        if (changed !== null) route.send(JSON.stringify(changed));
      };
      if (wanted === null || actions.get(frame.request_id) !== wanted) return pass();
      waiting.push(pass);
      onHeld();
    });
  };
  await page.routeWebSocket((url) => url.pathname === '/ws', join);
  return {
    change: (how) => {
      change = how;
    },
    hold: (action) => {
      wanted = action;
    },
    release: () => {
      wanted = null;
      for (const pass of waiting.splice(0)) pass();
    },
    held,
    asked,
  };
}

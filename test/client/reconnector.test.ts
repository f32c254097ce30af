/** RCN1–RCN6, WSW1, WSW2: how a connection is kept, and what becomes of what waits for it. */
import { afterEach, describe, expect, it } from 'vitest';
import { OffstageError } from '../../src/model/offstage-error.ts';
import { type LiveLab, type LiveLabOptions, liveLab } from '../support/live-client.ts';

const labs: LiveLab[] = [];
function lab(options: LiveLabOptions = {}): LiveLab {
  const made = liveLab(options);
  labs.push(made);
  return made;
}
afterEach(() => {
  for (const { client, clock, reported } of labs.splice(0)) {
    client.close();
    expect(clock.pending).toBe(0);
    expect(reported).toEqual([]);
  }
});

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'answered',
    (error: OffstageError) => error.code,
  );
const connectionOf = ({ client }: LiveLab) => client.live.get().connection;

describe('RCN2: pauses', () => {
  it('grow from 250 ms to 10 s while nobody answers, and say when it is tried again', async () => {
    const made = lab({ isDown: true });
    const times: number[] = [];
    const begunAt = made.clock.now();
    for (let tries = 1; tries < 9; tries += 1) {
      while (made.sockets.length < tries) await made.clock.advance(50);
      times.push(made.clock.now() - begunAt);
      if (tries > 1)
        expect(connectionOf(made)).toMatchObject({ status: 'lost', lastHeardAt: null, error: { code: 'control.lost' } });
    }
    expect(times).toEqual([0, 250, 750, 1_750, 3_750, 7_750, 15_750, 25_750]);
    await made.clock.advance(100);
    expect(connectionOf(made).retryAt).toBe(begunAt + 35_750);
    expect(connectionOf(made).since).toBe(begunAt);
  });

  it('are not exact', async () => {
    const first = async (random: number): Promise<number> => {
      const made = lab({ isDown: true, random: () => random });
      await made.clock.advance(700);
      const { retryAt } = connectionOf(made);
      return (retryAt as number) - made.clock.now();
    };
    expect(new Set([await first(0), await first(0.3), await first(0.6)]).size).toBe(3);
  });

  it('are short again once a connection has held, and not before', async () => {
    const made = lab({ isDown: true });
    await made.clock.advance(8_000);
    made.network.isDown = false;
    await made.clock.advance(10_000);
    expect(connectionOf(made).status).toBe('open');
    const { server, sockets, clock } = made;
    // Let in and thrown out at once, again and again: that is no reason to hurry.
    server.dropAll();
    await clock.advance(100);
    server.connections.clear();
    const before = sockets.length;
    for (let tick = 0; tick < 100; tick += 1) {
      await clock.advance(100);
      server.dropAll();
    }
    expect(sockets.length - before).toBeLessThan(3);
    await clock.advance(20_000);
    expect(connectionOf(made).status).toBe('open');
    server.dropAll();
    const last = sockets.length;
    await clock.advance(260);
    expect(sockets.length).toBe(last + 1);
  });

  it('end at once when the machine is online again', async () => {
    const made = lab({ isDown: true });
    await made.clock.advance(20_000);
    const before = made.sockets.length;
    made.network.isDown = false;
    made.goOnline();
    await made.clock.settle();
    expect(made.sockets.length).toBe(before + 1);
    // While one is being made, or stands, there is nothing to hurry.
    made.goOnline();
    await made.clock.advance(100);
    made.goOnline();
    await made.clock.settle();
    expect(made.sockets.length).toBe(before + 1);
    expect(connectionOf(made).status).toBe('open');
  });
});

describe('RCN3: a token that is no good', () => {
  const refusal = new OffstageError('access.unauthorized' as never, 'This token is not known.', {});

  it('is not tried again, and everything that waits is told', async () => {
    const made = lab({ refusal });
    const waiting = codeOf(made.client.request('health'));
    const opened = codeOf(made.client.opened());
    await made.clock.advance(60_000);
    expect(made.sockets.length).toBe(1);
    expect(connectionOf(made)).toMatchObject({ status: 'refused', error: { code: 'access.unauthorized' }, retryAt: null });
    expect(await waiting).toBe('control.lost');
    expect(await opened).toBe('access.unauthorized');
    expect(await codeOf(made.client.health())).toBe('access.unauthorized');
    made.goOnline();
    await made.clock.settle();
    expect(made.sockets.length).toBe(1);
  });

  it('is found out also when it was good before', async () => {
    const made = lab();
    await made.clock.advance(1_000);
    made.network.refusal = refusal;
    made.server.dropAll(1008);
    await made.clock.advance(60_000);
    expect(made.sockets.length).toBe(1);
    expect(connectionOf(made)).toMatchObject({ status: 'refused', seq: made.server.seq });
  });

  it('a close for another reason is tried again', async () => {
    const made = lab();
    await made.clock.advance(1_000);
    made.server.dropAll(1008);
    await made.clock.advance(1_000);
    expect(connectionOf(made).status).toBe('open');
    expect(made.sockets.length).toBe(2);
  });

  it('a subscription that is refused counts as well', async () => {
    const made = lab({
      prepare: (server) => server.failing.set('subscribe', { error: 'No.', error_code: 'access.forbidden', retryable: false }),
    });
    await made.clock.advance(60_000);
    expect(connectionOf(made)).toMatchObject({ status: 'refused', error: { code: 'access.forbidden', message: 'No.' } });
    const other = lab({
      prepare: (server) => server.failing.set('subscribe', { error: 'Not now.', error_code: 'limit.rate', retryable: true }),
    });
    await other.clock.advance(1_000);
    expect(connectionOf(other).status).toBe('open');
  });
});

describe('RCN4: silence', () => {
  it('of 25 s is a lost connection; a heartbeat is none', async () => {
    const made = lab();
    await made.clock.advance(1_000);
    for (let beats = 0; beats < 5; beats += 1) {
      made.sockets[0]?.push({ type: 'heartbeat', epoch: made.server.epoch, seq: 0, at: 0 });
      await made.clock.advance(24_000);
      expect(connectionOf(made)).toMatchObject({ status: 'open', lastHeardAt: made.clock.now() - 24_000 });
    }
    made.network.isDown = true;
    const waiting = codeOf(made.client.request('never'));
    await made.clock.advance(1_100);
    expect(connectionOf(made)).toMatchObject({ status: 'lost', error: { code: 'control.lost' } });
    expect(await waiting).toBe('control.lost');
    expect(made.sockets[0]?.hasEnded).toBe(true);
  });

  it('of a server that takes the connection and says nothing, too', async () => {
    const made = lab();
    made.network.holdsFrames = true;
    await made.clock.settle();
    const [first] = made.sockets;
    if (first !== undefined) first.holdsFrames = true;
    first?.frames.splice(0);
    made.server.dropAll();
    await made.clock.advance(300);
    expect(made.sockets.length).toBe(2);
    await made.clock.advance(25_000);
    expect(made.sockets[1]?.hasEnded).toBe(true);
  });
});

describe('RCN5, OCL2: requests', () => {
  it('wait for the connection that is being made; while none is, they reject at once', async () => {
    const made = lab();
    const early = made.client.request('await_jobs', { job_ids: [] });
    expect(await early).toMatchObject({ tasks: [] });
    made.network.isDown = true;
    made.server.dropAll();
    await made.clock.settle();
    expect(await codeOf(made.client.health())).toBe('control.lost');
  });

  it('reject when the connection goes before their answer, and are not repeated', async () => {
    const made = lab();
    await made.clock.advance(1_000);
    const waiting = [codeOf(made.client.request('never')), codeOf(made.client.request('never'))];
    await made.clock.settle();
    made.server.dropAll();
    expect(await Promise.all(waiting)).toEqual(['control.lost', 'control.lost']);
    await made.clock.advance(10_000);
    expect(made.server.asked.filter(({ action }) => action === 'never').length).toBe(2);
  });

  it('what the server answers with is what they reject with', async () => {
    const made = lab();
    await expect(made.client.getSession('none')).rejects.toMatchObject({ code: 'session.not_found', retryable: false });
    await expect(made.client.listJobs({ limit: 0 })).rejects.toMatchObject({ code: 'input.invalid' });
    await expect(made.client.listJobs({ limit: Number.NaN })).rejects.toMatchObject({ code: 'input.invalid' });
  });
});

describe('WSW2: what is no frame', () => {
  it.each(['{', '[]', 'null', '7', '"x"'])('%s ends the connection, and a new one is made', async (text) => {
    const made = lab();
    await made.clock.advance(1_000);
    const waiting = codeOf(made.client.request('never'));
    await made.clock.settle();
    made.sockets[0]?.emitText(text);
    expect(await waiting).toBe('control.protocol');
    await made.clock.advance(1_000);
    expect(connectionOf(made).status).toBe('open');
    expect(made.sockets.length).toBe(2);
  });

  it('an error that names no request is about the connection; a frame that nobody knows is about nothing', async () => {
    const made = lab();
    await made.clock.advance(1_000);
    made.sockets[0]?.push({ type: 'news' });
    made.sockets[0]?.push({ type: 'result', request_id: 4711 });
    made.sockets[0]?.push({ type: 'error', request_id: 4711, error: 'x', error_code: 'job.not_found' });
    await made.clock.settle();
    expect(made.sockets[0]?.hasEnded).toBe(false);
    made.sockets[0]?.push({ type: 'error', error: 'Too many connections.', error_code: 'limit.connections', request_id: null });
    await made.clock.advance(60);
    expect(connectionOf(made)).toMatchObject({ status: 'lost', error: { code: 'limit.connections' } });
  });
});

describe('RCN6: close', () => {
  it('settles everything, and leaves nothing', async () => {
    for (const wait of [0, 5, 1_000]) {
      const made = lab();
      const opened = codeOf(made.client.opened());
      if (wait > 0) await made.clock.advance(wait);
      const waiting = codeOf(made.client.request('never'));
      await made.clock.settle();
      made.client.close();
      made.client.close();
      expect(await waiting).toBe('control.lost');
      expect(['answered', 'control.lost']).toContain(await opened);
      expect(await codeOf(made.client.health())).toBe('control.lost');
      expect(connectionOf(made)).toMatchObject({ status: 'lost', retryAt: null });
      expect(made.clock.pending).toBe(0);
      await made.clock.advance(60_000);
      expect(made.sockets.every(({ hasEnded }) => hasEnded)).toBe(true);
      expect(made.sockets.length).toBe(1);
    }
  });

  it('also while it is not connected, or asks why', async () => {
    const made = lab({ isDown: true });
    await made.clock.advance(3_000);
    const before = made.sockets.length;
    made.client.close();
    await made.clock.advance(60_000);
    expect(made.sockets.length).toBe(before);
    expect(await codeOf(made.client.opened())).toBe('control.lost');
  });
});

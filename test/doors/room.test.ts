import { describe, expect, it } from 'vitest';
import { Room } from '../../src/doors/requests/room.ts';

describe('room', () => {
  it('ROM1: all who wait hear of it once there is some, and later ones wait again', async () => {
    const room = new Room();
    room.make();
    expect(room.isWanted).toBe(false);
    const first = room.wait();
    expect(room.wait()).toBe(first);
    expect(room.isWanted).toBe(true);
    room.make();
    await first;
    expect(room.isWanted).toBe(false);
    expect(room.wait()).not.toBe(first);
  });
});

/** A process that owns a store, for tests. Usage: node host.mjs <task> <dataDir>. Speaks one JSON document per line on its standard output. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { levelStore } from '../../dist/persistence/level-store.js';

const [task, dataDir] = process.argv.slice(2);
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const lines = createInterface({ input: process.stdin });
const heard = async () => (await once(lines, 'line'))[0];
const put = (key, value) => ({ type: 'put', key, value });

async function count(range) {
  let entries = 0;
  for await (const _ of range) entries += 1;
  return entries;
}

const tasks = {
  /** Writes a row and keeps the store open until it is killed or told to stop. */
  async hold(store) {
    await store.batch([put('held', String(process.pid))], { sync: true });
    say({ pid: process.pid });
    await heard();
    await store.close();
  },

  /** B41: everything at once, and close in the same tick. */
  async burst(store) {
    const rows = Array.from({ length: 5_000 }, (_, number) => put(`row/${String(number).padStart(6, '0')}`, 'x'.repeat(200)));
    await store.batch(rows, { sync: false });
    const ranges = [count(store.range({})), count(store.range({ reverse: true })), count(store.range({ limit: 50 }))];
    store.range({});
    const writes = Array.from({ length: 100 }, (_, number) =>
      store.batch([put(`late/${number}`, 'x')], { sync: number % 3 === 0 }),
    );
    const reads = Array.from({ length: 100 }, (_, number) => store.get(`row/${String(number).padStart(6, '0')}`));
    const closed = store.close();
    const settled = await Promise.allSettled([...ranges, ...writes, ...reads, closed]);
    say({
      acknowledged: (await Promise.allSettled(writes)).flatMap(({ status }, number) =>
        status === 'fulfilled' ? [`late/${number}`] : [],
      ),
      codes: [...new Set(settled.flatMap(({ reason }) => (reason === undefined ? [] : [String(reason.code)])))],
    });
    lines.close();
  },

  /** Writes numbered batches for ever, large enough that logs and tables change all the time. */
  async churn(store) {
    const last = await store.get('last');
    for (let number = Number(last ?? 0) + 1; ; number += 1) {
      const rows = Array.from({ length: 20 }, (_, row) => put(`row/${(number * 7 + row) % 500}`, `${number} `.repeat(2_000)));
      await store.batch([put('last', String(number)), ...rows, put('twin', String(number))], { sync: number % 5 === 0 });
      say({ number });
    }
  },

  /** B43: writes until the disk takes no more, tries on, and again when there is room. */
  async fill(store) {
    const acknowledged = [];
    const failed = [];
    const write = async (key) => {
      try {
        await store.batch([put(key, `${key} `.repeat(3_000)), put(`${key}/twin`, 'x')], { sync: false });
        acknowledged.push(key);
        return null;
      } catch (error) {
        failed.push(key);
        return error.code;
      }
    };
    let code = null;
    for (let number = 0; code === null && number < 1_000; number += 1) code = await write(`before/${number}`);
    const again = [await write('full/1'), await write('full/2')];
    say({ code, again, rowsWhileFull: await count(store.range({})), acknowledged: acknowledged.length });
    await heard();
    const after = [];
    for (let number = 0; number < 20; number += 1) after.push(await write(`after/${number}`));
    await store.close();
    say({ after, acknowledged, failed });
    lines.close();
  },
};

const store = await levelStore(dataDir);
await tasks[task](store);
process.stdin.destroy();

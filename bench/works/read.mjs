/** H5: get and list over stored jobs, one call after the other. */
import { quantile } from './session.mjs';

const LIST_LIMIT = 50;

export async function read(subject, { ids, gets, lists, ...options }) {
  const session = await subject.open({ ...options, noop: async () => null, onEnd: () => {} });
  const timed = async (times, verb) => {
    const begun = performance.now();
    const answer = await verb();
    times.push((performance.now() - begun) * 1_000);
    return answer;
  };
  const got = [];
  const listed = [];
  for (let index = 0; index < 50; index += 1) await session.get(ids[index % ids.length]);
  for (let index = 0; index < 10; index += 1) await session.list(LIST_LIMIT);
  for (let index = 0; index < gets; index += 1) await timed(got, () => session.get(ids[index % ids.length]));
  for (let index = 0; index < lists; index += 1) {
    const rows = await timed(listed, () => session.list(LIST_LIMIT));
    if (rows.length !== LIST_LIMIT) throw new Error(`list answered ${rows.length} rows`);
  }
  await session.close();
  return {
    getUs: quantile(got, 0.5),
    getP95Us: quantile(got, 0.95),
    listUs: quantile(listed, 0.5),
    listP95Us: quantile(listed, 0.95),
  };
}

/**
 * Runs simulated worlds on the real engine, one seed after the other, and judges them by the checkers of G1 to G16. What fails is shrunk and told.
 *
 * `npm run simulate -- --seed N --steps M`: M steps in all, in worlds of at most `--length` (default 1,000) steps, with seeds N, N + 1, …
 * `--only 3,17,90`: one world of just these steps.  `--trace`: tells everything, else only what is about the failure.
 * `--checkers G1,G7`: judges by these alone.
 * `--no-shrink`: tells the failure as it was found.  `--json`: one line of JSON at the end.
 * Exits 1 when a guarantee was broken, 2 when it was called wrongly.
 */
import { parseArgs } from 'node:util';
import { CHECKERS, simulateMany } from '../dist/testing/index.js';

const usage = (message) => {
  console.error(`simulate: ${message}`);
  process.exit(2);
};

const integer = (name, text, least) => {
  const value = Number(text);
  // An empty text would be 0.
  if (text.trim() === '' || !Number.isSafeInteger(value) || value < least)
    usage(`--${name} must be an integer of at least ${least}, not ${text}`);
  return value;
};

function readArguments() {
  try {
    return parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        steps: { type: 'string', default: '20000' },
        length: { type: 'string', default: '1000' },
        only: { type: 'string' },
        checkers: { type: 'string' },
        trace: { type: 'boolean', default: false },
        shrink: { type: 'boolean', default: true },
        json: { type: 'boolean', default: false },
      },
      allowNegative: true,
    }).values;
  } catch (error) {
    return usage(error.message);
  }
}

const values = readArguments();
const seed = integer('seed', values.seed, 0);
const steps = integer('steps', values.steps, 1);
const length = integer('length', values.length, 1);
const only = values.only?.split(',').map((text) => integer('only', text, 0));
const named = values.checkers === undefined ? undefined : [...new Set(values.checkers.split(','))];
const checkers = CHECKERS.filter(({ guarantee }) => named === undefined || named.includes(guarantee));
if (named !== undefined && checkers.length < named.length)
  usage(`--checkers must be some of ${CHECKERS.map(({ guarantee }) => guarantee)}`);
const say = values.json ? () => {} : console.log;

const began = performance.now();
const { failure, ...total } = await simulateMany({
  ...{ seed, steps, length, checkers, say },
  ...{ trace: values.trace, shrinks: values.shrink },
  ...(only === undefined ? {} : { only }),
}).catch((error) => (error.code === 'config.invalid' ? usage(error.message) : Promise.reject(error)));
const seconds = (performance.now() - began) / 1_000;
if (values.json) {
  const { story: _, promise: __, ...told } = failure ?? {};
  console.log(JSON.stringify({ firstSeed: seed, ...total, seconds, failure: failure && told }));
}
if (failure !== null) {
  const which = failure.only ? `--only ${failure.only}` : `--steps ${failure.steps} --length ${failure.steps}`;
  say(`\nAgain: npm run simulate -- --seed ${failure.seed} ${which}`);
}
say(
  `\n${total.steps} steps in ${total.worlds} worlds (seeds ${seed} to ${seed + total.worlds - 1}): ${total.lives} engines, ` +
    `${total.facts} facts judged, ${(total.elapsedMs / 86_400_000).toFixed(1)} days of virtual time, in ${seconds.toFixed(1)} s. ` +
    (failure === null ? 'Every guarantee held.' : `${failure.guarantee} was broken.`),
);
process.exitCode = failure === null ? 0 : 1;

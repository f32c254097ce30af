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
import { CHECKERS, isAbout, lineOf, shrink, simulate } from '../dist/testing/index.js';

const usage = (message) => {
  console.error(`simulate: ${message}`);
  process.exit(2);
};

const integer = (name, text, least) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) usage(`--${name} must be an integer of at least ${least}, not ${text}`);
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
const firstSeed = integer('seed', values.seed, 0);
const steps = integer('steps', values.steps, 1);
const length = integer('length', values.length, 1);
const only = values.only?.split(',').map((text) => integer('only', text, 0));
const named = values.checkers?.split(',');
const checkers = CHECKERS.filter(({ guarantee }) => named === undefined || named.includes(guarantee));
if (named !== undefined && checkers.length < named.length)
  usage(`--checkers must be some of ${CHECKERS.map(({ guarantee }) => guarantee)}`);
const say = values.json ? () => {} : console.log;

const total = { worlds: 0, steps: 0, facts: 0, lives: 0, elapsedMs: 0 };
const began = performance.now();

/** Runs it once more, and tells what happened. */
async function explain(world, violation) {
  const { promise } = CHECKERS.find(({ guarantee }) => guarantee === violation.guarantee);
  say(`\nSeed ${world.seed} breaks ${violation.guarantee} (${promise}).`);
  say(`\n  step      life:elapsed  what happened${values.trace ? '' : ', as far as it is about this'}`);
  await simulate({
    ...world,
    onFact: (fact) => {
      if (values.trace || isAbout(fact, violation.message)) say(lineOf(fact));
    },
  });
  say(`\n${violation.message}`);
}

async function failed(world, { violation }) {
  if (!values.shrink) {
    await explain(world, violation);
    say(
      `\nAgain: npm run simulate -- --seed ${world.seed} ${only ? `--only ${only}` : `--steps ${world.steps} --length ${world.steps}`}`,
    );
    return { seed: world.seed, ...violation };
  }
  say(`seed ${world.seed}: ${violation.message}\n  in step ${violation.step}; leaving out what is not needed …`);
  const shrunk = await shrink(world);
  say(`  ${shrunk.only.length} of ${world.steps} steps are left after ${shrunk.runs} runs`);
  await explain({ ...world, only: shrunk.only }, shrunk.result.violation);
  say(`\nAgain: npm run simulate -- --seed ${world.seed} --only ${shrunk.only.join(',')}`);
  return { seed: world.seed, only: shrunk.only, ...shrunk.result.violation };
}

let failure = null;
for (let seed = firstSeed; total.steps < steps && failure === null; seed++) {
  const world = { seed, checkers, steps: Math.min(length, steps - total.steps), ...(only === undefined ? {} : { only }) };
  const result = await simulate(world);
  total.worlds += 1;
  for (const name of ['steps', 'facts', 'lives', 'elapsedMs']) total[name] += result[name];
  if (result.violation !== null) failure = await failed(world, result);
  if (only !== undefined) break;
}
const seconds = (performance.now() - began) / 1_000;
const days = total.elapsedMs / 86_400_000;
if (values.json) console.log(JSON.stringify({ firstSeed, ...total, seconds, failure }));
say(
  `\n${total.steps} steps in ${total.worlds} worlds (seeds ${firstSeed} to ${firstSeed + total.worlds - 1}): ${total.lives} engines, ` +
    `${total.facts} facts judged, ${days.toFixed(1)} days of virtual time, in ${seconds.toFixed(1)} s. ` +
    (failure === null ? 'Every guarantee held.' : `${failure.guarantee} was broken.`),
);
process.exitCode = failure === null ? 0 : 1;

/**
 * A model that hands work off and goes on talking: an agent loop on the AI SDK with the tools of Offstage.
 *
 *   npm install offstage ai
 *   node examples/agent-loop.mjs
 *
 * The model is a script here, so that it runs without a key. Put a real one in its place, for example `openai('gpt-5')`, and leave the rest.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { memoryStore, open } from 'offstage';
import { agentTools, toAiSdkTools } from 'offstage/tools';

/** What the other agents would do; each listens to its signal, so that it can be stopped. */
const WORK = {
  'read the logs': [300, 'The disk was full from 02:10 to 02:40.'],
  'run the tests': [1_500, '213 of 214 passed; "upload a file" failed.'],
  'ask the web': [600_000, 'Nobody knows.'],
};

const offstage = await open({
  store: memoryStore(), // or dataDir: './.offstage', to find it all again tomorrow
  workers: 2,
  executors: {
    async agent(job, { signal }) {
      const [ms, answer] = WORK[job.subject];
      await pause(ms, undefined, { signal });
      return answer;
    },
  },
});
const { sessionId } = await offstage.sessions.create();
const tools = toAiSdkTools(agentTools(offstage), { sessionId });
const model = scriptedModel();
const messages = [];
const JOB_ID = /job_\w{20,}/g;
const known = [];

await ask('The nightly build failed. Find out why, and look at everything that might help.');
await ask('Meanwhile: which exit code does a shell give to a command that was killed?');
await ask('How far are they?');
await ask('What do the logs say? And are the tests through?');
await ask('Good enough. Stop what is left, but tell me about the tests when you have them.');
await offstage.close();

/** One turn: the person asks, the model calls tools for as long as it likes, and answers. */
async function ask(content) {
  console.log(`\nperson  ${content}`);
  messages.push({ role: 'user', content });
  const { response } = await generateText({ model, messages, tools, stopWhen: stepCountIs(10), onStepFinish: show });
  messages.push(...response.messages);
}

function show({ content }) {
  for (const part of content) {
    if (part.type === 'text') console.log(`model   ${part.text}`);
    if (part.type === 'tool-call') console.log(`call    ${part.toolName}(${readable(part.input)})`);
    if (part.type === 'tool-result') console.log(`answer  ${readable(part.output)}`);
  }
}

/** On few lines, and with short names for the ids. */
function readable(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(JOB_ID, nameOf).replaceAll('\n', '\n        ');
}

function nameOf(id) {
  if (!known.includes(id)) known.push(id);
  return `job_${known.indexOf(id) + 1}`;
}

function scriptedModel() {
  let calls = 0;
  const say = (text) => ({ type: 'text', text });
  const call = (toolName, input) => ({
    type: 'tool-call',
    toolCallId: `call_${++calls}`,
    toolName,
    input: JSON.stringify(input),
  });
  const handOff = (description, prompt) => call('agent', { description, prompt, run_in_background: true });
  const steps = [
    () => [
      say('I let three agents look at it at the same time.'),
      handOff('read the logs', 'Read the logs of last night, and tell what was unusual.'),
      handOff('run the tests', 'Run all tests, and tell which of them fail.'),
      handOff('ask the web', 'Find out whether others have seen this failure.'),
    ],
    () => [say('They are at work. I do not know anything yet. What else?')],
    () => [say('128 and the number of the signal: 137 for a KILL.')],
    () => [call('list_jobs', {})],
    () => [say('Two are at work, and one waits for its turn.')],
    ([logs]) => [call('job_output', { job_id: logs })],
    ([, tests]) => [call('job_output', { job_id: tests, block: false })],
    () => [say('The disk was full for half an hour. The tests still run.')],
    ([, , web]) => [call('job_stop', { job_id: web, reason: 'the logs have told enough' })],
    ([, tests]) => [call('job_output', { job_id: tests, timeout: 60_000 })],
    () => [say('Only the upload of a file failed, which a full disk explains. Everything else has been stopped.')],
  ];
  return new MockLanguageModelV3({
    async doGenerate({ prompt }) {
      await pause(50); // It thinks.
      const jobIds = new Set(JSON.stringify(prompt).match(JOB_ID));
      const content = steps.shift()([...jobIds]);
      const reason = content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
      return {
        content,
        finishReason: { unified: reason, raw: undefined },
        usage: { inputTokens: {}, outputTokens: {} },
        warnings: [],
      };
    },
  });
}

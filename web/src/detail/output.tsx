/** The end of what a job prints, as it prints it. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { JobRow } from '../model/client.ts';
import { OutputText } from '../model/output-text.ts';
import { useCurrent, usePausedAt } from '../view/live.ts';
import { verbs } from '../view/verbs.ts';
import { followOutput } from './follow-output.ts';
import { CopyButton, Section } from './parts.tsx';

const DRAW_MS = 100;

/** Colours and cursor moves of terminals are not for here. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007]*(?:\u0007|\u001b\\))/g;
const plain = (text: string): string => text.replace(ESCAPES, '').replace(/\r(?!\n)/g, '\n');

interface Text {
  readonly text: string;
  readonly isCut: boolean;
}

function useOutput(jobId: string, status: JobRow['status']): Text | null {
  const [shown, setShown] = useState<Text | null>(null);
  const isOpen = useCurrent(({ connection }) => connection.status === 'open');
  const pausedAt = usePausedAt();
  const isOver = status !== 'running';
  useEffect(() => {
    if (!isOpen || pausedAt !== null) return;
    const output = new OutputText();
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isWanted = true;
    const draw = (): void => {
      timer = null;
      setShown({ text: output.text, isCut: output.isCut });
    };
    const read = (): void => {
      output.begin();
      verbs.output(jobId).then(
        (answer) => {
          if (!isWanted) return;
          if (!output.read(answer)) read();
          draw();
        },
        () => {},
      );
    };
    const onPiece = (offset: number, piece: string): void => {
      if (output.add(offset, piece)) timer ??= setTimeout(draw, DRAW_MS);
      else read();
    };
    const stop = isOver ? null : followOutput(jobId, { onOpen: read, onPiece });
    if (isOver) read();
    return () => {
      isWanted = false;
      stop?.();
      if (timer !== null) clearTimeout(timer);
    };
  }, [jobId, isOpen, pausedAt, isOver]);
  return shown;
}

export function Output({ job }: { readonly job: JobRow }): JSX.Element | null {
  const output = useOutput(job.jobId, job.status);
  const [follows, setFollows] = useState(true);
  const [wraps, setWraps] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  const text = plain(output?.text ?? '');
  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follows, wraps]);
  if (text === '') return null;
  return (
    <Section
      title="Output"
      aside={
        <span class="tools">
          <Toggle isOn={follows} word="Follow" set={setFollows} />
          <Toggle isOn={wraps} word="Wrap" set={setWraps} />
          <CopyButton text={text} what="Output" />
        </span>
      }
    >
      {output?.isCut && <p class="muted">Only the end is shown.</p>}
      <pre
        ref={box}
        class={`code output${wraps ? '' : ' is-unwrapped'}`}
        data-testid="output"
        tabIndex={0}
        aria-label="Output"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
          setFollows(scrollTop + clientHeight >= scrollHeight - 4)
        }
      >
        {text}
      </pre>
    </Section>
  );
}

function Toggle({
  isOn,
  word,
  set,
}: {
  readonly isOn: boolean;
  readonly word: string;
  readonly set: (isOn: boolean) => void;
}): JSX.Element {
  return (
    <button type="button" class="toggle" aria-pressed={isOn} onClick={() => set(!isOn)}>
      {word}
    </button>
  );
}
